"""
The test kit of Gatepost, for its own tests and for those of programs that use it.

    with Kit() as kit:                      # a temporary SQLite file, or Kit("postgresql://...")
        kit.store.call(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        kit.clock.advance("5 minutes")      # time stands still until it is moved
        kit.signal_sink.signals             # the signals that were sent after the commits

There is no store in memory that imitates SQL: a file in a temporary folder is the fake. An author of a store proves it
with `gatepost.testing.conformance.StoreSuite`, an author of a transport with `gatepost.testing.transports`.
"""

from gatepost.testing.kit import FakeClock, Kit, RecordingSignalSink

__all__ = ["FakeClock", "Kit", "RecordingSignalSink"]
