"""The tools for the inbox: taking more from it, and leaving a cycle in silence."""

from typing import Annotated, Final

import msgspec

from gatepost.actions import inbox
from gatepost.actions.tools.desk import Desk
from gatepost.core import line, wire
from gatepost.core.batch import COUNTED, LEAST_BUDGET
from gatepost.core.event import Event, Json, Type
from gatepost.errors import Conflict, Invalid
from gatepost.tables import items

_MOST: Final = 10
#: bytes of a result beside its events
_AROUND: Final = 64

_encode: Final = msgspec.json.Encoder().encode


def peek_inbox(
    desk: Desk,
    count: Annotated[int, f"how many events at most; {_MOST} is the most there is"] = 1,
    filter: Annotated[Type | None, "only events of this type"] = None,
) -> Json:
    """
    Take events that wait in your inbox into this cycle, most urgent first, and read them in full. They will not come
    again: what you take here is yours to deal with now.
    """
    if count < 1:
        raise Invalid(f"{count} is not a number of events", hint=f"use 1 to {_MOST}")
    room = desk.room - _AROUND
    if room < LEAST_BUDGET:
        raise Conflict("this cycle has no room for more events", hint="end it: they come with the next one")
    run, most = desk.run, min(count, _MOST, room // LEAST_BUDGET)
    batch = inbox.pull(desk.tx, run.claim, owner=run.id, fence=run.claim_fence, count=most, type=filter)
    desk.taken.extend(batch.items)
    share = room // max(1, len(batch.items)) - 1
    return {
        "events": [_event(item.event, share) for item in batch.items],
        "remaining": items.waiting(desk.tx, desk.me.number, COUNTED),
    }


def skip(desk: Desk, reason: Annotated[str | None, "why there is nothing to do, for the audit"] = None) -> Json:
    """
    End this cycle without a word: nothing in it concerns you, and nothing was done. The events are put away, and you
    will not remember this cycle. Use it instead of explaining that there is nothing to do.
    """
    del desk
    return {"success": True, "reason": reason}


def _event(event: Event, room: int) -> Json:
    """Return an event without its empty fields; if that is over so many bytes, its line, cut."""
    document = {name: value for name, value in wire.event(event).items() if value is not None}
    length = room
    while len(_encode(document)) > room and length:  # what is escaped takes more than it is long
        document = {"eventId": event.id, "type": event.type.value, "line": line.line(event, length)}
        length //= 2
    return document
