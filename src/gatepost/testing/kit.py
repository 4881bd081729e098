"""A store to test with, its clock and its bell."""

from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from gatepost.app import open_store
from gatepost.ports.store import Store
from gatepost.testing.bell import RecordingBell
from gatepost.testing.clock import FakeClock


class Kit:
    """Stores on one database, which share a clock and a bell; all are closed at the end."""

    def __init__(self, url: str | None = None, *, clock: FakeClock | None = None) -> None:
        """Without a URL the database is a SQLite file in a folder that is removed at the end."""
        self._exit = ExitStack()
        self.url = url or f"sqlite:///{Path(self._exit.enter_context(TemporaryDirectory()), 'gatepost.db')}"
        self.clock = clock or FakeClock()
        self.bell = RecordingBell()

    @cached_property
    def store(self) -> Store:
        """A store with the schema in place."""
        store = self.open()
        store.migrate()
        return store

    def open(self, **options: Any) -> Store:
        """Make another store on the same database, by itself as it comes: nobody has migrated it."""
        defaults: dict[str, Any] = {"clock": self.clock, "bell": self.bell}
        store = open_store(self.url, **defaults | options)
        self._exit.callback(store.close)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()
