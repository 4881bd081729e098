"""A wake of a terminal of Codex is outstanding until its prompt has come: then the session can be woken again."""

from pathlib import Path

import pytest

from gatepost.core.times import HOUR
from gatepost.guests import session_actions as sessions
from gatepost.guests.codex.waker_background import Terminal, _is_outstanding, _Thread
from gatepost.guests.reachability import THREAD
from tests.guests.hook_guest import HookGuest
from tests.support.store_context import StoreContext

#: a thread in a terminal without a daemon
THREAD_OF_TERMINAL = _Thread("here 1 1", None, Terminal("here 1 1", 1, "/", Path("/"), {}), None)


@pytest.fixture
def guest(ctx: StoreContext, tmp_path: Path) -> HookGuest:
    guest = HookGuest(tmp_path, ctx.store, ctx.clock)
    guest.run_hook("SessionStart", source="startup")
    return guest


def is_outstanding(ctx: StoreContext, guest: HookGuest) -> bool:
    return _is_outstanding(ctx.store.read_sync(sessions.find, guest.session_id), THREAD_OF_TERMINAL)


def wake(ctx: StoreContext, guest: HookGuest) -> str:
    """Wake the session; return the prompt that its program gets."""
    ctx.push_event("news", "ann")
    ctx.clock.advance(1)
    ctx.store.run_sync(sessions.begin_wake, guest.session_id, method=THREAD)
    return f"items are pending (wake {guest.session.leave_token(ctx.clock.now())})"


def test_until_the_prompt_comes(ctx: StoreContext, guest: HookGuest) -> None:
    prompt = wake(ctx, guest)
    assert is_outstanding(ctx, guest)
    ctx.clock.advance(1)
    guest.run_hook("UserPromptSubmit", prompt=prompt)
    assert not is_outstanding(ctx, guest)


def test_also_if_the_clock_is_set_back_meanwhile(ctx: StoreContext, guest: HookGuest) -> None:
    prompt = wake(ctx, guest)
    ctx.clock.set_back(HOUR)
    assert is_outstanding(ctx, guest), "the prompt waits in a queue still"
    guest.run_hook("UserPromptSubmit", prompt=prompt)
    assert not is_outstanding(ctx, guest)


def test_also_if_a_turn_was_interrupted_before_it(ctx: StoreContext, guest: HookGuest) -> None:
    guest.run_hook("UserPromptSubmit", prompt="go on")  # and Esc, which no hook tells
    prompt = wake(ctx, guest)
    assert is_outstanding(ctx, guest)
    ctx.clock.advance(1)
    guest.run_hook("UserPromptSubmit", prompt=prompt)
    assert not is_outstanding(ctx, guest)
