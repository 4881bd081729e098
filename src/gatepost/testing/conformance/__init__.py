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

from gatepost.testing.conformance.answers import Answers
from gatepost.testing.conformance.batches import Batches
from gatepost.testing.conformance.closing import Closing
from gatepost.testing.conformance.groups import Groups
from gatepost.testing.conformance.office import Open
from gatepost.testing.conformance.reads import Reads
from gatepost.testing.conformance.rings import Rings
from gatepost.testing.conformance.schema import Schema

__all__ = ["Open", "StoreSuite"]


class StoreSuite(Answers, Groups, Batches, Rings, Reads, Closing, Schema):
    """The port of `gatepost.ports.Store`, test by test."""
