"""
The test kit of Gatepost, for its own tests and for those of programs that use it.

    with Kit() as kit:                      # a temporary SQLite file, or Kit("postgresql://...")
        kit.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
        kit.clock.advance("5 minutes")      # time stands still until it is moved
        kit.signal_sink.signals             # the signals that were sent after the commits

There is no store in memory that imitates SQL: a file in a temporary folder is the fake. An author of a store proves it
with `gatepost.testing.conformance.StoreSuite`, an author of a transport with `gatepost.testing.transports`, and an
author of a channel with `gatepost.testing.channels`.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final, Self

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.core.signals import Signal
from gatepost.core.times import Duration, Instant, parse_duration, parse_instant

__all__ = ["FakeClock", "Kit", "RecordingSignalSink"]

MORNING: Final = parse_instant("2026-02-18T09:00:00Z")
#: seconds after which a test stops to wait for a signal: only a hang takes as long, on a busy machine too
WAIT_TIMEOUT: Final = 300.0


class FakeClock:
    """A clock that stands still until it is moved, and gives the same ids in every run."""

    def __init__(self, now: Instant = MORNING, *, seed: int = 0) -> None:
        """Clocks with different seeds never give the same id."""
        self._now = now
        self._entropy = count(seed << 40)

    def now(self) -> Instant:
        return self._now

    def advance(self, by: Duration | str) -> Instant:
        """Move forward by microseconds, or by a duration such as `5 minutes`; return the new time."""
        length = parse_duration(by) if isinstance(by, str) else by
        assert length >= 0, "use set_back"
        self._now += length
        return self._now

    def set_back(self, by: Duration | str) -> Instant:
        """Move back, as when a person sets the clock of a machine; return the new time."""
        self._now -= parse_duration(by) if isinstance(by, str) else by
        return self._now

    def entropy(self) -> int:
        return next(self._entropy)


class RecordingSignalSink:
    """A signal sink that records the signals, and can wait for them."""

    def __init__(self) -> None:
        self.signals: list[Signal] = []
        self._changed = threading.Condition()

    def __call__(self, signals: Sequence[Signal]) -> None:
        with self._changed:
            self.signals.extend(signals)
            self._changed.notify_all()

    def wait(self, predicate: Callable[[Sequence[Signal]], bool]) -> list[Signal]:
        """Return all signals as soon as the predicate is true; raise `TimeoutError` after `WAIT_TIMEOUT`."""
        with self._changed:
            if not self._changed.wait_for(lambda: predicate(self.signals), WAIT_TIMEOUT):
                raise TimeoutError(f"waited {WAIT_TIMEOUT:.0f} s in vain; heard {self.signals}")
            return list(self.signals)

    def clear(self) -> list[Signal]:
        """Remove the signals so far, and return them."""
        with self._changed:
            signals, self.signals = self.signals, []
            return signals


class Kit:
    """Stores on one database, which share a clock and a signal sink; the exit closes all of them."""

    def __init__(self, url: str | None = None, *, clock: FakeClock | None = None) -> None:
        """Without a URL the database is a SQLite file in a temporary folder, which the exit removes."""
        self._exit = ExitStack()
        self.url = url or f"sqlite:///{Path(self._exit.enter_context(TemporaryDirectory()), 'gatepost.db')}"
        self.clock = clock or FakeClock()
        self.signal_sink = RecordingSignalSink()

    @cached_property
    def store(self) -> Store:
        """A store with the schema in place."""
        store = self.open()
        store.migrate()
        return store

    def open(self, **options: Any) -> Store:
        """Return another store on the same database, without a migration."""
        defaults: dict[str, Any] = {"clock": self.clock, "signal_sink": self.signal_sink}
        store = open_store(self.url, **defaults | options)
        self._exit.callback(store.close)
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()
