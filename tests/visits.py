"""A guest whose hooks are run here, without a process: its session on disk, its spool, a clock that stands still."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from gatepost.adapters.spool import FileSpool
from gatepost.core.spool_line import SpoolLine
from gatepost.errors import Unavailable
from gatepost.hooks import chain, visit
from gatepost.hooks.chain import Handler, LazyHandler, Wait
from gatepost.hooks.context import HookContext, HookOptions
from gatepost.hooks.events import HookEvent, Verdict
from gatepost.hooks.session import Session
from gatepost.ports import Store
from gatepost.testing import FakeClock


def finished(running: Generator[Wait, None, Verdict], waits: Callable[[Wait], None] | None = None) -> Verdict:
    """Run a chain to its end; whatever it waits for is up to `waits`."""
    while True:
        try:
            wait = next(running)
        except StopIteration as ended:
            verdict: Verdict = ended.value
            return verdict
        assert waits is not None, "it waits, and nobody knows what for"
        waits(wait)


@dataclass
class Guest:
    home: Path
    store: Store | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    rules: HookOptions = field(default_factory=lambda: HookOptions(agent="ann"))
    id: str = "s-1"
    handlers: Iterable[Handler | LazyHandler] = chain.BUILT_IN
    #: what the last hook said on stderr
    notes: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    @property
    def session(self) -> Session:
        return Session(self.home, self.id)

    @property
    def spool(self) -> FileSpool:
        return FileSpool(f"{self.home}/spool/<session>.jsonl")

    def desk(self) -> HookContext:
        return HookContext(
            home=self.home,
            options=self.rules,
            clock=self.clock,
            session=self.session,
            open_store=self._reach,
            open_spool=lambda: self.spool,
            has_lines=lambda: bool(self.spool.peek(self.id)),
            read_unproved=lambda: self.spool.read_unproved(self.id),
        )

    def hook(
        self, event: str, *, waits: Callable[[Wait], None] | None = None, printed: bool = True, **told: Any
    ) -> Verdict:
        """Run a hook to its end; whatever it waits for is up to `waits`, which may move the clock."""
        desk = self.desk()
        occasion = HookEvent(host="claude", name=event, session=self.id, cwd=str(self.home), **told)
        verdict = finished(visit.handle_event(desk, occasion, self.handlers), waits)
        (verdict.printed if printed else verdict.unprinted)()
        self.notes = desk.notes
        return verdict

    def stop(self, **more: Any) -> Verdict:
        return self.hook("Stop", **more)

    def spooled(self, *contents: str) -> None:
        """Have lines wait in the spool."""
        lines = [SpoolLine(id=f"line-{next(self._numbers)}", content=text) for text in contents]
        self.spool.append(self.id, lines)

    def _reach(self) -> Store:
        if self.store is None:
            raise Unavailable("the store is out of reach")
        return self.store
