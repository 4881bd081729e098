"""The tools for the inbox: take more items from it, and end a cycle without an effect."""

from typing import Annotated, Final

import msgspec

from gatepost.actions import inbox
from gatepost.actions.tools.context import ToolContext
from gatepost.core import render, wire
from gatepost.core.batch import COUNT_LIMIT, MIN_BUDGET
from gatepost.core.event import Event, EventType, Json
from gatepost.errors import Conflict, Invalid
from gatepost.tables import items

_MAX_EVENTS: Final = 10
#: bytes of a result beside its events
_RESULT_OVERHEAD: Final = 64

_encode: Final = msgspec.json.Encoder().encode


def peek_inbox(
    ctx: ToolContext,
    count: Annotated[int, f"how many events at most; {_MAX_EVENTS} is the most there is"] = 1,
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
        "events": [_build_event_document(item.event, bytes_per_event) for item in batch.items],
        "remaining": items.count_pending(ctx.tx, ctx.agent.number, COUNT_LIMIT),
    }


def skip(ctx: ToolContext, reason: Annotated[str | None, "why there is nothing to do, for the audit"] = None) -> Json:
    """
    End this cycle without a word: nothing in it concerns you, and nothing was done. The events are put away, and you
    will not remember this cycle. Use it instead of explaining that there is nothing to do.
    """
    del ctx
    return {"success": True, "reason": reason}


def _build_event_document(event: Event, max_bytes: int) -> Json:
    """Return an event without its empty fields; if that is over `max_bytes`, return its rendered line, shortened."""
    document = {name: value for name, value in wire.write_event(event).items() if value is not None}
    length = max_bytes
    while len(_encode(document)) > max_bytes and length:  # escaped characters take more bytes than the line has
        document = {"eventId": event.id, "type": event.type.value, "line": render.render_event(event, length)}
        length //= 2
    return document
