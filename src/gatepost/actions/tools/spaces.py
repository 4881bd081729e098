"""The tools for spaces: enter one, post messages in it, read it."""

from typing import Annotated, Final

from gatepost.actions import spaces
from gatepost.actions.tools.context import MAX_CHAR_SIZE, MAX_RESULT_SIZE, ToolContext, shorten, take_fitting
from gatepost.core.event import Json
from gatepost.core.space import MessageRow
from gatepost.core.times import format_rfc3339
from gatepost.errors import Conflict, Invalid

_MAX_MESSAGES: Final = 200
#: a text of this length fits in any case
_SAFE_LENGTH: Final = MAX_RESULT_SIZE // 2 // MAX_CHAR_SIZE

_Limit = Annotated[int, f"how many messages at most; {_MAX_MESSAGES} is the most there is"]


def enter_space(
    ctx: ToolContext, space_id: Annotated[str, "the id of a space that you are a member of"], limit: _Limit = 50
) -> Json:
    """
    Enter one of your spaces: from now on send_message speaks there. Returns the last messages said in it, oldest
    first. You begin every cycle outside of all spaces.
    """
    space, history = spaces.enter(ctx.tx, space_id, ctx.agent, limit=_check_limit(limit))
    ctx.active_space = space.id
    return {
        "success": True,
        "spaceId": space.id,
        "spaceName": space.name,
        "history": _build_messages(history),
        "totalMessages": space.last_seq,
    }


def send_message(ctx: ToolContext, text: Annotated[str, "what to say, as everybody in the space will read it"]) -> Json:
    """Say something in the space that you have entered. Every other agent in it is told, and people read it there."""
    if ctx.active_space is None:
        raise Conflict("no active space: call enter_space first")
    if not text.strip():
        raise Invalid("there is nothing in the text", hint="to say nothing, do not call this tool")
    data = {"streamId": ctx.call, "runId": ctx.run.id}
    message = spaces.post(ctx.tx, ctx.active_space, sender=ctx.agent, content=text, data=data, hops=ctx.hops)
    return {"success": True, "messageId": message.id, "status": "delivered"}


def read_messages(
    ctx: ToolContext,
    space_id: Annotated[str | None, "a space that you are a member of; without it, the one that you are in"] = None,
    limit: _Limit = 50,
    offset: Annotated[int, "how many of the newest messages to leave out, to read further back"] = 0,
) -> Json:
    """Read what was said in a space, oldest first, without entering it."""
    chosen_id = space_id or ctx.active_space
    if chosen_id is None:
        raise Invalid("no space: name one, or enter one first")
    if offset < 0:
        raise Invalid(f"{offset} messages cannot be left out", hint="use 0 or more")
    space, history = spaces.read_history(ctx.tx, chosen_id, ctx.agent, offset=offset, limit=_check_limit(limit))
    return {"messages": _build_messages(history), "total": space.last_seq}


def _check_limit(limit: int) -> int:
    if limit < 1:
        raise Invalid(f"{limit} is not a number of messages", hint=f"use 1 to {_MAX_MESSAGES}")
    return min(limit, _MAX_MESSAGES)


def _build_messages(history: list[MessageRow]) -> list[Json]:
    """Return the newest messages that fit into a result, oldest first."""
    newest_first: list[Json] = [
        {
            "id": id,
            "senderName": sender,
            "senderType": kind,
            "content": content if len(content) <= _SAFE_LENGTH else shorten(content, MAX_RESULT_SIZE // 2),
            "timestamp": format_rfc3339(at),
        }
        for id, sender, kind, content, at in reversed(history)
    ]
    return take_fitting(newest_first)[::-1]
