"""
The schema and its versions: numbered migrations that only go forward.

The database records its version and the oldest code that may use it. Newer code migrates it. Older code may use it
unless it is older than that; then the store is refused. A store from before the first migration is refused, too. All of
this happens under a lock and in one transaction, so that any number of processes may start at once and a killed one
leaves the old version.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from gatepost.errors import Unavailable
from gatepost.stores import statements


class MigrationTarget(ABC):
    """The database that is migrated; `execute` runs a statement on it and returns a cursor."""

    dialect: ClassVar[str]
    #: the type of a column with a version
    integer_type: ClassVar[str]

    def __init__(self, execute: Callable[[str], Any]) -> None:
        self._execute = execute

    @abstractmethod
    def lock(self) -> None:
        """Begin a transaction that no other migration can run beside."""

    @abstractmethod
    def has_versions(self) -> bool:
        """Return True if the database has the table of versions; an empty one has none."""

    def version(self) -> tuple[int, int]:
        """Return the version the database has and the oldest code that may use it; zeros for an empty one."""
        if not self.has_versions():
            return 0, 0
        version, oldest = self._execute("SELECT version, oldest FROM schema_version").fetchone()
        return version, oldest

    def apply(self, text: str) -> None:
        self._execute(text)

    def record(self, version: int, oldest: int) -> None:
        kind = self.integer_type
        self._execute(f"CREATE TABLE IF NOT EXISTS schema_version (version {kind} NOT NULL, oldest {kind} NOT NULL)")
        self._execute("DELETE FROM schema_version")
        self._execute(f"INSERT INTO schema_version VALUES ({version}, {oldest})")

    def commit(self) -> None:
        self._execute("COMMIT")

    @abstractmethod
    def rollback(self) -> None:
        """Undo everything since `lock`."""


def migrate(database: MigrationTarget, *, can_create: bool = True, version: int | None = None) -> tuple[int, int]:
    """Bring the schema up to this code, or to a version; return the version it had and the one it has."""
    newest = version or statements.find_newest_version(database.dialect)
    old_version, oldest = database.version()
    if not old_version and not can_create:
        return 0, 0
    if old_version >= newest:
        return _check_usable(old_version, oldest, newest)
    try:
        database.lock()
        old_version, oldest = database.version()
        first = statements.FIRST_VERSION
        if 0 < old_version < first:
            raise Unavailable(
                f"the store has schema {old_version}, and this Gatepost needs schema {first} or later",
                hint=f"open it once with a Gatepost that migrates to schema {first}: "
                "see docs/decisions/0028-one-first-migration.md",
            )
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


def _check_usable(version: int, oldest: int, newest: int) -> tuple[int, int]:
    if newest < oldest:
        raise Unavailable(
            f"the store has schema {version}, which needs Gatepost with schema {oldest} or later; "
            f"this one has {newest}",
            hint="upgrade gatepost: pip install -U gatepost",
        )
    return version, version
