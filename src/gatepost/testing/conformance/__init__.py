"""
The contract of a store, as tests. Give the suite a way to open your store and run it with pytest:

    class TestMine(StoreSuite):
        @pytest.fixture
        def open(self, tmp_path: Path) -> Iterator[StoreFactory]:
            with Kit(f"mine:///{tmp_path}/gatepost") as kit:
                yield kit.open

`open` returns another store on the database of this one test, which is empty at first; it takes `clock`, `signal_sink`
and `policy`. No test sleeps: it waits for a signal, or moves the clock. Most tests are async: run them with
pytest-asyncio, and its `asyncio_mode = "auto"`.
"""

from gatepost.testing.conformance.fixtures import StoreFactory
from gatepost.testing.conformance.reading import CloseSuite, ReadSuite, SchemaSuite, SignalSuite
from gatepost.testing.conformance.writing import AnswerSuite, BatchSuite, GroupSuite

__all__ = ["StoreFactory", "StoreSuite"]


class StoreSuite(AnswerSuite, GroupSuite, BatchSuite, SignalSuite, ReadSuite, CloseSuite, SchemaSuite):
    """The contract of `gatepost.core.ports.Store` as tests."""
