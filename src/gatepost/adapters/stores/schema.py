"""
The schema and its versions: numbered migrations that only go forward.

The database records the version it has and the oldest code that may use it. Code that is newer migrates; code that is
older may go on as long as it is not older than that; else it is refused, and says so. All of it happens under a lock
and in one transaction, so that any number of processes may start at once and a killed one leaves the old version.
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
        for number in range(old_version + 1, newest + 1):
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


def _check_usable(version: int, oldest: int, newest: int) -> tuple[int, int]:
    if newest < oldest:
        raise Unavailable(
            f"the store has schema {version}, which needs Gatepost with schema {oldest} or later; "
            f"this one has {newest}",
            hint="upgrade gatepost: pip install -U gatepost",
        )
    return version, version
