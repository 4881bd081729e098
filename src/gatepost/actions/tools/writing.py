"""The tools for mail and notes."""

from dataclasses import replace
from typing import Annotated, Final

from gatepost.actions import directory, intake
from gatepost.actions.tools.desk import Desk
from gatepost.core import address, wire
from gatepost.core.address import Everyone, Named
from gatepost.core.event import Json, Priority, Push, Pushed, Ref, Type
from gatepost.errors import Invalid, Refused

#: addresses of one note
_MOST: Final = 50

_Priority = Annotated[
    str, "critical, high, normal, low or fyi; critical interrupts whoever gets it, fyi does not even wake them"
]


def send_mail(
    desk: Desk,
    to: Annotated[str, "a name or an alias, team:NAME, team:NAME/ROLE, or * for every agent"],
    text: Annotated[str, "what you have to say"],
    subject: Annotated[str | None, "what it is about, in a few words"] = None,
    priority: _Priority = "normal",
    ref: Annotated[str | None, "the work item that it is about, as TYPE:ID, such as task:0.0.123"] = None,
) -> Json:
    """Write to an agent, a team or a person directly, into their inbox, outside of all spaces."""
    where = address.parse(to)
    if isinstance(where, Named) and directory.find(desk.tx, where.name).number == desk.me.number:
        raise Refused("you cannot send mail to yourself", hint="use set_plans or set_memories")
    wish = _letter(desk, to, text, priority, Ref.parse(ref) if ref is not None else None)
    sent = intake.push(desk.tx, replace(wish, subject=subject))
    return {"success": True} | wire.pushed(sent)


def post_note(
    desk: Desk,
    ref: Annotated[str, "the work item that the note is about, as TYPE:ID, such as task:0.0.123"],
    note: Annotated[str, "the note"],
    notify: Annotated[list[str], "who is told at once: names, aliases or teams"],
    priority: _Priority = "normal",
) -> Json:
    """Write a note on a work item, and tell those whom it concerns."""
    about = Ref.parse(ref)
    addresses = list(dict.fromkeys(notify))
    if not addresses:
        raise Invalid("nobody would be told", hint="name somebody in notify")
    if len(addresses) > _MOST:
        raise Invalid(f"{len(addresses)} addresses are too many", hint=f"use at most {_MOST}, or a team")
    sent = [told for to in addresses if (told := _noted(desk, to, note, priority, about))]
    names = {each.name: each.event for told in sent for each in told.deliveries}
    return {"success": True, "recipients": [{"name": name, "eventId": event} for name, event in names.items()]}


def _noted(desk: Desk, to: str, note: str, priority: str, about: Ref) -> Pushed | None:
    """Tell one address; whoever is named twice is told once, because the key is the same. Oneself is not told."""
    where = address.parse(to)
    if isinstance(where, Everyone):
        raise Invalid("a note is for those whom it concerns, not for everybody", hint="name them, or a team")
    if isinstance(where, Named) and directory.find(desk.tx, where.name).number == desk.me.number:
        return None
    wish = _letter(desk, to, note, priority, about)
    return intake.push(
        desk.tx, replace(wish, type=Type.NOTE, key=f"note:{about}:{desk.me.name}:{desk.call}", data=None)
    )


def _letter(desk: Desk, to: str, text: str, priority: str, ref: Ref | None) -> Push:
    if not text.strip():
        raise Invalid("there is nothing in the text")
    return Push(
        to=to,
        type=Type.MAIL,
        source="mail",
        sender=desk.me.name,
        content=text,
        data={"mailId": desk.call},
        priority=Priority.parse(priority),
        key=f"mail:{desk.me.name}:{desk.call}",
        ref=ref,
        hops=desk.hops,
    )
