"""
One hook event is answered once, even if several installations of our hooks are called for it: the plugin and the user's
settings, the settings of the user and of the project.

    the event has an id (a tool call, the prompt of a turn)    another hook with that id repeats it
    it has none (a start, a stop, the end of a session)        another hook with the same input repeats it if its
                                                               process began before the first hook had its answer

The second rule is safe because a program waits for all hooks of an event before it continues: the hooks of its next
event begin later, even if their input is the same, as that of two stops in one turn. Where neither rule can tell, both
hooks are answered. A hook is not its own repeat: it answers by itself what a gateway has begun and not finished. Hooks
that name different agents do not repeat each other.
"""

import zlib
from typing import Final, NamedTuple

from gatepost.guests.hooks import dialects, host_process
from gatepost.guests.hooks.hook_events import HookEvent
from gatepost.guests.hooks.session_state import AnsweredHook, Session, SessionState
from gatepost.paths import is_running

#: how many hooks of a session are remembered: tools that run side by side have one each
_MAX_ANSWERED: Final = 50


class HookProcess(NamedTuple):
    """The process of a hook: its id, and when it began (`host_process.find_start`)."""

    id: int
    started_at: float


def begin_answer(
    session: Session, event: HookEvent, *, agent: str | None, stdin: str, process: HookProcess
) -> AnsweredHook | None:
    """Record that this process answers the event; return None if another process does, or has done so."""
    tool_use = dialects.read_text(event.raw, "tool_use_id")
    has_id = bool(tool_use or (event.name == "UserPromptSubmit" and event.turn))
    detail = tool_use or f"{zlib.crc32(stdin.encode(errors='replace')):x}"
    hook = AnsweredHook(key=f"{event.name} {agent or ''} {detail}", process=process.id)

    def is_repeat(other: AnsweredHook) -> bool:
        if other.key != hook.key or other.process == hook.process:
            return False
        return has_id or (process.started_at <= other.ended_at if other.ended_at else is_running(other.process))

    def add_hook(state: SessionState) -> SessionState:
        if any(map(is_repeat, state.answered)):
            return state
        others = tuple(other for other in state.answered if other.key != hook.key)
        return state._replace(answered=(*others, hook)[-_MAX_ANSWERED:])

    return hook if hook in session.update(add_hook).answered else None


def end_answer(session: Session, hook: AnsweredHook) -> None:
    """Record that the event has its answer."""
    ended_hook = hook._replace(ended_at=host_process.read_clock())
    session.update(
        lambda state: state._replace(answered=tuple(ended_hook if other == hook else other for other in state.answered))
    )
