"""
The contract of a store, as tests. Give the suite a way to open your store and run it with pytest:

    class TestMine(StoreSuite):
        @pytest.fixture
        def open(self, tmp_path: Path) -> Iterator[StoreFactory]:
            with Kit(f"mine:///{tmp_path}/gatepost") as kit:
                yield kit.open

`open` returns another store on the database of this one test, which is empty at first; it takes `clock`, `signal_sink`
and `limits`. No test sleeps: it waits for a signal, or moves the clock.
"""

from gatepost.testing.conformance.answers import AnswerSuite
from gatepost.testing.conformance.batches import BatchSuite
from gatepost.testing.conformance.closing import CloseSuite
from gatepost.testing.conformance.fixtures import StoreFactory
from gatepost.testing.conformance.groups import GroupSuite
from gatepost.testing.conformance.reads import ReadSuite
from gatepost.testing.conformance.schema import SchemaSuite
from gatepost.testing.conformance.signals import SignalSuite

__all__ = ["StoreFactory", "StoreSuite"]


class StoreSuite(AnswerSuite, GroupSuite, BatchSuite, SignalSuite, ReadSuite, CloseSuite, SchemaSuite):
    """The contract of `gatepost.ports.Store` as tests."""
