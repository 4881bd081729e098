"""
A host and its model, whose hooks are ours: what it passes on to the model, what it loses, and what the model has read.

The host is the worst one there may be. When a request fails, is interrupted or vetoed, the texts that were to be in it
are gone. Hooks may be killed between any two things that they do, and the store may be out of reach for one of them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gatepost.core.ports import Store
from gatepost.guests.hooks import handler_chain as chain
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict
from gatepost.guests.spool_files import FileSpool
from gatepost.testing import FakeClock
from tests.guests.hook_guest import HookGuest, run_to_end

WORD_PATTERN: Final = re.compile(r"<(\w+)>|\\u003c(\w+)>")


class HookKilled(BaseException):
    """A hook was killed; locks are let go, as the system does."""


class Countdown:
    """Kills at the step that is the last one left; without a number, never."""

    def __init__(self, remaining: int | None) -> None:
        self._remaining = remaining
        #: the locks of the spool that are held, or were
        self.locks = ExitStack()

    def step(self) -> None:
        if self._remaining is not None:
            self._remaining -= 1
            if self._remaining <= 0:
                raise HookKilled

    def watch(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a call that may be the last thing done, or may be not done any more."""

        def run_step(*args: Any, **kwargs: Any) -> Any:
            self.step()
            result = call(*args, **kwargs)
            self.step()
            return result

        return run_step


class WatchedObject:
    """An object some of whose methods are steps, also of what its `drain` and `settle_unproved` yield."""

    def __init__(self, target: Any, countdown: Countdown, *step_names: str) -> None:
        self._target = target
        self._countdown = countdown
        self._step_names = step_names

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._target, name)
        if name in ("drain", "settle_unproved"):
            return self._watch_context(member)
        if name == "unproved" and not callable(member):
            return WatchedObject(member, self._countdown, *self._step_names)
        return self._countdown.watch(member) if name in self._step_names else member

    def _watch_context(self, enter: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def open_watched(session: str) -> Iterator[WatchedObject]:
            self._countdown.step()
            with ExitStack() as lock:
                opened_object = lock.enter_context(enter(session))
                self._countdown.locks.push(lock)
                self._countdown.step()
                yield WatchedObject(opened_object, self._countdown, *self._step_names)

        return open_watched


@dataclass
class HostSession:
    """A session of a program, from the outside."""

    home: Path
    store: Store
    clock: FakeClock
    session_id: str
    #: whether the host names the turn on its events
    names_turns: bool
    is_open: bool = False
    #: the texts that will be in the next request, and whether one is under way
    pending_texts: list[str] = field(default_factory=list)
    is_requesting: bool = False
    turn_number: int = 0

    def run_hook(
        self, event_name: str, *, kill_at: int | None = None, reached: bool = True, **payload: Any
    ) -> tuple[str, bool]:
        """Run a hook; return what the host got to read, and whether the hook was killed."""
        countdown = Countdown(kill_at)
        guest = HookGuest(self.home, self.store, self.clock, session_id=self.session_id)
        ctx = HookContext(
            home=self.home,
            options=guest.options,
            clock=self.clock,
            session=guest.session,
            open_store=lambda: WatchedObject(self.store, countdown, "call", "query") if reached else None,
            open_spool=lambda: WatchedObject(self.spool, countdown, *_SPOOL_STEPS),
            has_lines=lambda: not self.spool.is_empty(self.session_id),
            read_unproved=lambda: self.spool.read_unproved(self.session_id),
        )
        turn = f"{self.session_id}-{self.turn_number}" if self.names_turns and event_name != "SessionStart" else None
        hook_event = HookEvent(
            host="claude", name=event_name, session=self.session_id, cwd=str(self.home), turn=turn, **payload
        )
        verdict = Verdict()
        is_killed = False
        try:
            verdict = run_to_end(chain.handle_event(ctx, hook_event))
            verdict.printed()
        except HookKilled:
            is_killed = True
        text = verdict.context or ""
        countdown.locks.close()  # the system closes the files of the dead, and with them their locks
        assert not [note for note in ctx.notes if "locked" in note]
        return text, is_killed

    @property
    def spool(self) -> FileSpool:
        return FileSpool(f"{self.home}/spool/<session>.jsonl", lock_timeout=0)  # nobody else is alive


#: what a hook does to its spool
_SPOOL_STEPS: Final = ("append", "record_shown_keys", "add", "replace", "put_back", "save_copy", "finish")


def count_words(texts: list[str]) -> Counter[str]:
    return Counter(
        plain_word or escaped_word for text in texts for plain_word, escaped_word in WORD_PATTERN.findall(text)
    )
