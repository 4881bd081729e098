"""
Spaces: their members, and the messages that are posted in them.

A message goes to the inbox of every other agent in the space, in the transaction that stores it: there are no mentions,
no router and no choice. People read the space itself. Why the numbers of messages have no gaps, and why exactly the
members get a message:

- A post locks the space's row first (`spaces.lock`), and takes the next number with it. Nobody else gets the row until
  the commit; if the post fails, the number is rolled back with everything else. So numbers follow the order of the
  commits, and a reader that has seen message 7 never finds a new message 6 later.
- Joining and leaving lock the same row. So for every message and every member it is clear which came first: an entity
  that is a member when the message gets its number receives it, and one that has left does not.
- The membership of a reader is checked in the transaction that reads.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core import address
from gatepost.core.address import EntityAddress
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.inbox.event import EventType, Push, Trust
from gatepost.inbox.push import actions as push, event_limits
from gatepost.spaces import id_and_title as rules, rows as spaces
from gatepost.spaces.space import Member, Message, MessageRow, Space, SpaceActivity

#: no message has a higher number
_MAX_SEQ: Final = 2**63 - 1


def create(tx: Transaction, *, name: str, id: str | None = None, members: Iterable[str] = ()) -> Space:
    """Make a space; without an id, it gets one from its name."""
    title = rules.check_title(name)
    space_id = rules.check_id(id if id is not None else rules.make_id(title) or tx.new_id("spc"))
    member_numbers = _find_live_numbers(tx, members)
    space = spaces.insert(tx, space_id, title)
    if space is None:
        raise Conflict(f"there is a space {space_id!r} already", hint="choose another id: `id`")
    if member_numbers:
        spaces.insert_members(tx, space, sorted(member_numbers))
    tx.after_commit(_build_signal(space, "create"))
    return space


def ensure(tx: Transaction, name: str, *, members: Iterable[str] = ()) -> Space:
    """
    Return the space with this id, or else with this title, and add these members; make it if there is none. Two titles
    that would give the same id are two spaces.
    """
    title = rules.check_title(name)
    space = (spaces.lock(tx, name, increment=0) if rules.is_id(name) else None) or spaces.find_by_name(tx, title)
    if space is None:
        space_id = rules.make_id(title)
        is_taken = space_id is None or not rules.is_id(space_id) or spaces.read(tx, space_id) is not None
        return create(tx, name=title, id=tx.new_id("spc") if is_taken else space_id, members=members)
    if space.archived_at is None and (member_numbers := _find_live_numbers(tx, members)):
        locked_space = _lock_space(tx, space.id)
        spaces.insert_members(tx, locked_space, sorted(member_numbers))
        tx.after_commit(_build_signal(locked_space, "join"))
    return space


def show(tx: Reader, id: str, *, viewer: str | Entity | None = None) -> Space:
    """
    Return a space to one of its members, or to the administrator (None). For all others the error does not tell whether
    such a space exists.
    """
    rules.check_id(id)
    viewer_entity = directory.find_live(tx, viewer) if viewer is not None else None
    row = spaces.read(tx, id, viewer_entity.number if viewer_entity else None)
    if viewer_entity is not None and (row is None or not row[1]):
        raise _build_refusal(id, viewer_entity)
    if row is None:
        raise _build_unknown_error(id)
    return row[0]


def page(tx: Reader, *, viewer: str | Entity | None = None, after: int = 0, limit: int = 100) -> list[Space]:
    """Return the spaces of a member, or all; `after` is the number of the last space seen."""
    viewer_number = directory.find_live(tx, viewer).number if viewer is not None else None
    return spaces.list_page(tx, entity=viewer_number, after=after, limit=limit)


def list_newest(tx: Reader, *, viewer: str | None = None, limit: int) -> list[Space]:
    """Return the newest spaces of a member, or of all; archived ones come last."""
    viewer_number = directory.find_live(tx, viewer).number if viewer is not None else None
    return spaces.list_newest(tx, entity=viewer_number, limit=limit)


def list_activity(tx: Reader, ids: Sequence[str], *, viewer: str | None = None) -> dict[str, SpaceActivity]:
    """Return when the last message of each space came and, for a member, what it has read; by the ids of the spaces."""
    return spaces.list_activity(tx, ids, directory.find_number(tx, viewer))


def rename(tx: Transaction, id: str, name: str) -> Space:
    """Change the title; the id stays."""
    space = _lock_space(tx, id)
    renamed_space = replace(space, name=rules.check_title(name))
    spaces.update(tx, space.number, name=renamed_space.name, archived_at=None)
    tx.after_commit(_build_signal(space, "rename"))
    return renamed_space


def archive(tx: Transaction, id: str) -> Space:
    """Archive a space: its members can read it, but not post."""
    space = _lock_space(tx, id)
    spaces.update(tx, space.number, name=space.name, archived_at=tx.now)
    tx.after_commit(_build_signal(space, "archive"))
    return replace(space, archived_at=tx.now)


def list_members(tx: Reader, id: str, *, viewer: str | None = None) -> list[Member]:
    """Return the live members, in the order in which they joined."""
    return spaces.list_members(tx, show(tx, id, viewer=viewer).number)


def join(tx: Transaction, id: str, entity: str) -> Member:
    """Add a member, and return it; one that is a member already is not changed."""
    space, new_member = _lock_space(tx, id), directory.find_live(tx, entity)
    spaces.insert_members(tx, space, [new_member.number])
    tx.after_commit(_build_signal(space, "join"))
    return _require_member(tx, space, new_member)


def leave(tx: Transaction, id: str, entity: str, *, by: str | None = None) -> None:
    """
    Remove a member: it gets and reads no more messages; the items in its inbox stay. `by` is the acting entity, None
    for the administrator.
    """
    leaver = directory.find(tx, entity)
    space = _lock_space(tx, id, allow_archived=True, viewer=leaver if by is not None else None)
    if not spaces.delete_member(tx, space.number, leaver.number):
        refusal = _build_refusal(id, leaver)
        raise refusal if by is not None else NotFound(refusal.message)
    tx.after_commit(_build_signal(space, "leave"))


def post(
    tx: Transaction,
    id: str,
    *,
    sender: str | Entity,
    content: str,
    data: Json = None,
    trust: Trust = Trust.MEMBER,
) -> Message:
    """Post a message in a space, and push it to every other agent in it."""
    space = spaces.lock(tx, rules.check_id(id), increment=1)
    sender_entity = directory.find_live(tx, sender)
    if space is None:
        raise _build_refusal(id, sender_entity)
    _require_member(tx, space, sender_entity)  # first: only members may learn that a space is archived
    _check_not_archived(space)
    if not content and data is None:
        raise Invalid("the message is empty", hint="give `content`")
    message = Message(
        id=tx.new_id("msg"),
        space=space.id,
        seq=space.last_seq,
        sender=sender_entity.name,
        sender_display=sender_entity.display,
        sender_kind=sender_entity.kind,
        content=content,
        data=data,
        created_at=tx.now,
    )
    message_push = Push(
        to=space.id,
        type=EventType.SPACE_MESSAGE,
        source=space.id,
        content=content,
        data=data,
        dedup_key=f"msg:{message.id}",
        trust=trust,
    )
    data_json = event_limits.validate_push(message_push, tx.limits)
    spaces.insert_message(tx, message, space=space.number, sender=sender_entity.number, data=data_json)
    # A sender that had read all messages has read this one too.
    spaces.advance_read_seq(tx, space.number, sender_entity.number, message.seq, min_seq=message.seq - 1)
    recipients = [
        agent for agent in entities.list_agents_in_space(tx, space.number) if agent.number != sender_entity.number
    ]
    if recipients:
        event_push = replace(message_push, data=_build_event_data(space, message))
        push.fan_out(tx, event_push, sender_entity, recipients, is_valid=True)
    tx.after_commit(_build_signal(space, EventType.SPACE_MESSAGE))
    return message


def read(
    tx: Reader,
    id: str,
    *,
    viewer: str | Entity | None = None,
    after_seq: int | None = None,
    before_seq: int | None = None,
    limit: int = 50,
) -> list[Message]:
    """Return messages, oldest first: the next ones after a number, else the last ones, or the last before a number."""
    space = show(tx, id, viewer=viewer)
    before = _MAX_SEQ if before_seq is None else max(0, min(before_seq, _MAX_SEQ))
    if after_seq is None:
        return spaces.list_messages_before(tx, space, before=before, limit=limit)
    return spaces.list_messages_after(tx, space, after=max(0, min(after_seq, _MAX_SEQ)), before=before, limit=limit)


def read_history(tx: Reader, id: str, member: Entity, *, offset: int = 0, limit: int) -> tuple[Space, list[MessageRow]]:
    """Return a space and its last messages, oldest first, without the `offset` newest ones."""
    space = show(tx, id, viewer=member)
    # Numbers have no gaps, so the offset can be subtracted.
    return space, spaces.list_message_rows(tx, space, before=max(0, space.last_seq - offset + 1), limit=limit)


def enter(tx: Transaction, id: str, member: Entity, *, limit: int) -> tuple[Space, list[MessageRow]]:
    """Return a space and its last messages, oldest first, and mark them as read by the member."""
    space, history = read_history(tx, id, member, limit=limit)
    if history:
        spaces.advance_read_seq(tx, space.number, member.number, space.last_seq)
    return space, history


def mark_read(tx: Transaction, id: str, entity: str, seq: int) -> Member:
    """Record up to which message a member has read; a lower number than before changes nothing."""
    member = directory.find_live(tx, entity)
    space = show(tx, id, viewer=member)
    if not 0 <= seq <= space.last_seq:
        raise Invalid(f"the space {space.id!r} has no message {seq}", hint=f"its last one is {space.last_seq}")
    spaces.advance_read_seq(tx, space.number, member.number, seq)
    return _require_member(tx, space, member)


def find_first_seq(tx: Reader, id: str, entity: str) -> int:
    """Return the number of the first message that was posted, or can be, since an entity became a member."""
    space = show(tx, id, viewer=entity)
    member = _require_member(tx, space, directory.find_live(tx, entity))
    return spaces.find_last_seq_before(tx, space, member.joined_at) + 1


def count_unread(tx: Reader, entity: str) -> dict[str, int]:
    """Return the number of unread messages of an entity, by the id of the space."""
    return spaces.count_unread(tx, directory.find_live(tx, entity).number)


def _lock_space(tx: Transaction, id: str, *, allow_archived: bool = False, viewer: Entity | None = None) -> Space:
    """
    Lock a space until the commit; refuse an archived space unless `allow_archived`. With a `viewer`, the error for a
    space that does not exist is the same as for one that the viewer is not a member of.
    """
    space = spaces.lock(tx, rules.check_id(id), increment=0)
    if space is None:
        raise _build_unknown_error(id) if viewer is None else _build_refusal(id, viewer)
    if not allow_archived:
        _check_not_archived(space)
    return space


def _check_not_archived(space: Space) -> None:
    if space.archived_at is not None:
        raise Conflict(f"the space {space.id!r} is archived: it can only be read")


def _require_member(tx: Reader, space: Space, entity: Entity) -> Member:
    member = spaces.read_member(tx, space.number, entity.number)
    if member is None:
        raise _build_refusal(space.id, entity)
    return member


def _find_live_numbers(tx: Transaction, names: Iterable[str]) -> set[int]:
    """Return the numbers of live entities with these names; raise if one is unknown or retired."""
    unique_names = list(dict.fromkeys(address.check_entity_address(name) for name in names))
    entities_by_address = directory.resolve(tx, [EntityAddress(name) for name in unique_names])
    numbers: set[int] = set()
    for name in unique_names:
        [entity] = entities_by_address.get(EntityAddress(name)) or [directory.find_live(tx, name)]
        if not entity.is_live:
            raise directory.build_retired_error(entity)
        numbers.add(entity.number)
    return numbers


def _build_event_data(space: Space, message: Message) -> Json:
    """Return the data of the event that other agents get for a message."""
    return {
        "spaceId": space.id,
        "spaceName": space.name,
        "messageId": message.id,
        "seq": message.seq,
        "senderEntityId": message.sender,
        "senderName": message.sender_display,
        "senderType": message.sender_kind.value,
    }


def _build_signal(space: Space, cause: str) -> Signal:
    """Return a signal to live readers of the space."""
    return Signal(Topic("space", space.id), cause)


def _build_refusal(id: str, entity: Entity) -> Refused:
    return Refused(
        f"{entity.name!r} is not a member of the space {id!r}", hint=f"`gatepost space join {id} {entity.name}` adds it"
    )


def _build_unknown_error(id: str) -> NotFound:
    return NotFound(f"there is no space {id!r}", hint="`gatepost space list` lists them")
