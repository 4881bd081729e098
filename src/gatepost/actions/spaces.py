"""
Spaces: who is in them, what is said, and who hears it.

A message goes to the inbox of every other agent in the space, in the transaction that stores it: no mentions, no
router, no choice. People read the space itself. Why the numbers have no gaps, and why everybody who should hear a
message does, and nobody else:

- Whoever posts takes the space's row first (`spaces.take`), and with it the next number. Until the commit nobody else
  has the row; if the post fails, the number goes back with everything else. So numbers are given in the order of the
  commits, and a reader that has seen 7 will never yet find a 6.
- Joining and leaving take the same row. So for every message and every member it is settled which came first: who is a
  member when the message has its number gets it, and who has left does not.
- A reader's membership is asked for in the transaction that reads.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gatepost.actions import directory, intake
from gatepost.core import space as rules
from gatepost.core.address import Named
from gatepost.core.entity import Entity
from gatepost.core.event import Json, Push, Trust, Type
from gatepost.core.ring import Ring
from gatepost.core.space import Member, Message, Said, Space
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import entities, messages, spaces

#: past the number of every message
_END: Final = 2**63 - 1


def create(tx: Transaction, *, name: str, id: str | None = None, members: Iterable[str] = ()) -> Space:
    """Make a space; without an id it has the one its name suggests."""
    title = rules.title(name)
    wanted = rules.check(id if id is not None else rules.slug(title) or tx.new_id("spc"))
    joining = _live(tx, members)
    made = spaces.insert(tx, wanted, title)
    if made is None:
        raise Conflict(f"there is a space {wanted!r} already", hint="give it another id")
    if joining:
        spaces.join(tx, made, sorted(joining))
    tx.after_commit(_ring(made, "create"))
    return made


def ensure(tx: Transaction, name: str, *, members: Iterable[str] = ()) -> Space:
    """
    Return the space that has this id or else this title, with these members; make it if there is none. Two titles that
    suggest the same id are two spaces.
    """
    title = rules.title(name)
    found = (spaces.take(tx, name, by=0) if rules.is_id(name) else None) or spaces.by_name(tx, title)
    if found is None:
        wanted = rules.slug(title)
        taken = wanted is None or not rules.is_id(wanted) or spaces.read(tx, wanted) is not None
        return create(tx, name=title, id=tx.new_id("spc") if taken else wanted, members=members)
    if found.archived_at is None and (joining := _live(tx, members)):
        locked = _taken(tx, found.id)
        spaces.join(tx, locked, sorted(joining))
        tx.after_commit(_ring(locked, "join"))
    return found


def show(tx: Reader, id: str, *, as_: str | Entity | None = None) -> Space:
    """
    A space, as one of its members or (None) as the administrator. Nobody else learns whether there is such a space.
    """
    rules.check(id)
    reading = directory.find_live(tx, as_) if as_ is not None else None
    found = spaces.read(tx, id, reading.number if reading else None)
    if reading is not None and (found is None or not found[1]):
        raise _build_refusal(id, reading)
    if found is None:
        raise _unknown(id)
    return found[0]


def page(tx: Reader, *, as_: str | Entity | None = None, after: int = 0, limit: int = 100) -> list[Space]:
    """The spaces of a member, or all; `after` is the number of the last one seen."""
    entity = directory.find_live(tx, as_).number if as_ is not None else None
    return spaces.page(tx, entity=entity, after=after, most=limit)


def rename(tx: Transaction, id: str, name: str) -> Space:
    """Change the title; the id stays."""
    found = _taken(tx, id)
    changed = replace(found, name=rules.title(name))
    spaces.update(tx, found.number, name=changed.name, archived_at=None)
    tx.after_commit(_ring(found, "rename"))
    return changed


def archive(tx: Transaction, id: str) -> Space:
    """Let nothing more be said; its members may still read it."""
    found = _taken(tx, id)
    spaces.update(tx, found.number, name=found.name, archived_at=tx.now)
    tx.after_commit(_ring(found, "archive"))
    return replace(found, archived_at=tx.now)


def members(tx: Reader, id: str, *, as_: str | None = None) -> list[Member]:
    """The live members, in the order in which they joined."""
    return spaces.members(tx, show(tx, id, as_=as_).number)


def join(tx: Transaction, id: str, entity: str) -> Member:
    """Make somebody a member; whoever is one already stays as they are."""
    found, newcomer = _taken(tx, id), directory.find_live(tx, entity)
    spaces.join(tx, found, [newcomer.number])
    tx.after_commit(_ring(found, "join"))
    return _member(tx, found, newcomer)


def leave(tx: Transaction, id: str, entity: str, *, as_: str | None = None) -> None:
    """
    Let somebody hear and read nothing more; what is in their inbox stays there. `as_` is who says so, None for the
    administrator.
    """
    leaver = directory.find(tx, entity)
    found = _taken(tx, id, archived=True, as_=leaver if as_ is not None else None)
    if not spaces.leave(tx, found.number, leaver.number):
        raise _build_refusal(id, leaver) if as_ is not None else NotFound(str(_build_refusal(id, leaver)))
    tx.after_commit(_ring(found, "leave"))


def post(
    tx: Transaction,
    id: str,
    *,
    sender: str | Entity,
    content: str,
    data: Json = None,
    hops: int = 0,
    trust: Trust = Trust.MEMBER,
) -> Message:
    """Say something in a space, and tell every other agent in it."""
    speaker = directory.find_live(tx, sender)
    found = _taken(tx, id, by=1, archived=True, as_=speaker)
    _member(tx, found, speaker)  # first: what has become of a space is for its members to know
    _open(found)
    if not content and data is None:
        raise Invalid("a message needs content")
    message = Message(
        id=tx.new_id("msg"),
        space=found.id,
        seq=found.last_seq,
        sender=speaker.name,
        sender_display=speaker.display,
        sender_kind=speaker.kind,
        content=content,
        data=data,
        created_at=tx.now,
    )
    said = Push(
        to=found.id,
        type=Type.SPACE_MESSAGE,
        source=found.id,
        sender=speaker.name,
        content=content,
        data=data,
        key=f"msg:{message.id}",
        hops=hops,
        trust=trust,
    )
    stored = intake.checked(said, tx.limits)
    messages.insert(tx, message, space=found.number, sender=speaker.number, data=stored)
    # Who had read everything has read this too: it is their own.
    spaces.advance(tx, found.number, speaker.number, message.seq, least=message.seq - 1)
    others = [one for one in entities.in_space(tx, found.number) if one.number != speaker.number]
    if others:
        intake.fan_out(tx, replace(said, data=_told(found, message)), speaker, others)
    tx.after_commit(_ring(found, Type.SPACE_MESSAGE))
    return message


def read(
    tx: Reader,
    id: str,
    *,
    as_: str | Entity | None = None,
    after_seq: int | None = None,
    before_seq: int | None = None,
    limit: int = 50,
) -> list[Message]:
    """Messages, oldest first: the first after a number, else the last, or the last before a number."""
    found = show(tx, id, as_=as_)
    before = _END if before_seq is None else max(0, min(before_seq, _END))
    if after_seq is None:
        return messages.before(tx, found, before=before, most=limit)
    return messages.after(tx, found, after=max(0, min(after_seq, _END)), before=before, most=limit)


def told(tx: Reader, id: str, member: Entity, *, offset: int = 0, limit: int) -> tuple[Space, list[Said]]:
    """A space and the last messages in it but for `offset` newer ones, oldest first, as an agent is told them."""
    found = show(tx, id, as_=member)
    # Numbers have no gaps, so the newest can be counted off.
    return found, messages.said(tx, found, before=max(0, found.last_seq - offset + 1), most=limit)


def enter(tx: Transaction, id: str, member: Entity, *, limit: int) -> tuple[Space, list[Said]]:
    """The same, and its member has read them with that."""
    found, said = told(tx, id, member, limit=limit)
    if said:
        spaces.advance(tx, found.number, member.number, found.last_seq)
    return found, said


def mark_read(tx: Transaction, id: str, entity: str, seq: int) -> Member:
    """Note that a member has read up to a message; it never goes back."""
    member = directory.find_live(tx, entity)
    found = show(tx, id, as_=member)
    if not 0 <= seq <= found.last_seq:
        raise Invalid(f"the space {found.id!r} has no message {seq}", hint=f"its last one is {found.last_seq}")
    spaces.advance(tx, found.number, member.number, seq)
    return _member(tx, found, member)


def unread(tx: Reader, entity: str) -> dict[str, int]:
    """How many messages somebody has not read, for each of their spaces."""
    return spaces.unread(tx, directory.find_live(tx, entity).number)


def _taken(tx: Transaction, id: str, *, by: int = 0, archived: bool = False, as_: Entity | None = None) -> Space:
    """
    Take a space until the commit; an archived one only where that does no harm, or is asked about later. With `as_`, a
    space that is not there is refused like one that somebody is not in.
    """
    found = spaces.take(tx, rules.check(id), by=by)
    if found is None:
        raise _unknown(id) if as_ is None else _build_refusal(id, as_)
    if not archived:
        _open(found)
    return found


def _open(space: Space) -> None:
    if space.archived_at is not None:
        raise Conflict(f"the space {space.id!r} is archived: it can only be read")


def _member(tx: Reader, space: Space, entity: Entity) -> Member:
    found = spaces.member(tx, space.number, entity.number)
    if found is None:
        raise _build_refusal(space.id, entity)
    return found


def _live(tx: Transaction, names: Iterable[str]) -> set[int]:
    """The numbers of those who are to be members."""
    wanted = list(dict.fromkeys(names))
    known = directory.resolve(tx, [Named(name) for name in wanted])
    numbers: set[int] = set()
    for name in wanted:
        [one] = known.get(Named(name)) or [directory.find_live(tx, name)]
        if not one.live:
            raise Refused(f"{one.name!r} is retired")
        numbers.add(one.number)
    return numbers


def _told(space: Space, message: Message) -> Json:
    """What the other agents are told of a message beside its content."""
    return {
        "spaceId": space.id,
        "spaceName": space.name,
        "messageId": message.id,
        "seq": message.seq,
        "senderEntityId": message.sender,
        "senderName": message.sender_display,
        "senderType": message.sender_kind.value,
    }


def _ring(space: Space, cause: str) -> Ring:
    """For whoever reads the space as it grows."""
    return Ring(f"space:{space.id}", cause)


def _build_refusal(id: str, entity: Entity) -> Refused:
    return Refused(f"{entity.name!r} is not a member of the space {id!r}")


def _unknown(id: str) -> NotFound:
    return NotFound(f"there is no space {id!r}", hint="`gatepost space list` shows which there are")
