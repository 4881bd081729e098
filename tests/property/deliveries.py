"""
A host and its model, whose hooks are ours: what it passes on to the model, what it loses, and what the model has read.

The host is the worst one there may be. When a request fails, is interrupted or vetoed, the texts that were to be in it
are gone. Hooks may be killed between any two things that they do, and the store may be out of reach for one of them.
"""

import gc
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gatepost.adapters.spool import FileSpool
from gatepost.hooks import visit
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict
from gatepost.ports import Store
from gatepost.testing import FakeClock
from tests.visits import Guest, finished

WORD: Final = re.compile(r"<(\w+)>|\\u003c(\w+)>")


class Killed(BaseException):
    """A hook was killed; locks are let go, as the system does."""


class Countdown:
    """Kills at the step that is the last one left; without a number, never."""

    def __init__(self, left: int | None) -> None:
        self._left = left

    def step(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Killed

    def watch(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that may be the last thing done, or may be not done any more."""

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.step()
            done = call(*args, **kwargs)
            self.step()
            return done

        return watched


class Watched:
    """An object some of whose methods are steps; `inner` is what else is watched in what they yield."""

    def __init__(self, object: Any, countdown: Countdown, *names: str) -> None:
        self._object = object
        self._countdown = countdown
        self._names = names

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._object, name)
        if name in ("draining", "settling"):
            return self._entering(found)
        if name == "unproved" and not callable(found):
            return Watched(found, self._countdown, *self._names)
        return self._countdown.watch(found) if name in self._names else found

    def _entering(self, enter: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def entered(session: str) -> Iterator[Watched]:
            self._countdown.step()
            with enter(session) as inner:
                self._countdown.step()
                yield Watched(inner, self._countdown, *self._names)

        return entered


@dataclass
class Session:
    """A session of a program, from the outside."""

    home: Path
    store: Store
    clock: FakeClock
    id: str
    #: whether the host names the turn on its events
    names_turns: bool
    is_open: bool = False
    #: the texts that will be in the next request, and whether one is under way
    context: list[str] = field(default_factory=list)
    is_requesting: bool = False
    turn: int = 0

    def hook(self, event: str, *, kill: int | None = None, reached: bool = True, **told: Any) -> tuple[str, bool]:
        """Run a hook; return what the host got to read, and whether the hook was killed."""
        countdown = Countdown(kill)
        guest = Guest(self.home, self.store, self.clock, id=self.id)
        desk = HookContext(
            home=self.home,
            options=guest.rules,
            clock=self.clock,
            session=guest.session,
            open_store=lambda: Watched(self.store, countdown, "call", "look") if reached else None,
            open_spool=lambda: Watched(guest.spool, countdown, *_STEPS),
            has_lines=lambda: not guest.spool.is_empty(self.id),
            read_unproved=lambda: guest.spool.read_unproved(self.id),
        )
        turn = f"{self.id}-{self.turn}" if self.names_turns and event != "SessionStart" else None
        occasion = HookEvent(host="claude", name=event, session=self.id, cwd=str(self.home), turn=turn, **told)
        verdict = Verdict()
        is_killed = False
        try:
            verdict = finished(visit.handle_event(desk, occasion))
            verdict.printed()
        except Killed:
            is_killed = True
        text = verdict.context or ""
        if is_killed:
            del verdict
            gc.collect()  # files that the dead had open are closed, and with them their locks
        return text, is_killed

    @property
    def spool(self) -> FileSpool:
        return FileSpool(f"{self.home}/spool/<session>.jsonl")


#: what a hook does to its spool
_STEPS: Final = ("append", "remember", "note", "replace", "put_back", "keep", "done")


def words(texts: list[str]) -> Counter[str]:
    return Counter(one or other for text in texts for one, other in WORD.findall(text))
