"""The tools for spaces: going into one, speaking in it, reading it."""

from typing import Annotated, Final

from gatepost.actions import spaces
from gatepost.actions.tools.desk import ROOM, WIDEST, Desk, brief, fitting
from gatepost.core.event import Json
from gatepost.core.instants import rfc3339
from gatepost.core.space import Said
from gatepost.errors import Conflict, Invalid

_MOST: Final = 200
#: characters that have room whatever they are
_PLAIN: Final = ROOM // 2 // WIDEST

_Limit = Annotated[int, f"how many messages at most; {_MOST} is the most there is"]


def enter_space(
    desk: Desk, space_id: Annotated[str, "the id of a space that you are a member of"], limit: _Limit = 50
) -> Json:
    """
    Enter one of your spaces: from now on send_message speaks there. Returns the last messages said in it, oldest
    first. You begin every cycle outside of all spaces.
    """
    found, said = spaces.enter(desk.tx, space_id, desk.me, limit=_most(limit))
    desk.active = found.id
    return {
        "success": True,
        "spaceId": found.id,
        "spaceName": found.name,
        "history": _written(said),
        "totalMessages": found.last_seq,
    }


def send_message(desk: Desk, text: Annotated[str, "what to say, as everybody in the space will read it"]) -> Json:
    """Say something in the space that you have entered. Every other agent in it is told, and people read it there."""
    if desk.active is None:
        raise Conflict("no active space: call enter_space first")
    if not text.strip():
        raise Invalid("there is nothing in the text", hint="to say nothing, do not call this tool")
    data = {"streamId": desk.call, "runId": desk.run.id}
    message = spaces.post(desk.tx, desk.active, sender=desk.me, content=text, data=data, hops=desk.hops)
    return {"success": True, "messageId": message.id, "status": "delivered"}


def read_messages(
    desk: Desk,
    space_id: Annotated[str | None, "a space that you are a member of; without it, the one that you are in"] = None,
    limit: _Limit = 50,
    offset: Annotated[int, "how many of the newest messages to leave out, to read further back"] = 0,
) -> Json:
    """Read what was said in a space, oldest first, without entering it."""
    wanted = space_id or desk.active
    if wanted is None:
        raise Invalid("no space: name one, or enter one first")
    if offset < 0:
        raise Invalid(f"{offset} messages cannot be left out", hint="use 0 or more")
    found, said = spaces.told(desk.tx, wanted, desk.me, offset=offset, limit=_most(limit))
    return {"messages": _written(said), "total": found.last_seq}


def _most(limit: int) -> int:
    if limit < 1:
        raise Invalid(f"{limit} is not a number of messages", hint=f"use 1 to {_MOST}")
    return min(limit, _MOST)


def _written(said: list[Said]) -> list[Json]:
    """The newest of them that there is room for."""
    newest_first: list[Json] = [
        {
            "id": id,
            "senderName": sender,
            "senderType": kind,
            "content": content if len(content) <= _PLAIN else brief(content, ROOM // 2),
            "timestamp": rfc3339(at),
        }
        for id, sender, kind, content, at in reversed(said)
    ]
    return fitting(newest_first)[::-1]
