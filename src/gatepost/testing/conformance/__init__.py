"""
What every adapter of a port must do, as tests. Give the suite a way to open yours and run it with pytest:

    class TestMine(StoreSuite):
        @pytest.fixture
        def open(self, tmp_path: Path) -> Iterator[Open]:
            with Kit(f"mine:///{tmp_path}/gatepost") as kit:
                yield kit.open

`open` makes another store on the database of this one test, which is empty at first; it takes `clock`, `bell` and
`limits`. Nothing here sleeps: a test waits for a signal, or moves the clock.
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
    """The port of `gatepost.ports.Store`, test by test."""
