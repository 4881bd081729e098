"""The tools for spaces and for the inbox."""

from typing import Annotated, Final

import msgspec

from gatepost.core.json_limits import Json
from gatepost.core.times import format_rfc3339
from gatepost.errors import Conflict, Invalid
from gatepost.inbox import claim_actions as inbox, event_rendering as render, item_rows as items
from gatepost.inbox.batch_selection import COUNT_LIMIT, MIN_BUDGET
from gatepost.inbox.event import EventType, Item
from gatepost.inbox.event_api import EventView
from gatepost.residents.tools.context import MAX_CHAR_SIZE, MAX_RESULT_SIZE, ToolContext, shorten, take_fitting
from gatepost.spaces import actions as spaces
from gatepost.spaces.space import MessageRow

_MAX_MESSAGES: Final = 200
#: a text of this length fits in any case
_SAFE_LENGTH: Final = MAX_RESULT_SIZE // 2 // MAX_CHAR_SIZE
_MAX_EVENTS: Final = 10
#: bytes of a result beside its events
_RESULT_OVERHEAD: Final = 64

_Limit = Annotated[int, f"number of messages, at most {_MAX_MESSAGES}"]

_encode: Final = msgspec.json.Encoder().encode


def enter_space(
    ctx: ToolContext, space_id: Annotated[str, "the id of a space that you are a member of"], limit: _Limit = 50
) -> Json:
    """
    Enter one of your spaces: from now on send_message speaks there. Returns the last messages said in it, oldest
    first. You begin every cycle outside of all spaces.
    """
    space, history = spaces.read_and_mark(ctx.tx, space_id, ctx.agent, limit=_check_limit(limit))
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
        raise Invalid("the text is empty", hint="to say nothing, do not call this tool")
    data = {"streamId": ctx.call, "runId": ctx.run.id}
    message = spaces.post(ctx.tx, ctx.active_space, sender=ctx.agent, content=text, data=data)
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


def peek_inbox(
    ctx: ToolContext,
    count: Annotated[int, f"number of events, at most {_MAX_EVENTS}"] = 1,
    filter: Annotated[EventType | None, "only events of this type"] = None,
) -> Json:
    """
    Take events that wait in your inbox into this cycle, most urgent first, and read them in full. They will not come
    again: what you take here is yours to deal with now.
    """
    if count < 1:
        raise Invalid(f"{count} is not a number of events", hint=f"use 1 to {_MAX_EVENTS}")
    max_bytes = ctx.max_bytes - _RESULT_OVERHEAD
    if max_bytes < MIN_BUDGET:
        raise Conflict("this cycle has no room for more events", hint="end it: they come with the next one")
    run, limit = ctx.run, min(count, _MAX_EVENTS, max_bytes // MIN_BUDGET)
    batch = inbox.pull(ctx.tx, run.claim, owner=run.id, fence=run.claim_fence, limit=limit, type=filter)
    ctx.taken_items.extend(batch.items)
    bytes_per_event = max_bytes // max(1, len(batch.items)) - 1
    return {
        "events": [_build_event_document(item, bytes_per_event) for item in batch.items],
        "remaining": items.count_pending(ctx.tx, ctx.agent.number, COUNT_LIMIT),
    }


def skip(ctx: ToolContext, reason: Annotated[str | None, "why there is nothing to do, for the audit"] = None) -> Json:
    """
    End this cycle without a word: nothing in it concerns you, and nothing was done. The events are put away, and you
    will not remember this cycle. Use it instead of explaining that there is nothing to do.
    """
    del ctx
    return {"success": True, "reason": reason}


def _build_event_document(item: Item, max_bytes: int) -> Json:
    """Return an event without its empty fields; if that is over `max_bytes`, return its rendered line, shortened."""
    event, fields = item.event, msgspec.to_builtins(EventView.of(item))
    document = {name: value for name, value in fields.items() if value is not None}
    length = max_bytes
    while len(_encode(document)) > max_bytes and length:  # escaped characters take more bytes than the line has
        document = {"eventId": event.id, "type": event.type.value, "line": render.render_event(event, length)}
        length //= 2
    return document
