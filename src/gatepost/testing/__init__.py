"""
What tests of Gatepost, and of what is built on it, stand on.

    with Kit() as kit:                      # a SQLite file that is gone afterwards, or Kit("postgresql://...")
        kit.store.call(directory.register, Newcomer(name="ann", kind=Kind.AGENT))
        kit.clock.advance("5 minutes")      # time stands still until it is moved
        kit.bell.rings                      # what was rung after the commits

There is no store in memory that repeats what SQL does: a file in a temporary folder is the fake. Whoever writes a store
proves it with `gatepost.testing.conformance.StoreSuite`.
"""

from gatepost.testing.kit import FakeClock, Kit, RecordingSignalSink

__all__ = ["FakeClock", "Kit", "RecordingSignalSink"]
