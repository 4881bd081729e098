"""A guest whose hooks are run here, without a process: its session on disk, its spool, a clock that stands still."""

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from gatepost.core.ports import Store
from gatepost.errors import Unavailable
from gatepost.guests.hooks import handler_chain as chain
from gatepost.guests.hooks.handler_chain import Handler, LazyHandler, Wait
from gatepost.guests.hooks.hook_context import HookContext, HookOptions
from gatepost.guests.hooks.hook_events import HookEvent, Verdict
from gatepost.guests.hooks.session_state import Session
from gatepost.guests.spool_files import FileSpool
from gatepost.guests.spool_line import SpoolLine
from gatepost.testing import FakeClock


def run_to_end(handler_run: Generator[Wait, None, Verdict], on_wait: Callable[[Wait], None] | None = None) -> Verdict:
    """Run a chain to its end; whatever it waits for is up to `waits`."""
    while True:
        try:
            wait = next(handler_run)
        except StopIteration as stop:
            verdict: Verdict = stop.value
            return verdict
        assert on_wait is not None, "it waits, and nobody knows what for"
        on_wait(wait)


@dataclass
class HookGuest:
    home: Path
    store: Store | None = None
    clock: FakeClock = field(default_factory=FakeClock)
    options: HookOptions = field(default_factory=lambda: HookOptions(agent="ann"))
    session_id: str = "s-1"
    handlers: Iterable[Handler | LazyHandler] = chain.BUILT_IN
    #: what the last hook said on stderr
    notes: list[str] = field(default_factory=list)
    _line_numbers: Iterator[int] = field(default_factory=count)

    @property
    def session(self) -> Session:
        return Session(self.home, self.session_id)

    @property
    def spool(self) -> FileSpool:
        return FileSpool(f"{self.home}/spool/<session>.jsonl")

    def create_context(self) -> HookContext:
        return HookContext(
            home=self.home,
            options=self.options,
            clock=self.clock,
            session=self.session,
            open_store=self._open_store,
            open_spool=lambda: self.spool,
            has_lines=lambda: bool(self.spool.peek(self.session_id)),
            read_unproved=lambda: self.spool.read_unproved(self.session_id),
        )

    def run_hook(
        self, event_name: str, *, waits: Callable[[Wait], None] | None = None, printed: bool = True, **payload: Any
    ) -> Verdict:
        """Run a hook to its end; whatever it waits for is up to `waits`, which may move the clock."""
        ctx = self.create_context()
        hook_event = HookEvent(host="claude", name=event_name, session=self.session_id, cwd=str(self.home), **payload)
        verdict = run_to_end(chain.handle_event(ctx, hook_event, self.handlers), waits)
        (verdict.printed if printed else verdict.unprinted)()
        self.notes = ctx.notes
        return verdict

    def run_stop(self, **payload: Any) -> Verdict:
        return self.run_hook("Stop", **payload)

    def append_lines(self, *contents: str) -> None:
        """Have lines wait in the spool."""
        lines = [SpoolLine(id=f"line-{next(self._line_numbers)}", content=text) for text in contents]
        self.spool.append(self.session_id, lines)

    def _open_store(self) -> Store:
        if self.store is None:
            raise Unavailable("the store is out of reach")
        return self.store
