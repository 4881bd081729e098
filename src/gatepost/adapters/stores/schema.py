"""
The schema and its versions: numbered migrations that only go forward.

The database records its version and the oldest code that may use it. Newer code migrates it. Older code may use it
unless it is older than that; then the store is refused. A store from before the first migration is refused, too. All of
this happens under a lock and in one transaction, so that any number of processes may start at once and a killed one
leaves the old version.
"""

from typing import Protocol

from gatepost.errors import Unavailable
from gatepost.tables import statements


class MigrationTarget(Protocol):
    @property
    def dialect(self) -> str: ...

    def lock(self) -> None:
        """Begin a transaction that no other migration can run beside."""
        ...

    def version(self) -> tuple[int, int]:
        """The version the database has and the oldest code that may use it; zeros for an empty one."""
        ...

    def apply(self, text: str) -> None: ...
    def record(self, version: int, oldest: int) -> None: ...
    def commit(self) -> None: ...
    def rollback(self) -> None: ...


def migrate(database: MigrationTarget) -> tuple[int, int]:
    """Bring the schema up to this code; return the version it had and the one it has."""
    newest = statements.find_newest_version(database.dialect)
    old_version, oldest = database.version()
    if old_version >= newest:
        return _check_usable(old_version, oldest, newest)
    try:
        database.lock()
        old_version, oldest = database.version()
        _check_migratable(old_version)
        for number in range(max(old_version + 1, statements.FIRST_VERSION), newest + 1):
            text = statements.read_migration(database.dialect, number)
            assert text is not None
            database.apply(text)
            oldest = statements.parse_oldest_version(text)
            database.record(number, oldest)
        database.commit()
    except BaseException:
        database.rollback()
        raise
    return _check_usable(old_version, oldest, newest) if old_version > newest else (old_version, newest)


def _check_migratable(version: int) -> None:
    first = statements.FIRST_VERSION
    if 0 < version < first:
        raise Unavailable(
            f"the store has schema {version}, and this Gatepost needs schema {first} or later",
            hint=f"open it once with a Gatepost that migrates to schema {first}: "
            "see docs/decisions/0028-one-first-migration.md",
        )


def _check_usable(version: int, oldest: int, newest: int) -> tuple[int, int]:
    if newest < oldest:
        raise Unavailable(
            f"the store has schema {version}, which needs Gatepost with schema {oldest} or later; "
            f"this one has {newest}",
            hint="upgrade gatepost: pip install -U gatepost",
        )
    return version, version
