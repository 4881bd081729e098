"""The tools for mail and notes."""

from typing import Annotated, Final

from msgspec.structs import replace

from gatepost.actions import directory, push
from gatepost.actions.tools.context import ToolContext
from gatepost.core import address, wire
from gatepost.core.address import AllAgentsAddress, EntityAddress
from gatepost.core.event import EventType, Json, Priority, Push, PushResult, Ref
from gatepost.errors import Invalid, Refused

#: addresses that one note notifies
_MAX_ADDRESSES: Final = 50

_Priority = Annotated[
    str, "critical, high, normal, low or fyi; critical interrupts whoever gets it, fyi does not even wake them"
]


def send_mail(
    ctx: ToolContext,
    to: Annotated[str, "a name or an alias, team:NAME, team:NAME/ROLE, or * for every agent"],
    text: Annotated[str, "what you have to say"],
    subject: Annotated[str | None, "what it is about, in a few words"] = None,
    priority: _Priority = "normal",
    ref: Annotated[str | None, "the work item that it is about, as TYPE:ID, such as task:0.0.123"] = None,
) -> Json:
    """Write to an agent, a team or a person directly, into their inbox, outside of all spaces."""
    recipient = address.parse(to)
    if isinstance(recipient, EntityAddress) and directory.find(ctx.tx, recipient.name).number == ctx.agent.number:
        raise Refused("you cannot send mail to yourself", hint="use set_plans or set_memories")
    mail = _build_mail(ctx, to, text, priority, Ref.parse(ref) if ref is not None else None)
    result = push.push_event(ctx.tx, replace(mail, subject=subject))
    return {"success": True} | wire.write_push_result(result)


def post_note(
    ctx: ToolContext,
    ref: Annotated[str, "the work item that the note is about, as TYPE:ID, such as task:0.0.123"],
    note: Annotated[str, "the note"],
    notify: Annotated[list[str], "who is told at once: names, aliases or teams"],
    priority: _Priority = "normal",
) -> Json:
    """Write a note on a work item, and tell those whom it concerns."""
    work_item = Ref.parse(ref)
    addresses = list(dict.fromkeys(notify))
    if not addresses:
        raise Invalid("nobody would be told", hint="name somebody in notify")
    if len(addresses) > _MAX_ADDRESSES:
        raise Invalid(f"{len(addresses)} addresses are too many", hint=f"use at most {_MAX_ADDRESSES}, or a team")
    results = [result for to in addresses if (result := _push_note(ctx, to, note, priority, work_item))]
    names = {delivery.name: delivery.event for result in results for delivery in result.deliveries}
    return {"success": True, "recipients": [{"name": name, "eventId": event} for name, event in names.items()]}


def _push_note(ctx: ToolContext, to: str, note: str, priority: str, work_item: Ref) -> PushResult | None:
    """
    Push a note to one address, and return the result; None for the agent itself. An entity that is named twice gets the
    note once, because the dedup key is the same.
    """
    recipient = address.parse(to)
    if isinstance(recipient, AllAgentsAddress):
        raise Invalid("a note is for those whom it concerns, not for everybody", hint="name them, or a team")
    if isinstance(recipient, EntityAddress) and directory.find(ctx.tx, recipient.name).number == ctx.agent.number:
        return None
    note_push = _build_mail(ctx, to, note, priority, work_item)
    return push.push_event(
        ctx.tx, replace(note_push, type=EventType.NOTE, key=f"note:{work_item}:{ctx.agent.name}:{ctx.call}", data=None)
    )


def _build_mail(ctx: ToolContext, to: str, text: str, priority: str, ref: Ref | None) -> Push:
    if not text.strip():
        raise Invalid("there is nothing in the text")
    return Push(
        to=to,
        type=EventType.MAIL,
        source="mail",
        sender=ctx.agent.name,
        content=text,
        data={"mailId": ctx.call},
        priority=Priority.parse(priority),
        key=f"mail:{ctx.agent.name}:{ctx.call}",
        ref=ref,
        hops=ctx.hops,
    )
