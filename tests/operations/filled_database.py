"""
Gateways on copies of a SQLite database that has something of every kind in it.

To fill a database takes longer than to copy it, and an operation that is tried on what is there needs one in which
no other has changed anything.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from itertools import count
from pathlib import Path

from gatepost.app import open_store, register_administrator
from gatepost.core.policy import Policy
from tests.operations.access_cases import World, create_owned_objects
from tests.support.gateways.local_gateways import open_gateway


class FilledDatabase:
    """A database in a folder, with what `create_owned_objects` makes in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count()
        file = folder / "filled.db"
        with closing(open_store(f"sqlite:///{file}")) as store:
            store.migrate()
            register_administrator(store)
            self.values = create_owned_objects(store)
        assert not file.with_name("filled.db-wal").exists(), "all of it is in the file"
        self._content = file.read_bytes()

    @asynccontextmanager
    async def open_world(self, ledger: str = "local:") -> AsyncIterator[World]:
        """While entered, a gateway runs on a new copy."""
        file = self._folder / f"copy-{next(self._numbers)}.db"
        file.write_bytes(self._content)
        url = f"sqlite:///{file}"
        async with open_gateway(url, policy=Policy(ledger=ledger)) as gateway:
            yield World(gateway, self.values, url)
        file.unlink()
