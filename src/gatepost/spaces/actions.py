"""
Spaces: their members, and the messages that are posted in them.

A message goes to the inbox of every other agent in the space, in the transaction that stores it: there are no mentions,
no router and no choice. People read the space itself. Why the numbers of messages have no gaps, and why exactly the
members get a message:

- A post locks the space's row first (`_lock_row`), and takes the next number with it. Nobody else gets the row until
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
from gatepost.core.ports import Reader, Transaction, needs_disk_space
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.directory.entity_rows import ENTITY
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.inbox.event import EventType, Push, Trust
from gatepost.inbox.push import actions as push, event_limits
from gatepost.spaces import space as rules
from gatepost.spaces.space import Member, Message, MessageRow, Space, SpaceActivity
from gatepost.stores.row_mapping import Mapper, get_columns, load_json, zip_columns

_SPACE: Final = Mapper(Space)
_MEMBER: Final = Mapper(Member)
_ACTIVITY: Final = Mapper(SpaceActivity)
_MESSAGE: Final = Mapper(Message, without="space", data=load_json)
#: no message has a higher number
_MAX_SEQ: Final = 2**63 - 1


def create(tx: Transaction, *, name: str, id: str | None = None, members: Iterable[str] = ()) -> Space:
    """Make a space; without an id, it gets one from its name."""
    title = rules.check_title(name)
    space_id = rules.check_id(id if id is not None else rules.make_id(title) or tx.new_id("spc"))
    member_numbers = _find_live_numbers(tx, members)
    row = tx.fetch_one("spaces/spaces/insert", id=space_id, name=title, now=tx.now)
    if row is None:
        raise Conflict(f"there is a space {space_id!r} already", hint="choose another id: `id`")
    space = Space(id=space_id, name=title, last_seq=0, created_at=tx.now, number=row.number)
    if member_numbers:
        _insert_members(tx, space, sorted(member_numbers))
    tx.after_commit(_build_signal(space, "create"))
    return space


def ensure(tx: Transaction, name: str, *, members: Iterable[str] = ()) -> Space:
    """
    Return the space with this id, or else with this title, and add these members; make it if there is none. Two titles
    that would give the same id are two spaces.
    """
    title = rules.check_title(name)
    space = _lock_row(tx, name) if rules.is_id(name) else None
    space = space or _SPACE.fetch_one(tx, "spaces/spaces/find_by_name", name=title)
    if space is None:
        space_id = rules.make_id(title)
        is_free = (
            space_id and rules.is_id(space_id) and not tx.fetch_one("spaces/spaces/read", id=space_id, entity=None)
        )
        return create(tx, name=title, id=space_id if is_free else tx.new_id("spc"), members=members)
    if space.archived_at is None and (member_numbers := _find_live_numbers(tx, members)):
        locked_space = _lock_space(tx, space.id)
        _insert_members(tx, locked_space, sorted(member_numbers))
        tx.after_commit(_build_signal(locked_space, "join"))
    return space


def show(tx: Reader, id: str, *, viewer: str | Entity | None = None) -> Space:
    """
    Return a space to one of its members, or to the administrator (None). For all others the error does not tell whether
    such a space exists.
    """
    rules.check_id(id)
    viewer_entity = directory.find_live(tx, viewer) if viewer is not None else None
    row = tx.fetch_one("spaces/spaces/read", id=id, entity=viewer_entity.number if viewer_entity else None)
    if viewer_entity is not None and (row is None or not row.is_member):
        raise _build_refusal(id, viewer_entity)
    if row is None:
        raise _build_unknown_error(id)
    return _SPACE.read(row)


def list_page(tx: Reader, *, viewer: str | Entity | None = None, after: int = 0, limit: int = 100) -> list[Space]:
    """Return the spaces of a member, or all; `after` is the number of the last space seen."""
    if viewer is None:
        return _SPACE.fetch_page(tx, "spaces/spaces/list_page", after=after, limit=limit)
    return list_of_member(tx, directory.find_live(tx, viewer), after=after, limit=limit)


def list_of_member(tx: Reader, member: Entity, *, after: int = 0, limit: int) -> list[Space]:
    """Return the spaces of a member, retired or not, in the order of creation."""
    return _SPACE.fetch_all(tx, "spaces/spaces/list_by_entity", entity=member.number, after=after, limit=limit)


def list_newest(tx: Reader, *, viewer: str | None = None, limit: int) -> list[Space]:
    """Return the newest spaces of a member, or of all; archived ones come last."""
    viewer_number = directory.find_live(tx, viewer).number if viewer is not None else None
    return _SPACE.fetch_all(tx, "spaces/spaces/list_newest", entity=viewer_number, limit=limit)


def list_activity(tx: Reader, ids: Sequence[str], *, viewer: str | None = None) -> dict[str, SpaceActivity]:
    """Return when the last message of each space came and, for a member, what it has read; by the ids of the spaces."""
    entity = directory.find_number(tx, viewer)
    rows = tx.fetch_all("spaces/spaces/list_activity", spaces=list(ids), entity=entity) if ids else []
    return {row.id: _ACTIVITY.read(row) for row in rows}


def rename(tx: Transaction, id: str, name: str) -> Space:
    """Change the title; the id stays."""
    space = _lock_space(tx, id)
    renamed_space = replace(space, name=rules.check_title(name))
    _update(tx, space, name=renamed_space.name, archived_at=None)
    tx.after_commit(_build_signal(space, "rename"))
    return renamed_space


def archive(tx: Transaction, id: str) -> Space:
    """Archive a space: its members can read it, but not post."""
    space = _lock_space(tx, id)
    _update(tx, space, name=space.name, archived_at=tx.now)
    tx.after_commit(_build_signal(space, "archive"))
    return replace(space, archived_at=tx.now)


def list_members(tx: Reader, id: str, *, viewer: str | None = None) -> list[Member]:
    """Return the live members, in the order in which they joined."""
    return _MEMBER.fetch_all(tx, "spaces/members/list_live", space=show(tx, id, viewer=viewer).number)


def join(tx: Transaction, id: str, entity: str) -> Member:
    """Add a member, and return it; one that is a member already is not changed."""
    space, new_member = _lock_space(tx, id), directory.find_live(tx, entity)
    _insert_members(tx, space, [new_member.number])
    tx.after_commit(_build_signal(space, "join"))
    return _require_member(tx, space, new_member)


def leave(tx: Transaction, id: str, entity: str, *, by: str | None = None) -> None:
    """
    Remove a member: it gets and reads no more messages; the items in its inbox stay. `by` is the acting entity, None
    for the administrator.
    """
    leaver = directory.find(tx, entity)
    space = _lock_space(tx, id, allow_archived=True, viewer=leaver if by is not None else None)
    if not tx.execute("spaces/members/delete", space=space.number, entity=leaver.number):
        refusal = _build_refusal(id, leaver)
        raise refusal if by is not None else NotFound(refusal.message)
    tx.after_commit(_build_signal(space, "leave"))


@needs_disk_space()
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
    space = _lock_row(tx, rules.check_id(id), increment=1)
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
    data_json = event_limits.validate_push(message_push, tx.policy)
    columns = get_columns(message, "seq id content created_at")
    tx.execute_later(
        "spaces/messages/insert", space=space.number, sender=sender_entity.number, data=data_json, **columns
    )
    # A sender that had read all messages has read this one too.
    _advance_read_seq(tx, space, sender_entity, message.seq, min_seq=message.seq - 1)
    agents = ENTITY.fetch_all(tx, "directory/entities/list_agents_in_space", space=space.number)
    if recipients := [agent for agent in agents if agent.number != sender_entity.number]:
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
        rows = tx.fetch_page("spaces/messages/list_before", space=space.number, before=before, limit=limit)[::-1]
    else:
        after = max(0, min(after_seq, _MAX_SEQ))
        rows = tx.fetch_page("spaces/messages/list_after", space=space.number, after=after, before=before, limit=limit)
    return [_MESSAGE.read(row, space=space.id) for row in rows]


def read_history(tx: Reader, id: str, member: Entity, *, offset: int = 0, limit: int) -> tuple[Space, list[MessageRow]]:
    """Return a space and its last messages, oldest first, without the `offset` newest ones."""
    space = show(tx, id, viewer=member)
    before = max(0, space.last_seq - offset + 1)  # numbers have no gaps
    rows = tx.fetch_all("spaces/messages/list_rows_before", space=space.number, before=before, limit=limit)
    return space, [(row.id, row.display, row.kind, row.content, row.created_at) for row in reversed(rows)]


def read_and_mark(tx: Transaction, id: str, member: Entity, *, limit: int) -> tuple[Space, list[MessageRow]]:
    """Return a space and its last messages, oldest first, and mark them as read by the member."""
    space, history = read_history(tx, id, member, limit=limit)
    if history:
        _advance_read_seq(tx, space, member, space.last_seq)
    return space, history


def mark_read(tx: Transaction, id: str, entity: str, seq: int) -> Member:
    """Record up to which message a member has read; a lower number than before changes nothing."""
    member = directory.find_live(tx, entity)
    space = show(tx, id, viewer=member)
    if not 0 <= seq <= space.last_seq:
        raise Invalid(f"the space {space.id!r} has no message {seq}", hint=f"its last one is {space.last_seq}")
    _advance_read_seq(tx, space, member, seq)
    return _require_member(tx, space, member)


def find_first_seq(tx: Reader, id: str, entity: str) -> int:
    """Return the number of the first message that was posted, or can be, since an entity became a member."""
    space = show(tx, id, viewer=entity)
    member = _require_member(tx, space, directory.find_live(tx, entity))
    row = tx.fetch_one("spaces/messages/find_last_before", space=space.number, time=member.joined_at)
    return row.seq + 1 if row is not None else 1


def count_unread(tx: Reader, entity: str) -> dict[str, int]:
    """Return the number of unread messages of an entity, by the id of the space."""
    rows = tx.fetch_all("spaces/members/count_unread", entity=directory.find_live(tx, entity).number)
    return {row.id: row.unread for row in rows}


def _lock_space(tx: Transaction, id: str, *, allow_archived: bool = False, viewer: Entity | None = None) -> Space:
    """
    Lock a space until the commit; refuse an archived space unless `allow_archived`. With a `viewer`, the error for a
    space that does not exist is the same as for one that the viewer is not a member of.
    """
    space = _lock_row(tx, rules.check_id(id))
    if space is None:
        raise _build_unknown_error(id) if viewer is None else _build_refusal(id, viewer)
    if not allow_archived:
        _check_not_archived(space)
    return space


def _lock_row(tx: Transaction, id: str, *, increment: int = 0) -> Space | None:
    """
    Lock a space until the commit, and take the next number of a message (`increment` 1) or none. Every change of a
    space, its members or its messages begins with this, so transactions take turns.
    """
    return _SPACE.fetch_one(tx, "spaces/spaces/lock", id=id, increment=increment)


def _update(tx: Transaction, space: Space, *, name: str, archived_at: Instant | None) -> None:
    tx.execute_later("spaces/spaces/update", number=space.number, name=name, archived_at=archived_at)


def _insert_members(tx: Transaction, space: Space, entities: Sequence[int]) -> None:
    """Add entities that are not members yet; older messages count as read."""
    rows = [(space.number, entity, tx.now, space.last_seq) for entity in entities]
    tx.execute_many_later("spaces/members/insert", zip_columns("space entity joined_at read_seq", rows))


def _advance_read_seq(tx: Transaction, space: Space, member: Entity, seq: int, *, min_seq: int = 0) -> None:
    """Save that a member has read up to a message, if it has read up to `min_seq`; never move back."""
    tx.execute_later("spaces/members/advance", space=space.number, entity=member.number, seq=seq, min_seq=min_seq)


def _check_not_archived(space: Space) -> None:
    if space.archived_at is not None:
        raise Conflict(f"the space {space.id!r} is archived: it can only be read")


def _require_member(tx: Reader, space: Space, entity: Entity) -> Member:
    member = _MEMBER.fetch_one(tx, "spaces/members/read", space=space.number, entity=entity.number)
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
