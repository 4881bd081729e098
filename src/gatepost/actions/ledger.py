"""
The local ledger: what is sent is appended to topics, in the transaction that sends it.

Accounts and topics are made when they are used for the first time. An append locks the topic's row, so the messages of
a topic have no gaps, and their times increase; topics are locked in the order of their ids. If the transaction fails,
nothing was appended.

    mail        the inbound topic of each recipient; mail to every agent: the broadcast topic
    note, event the topic of the work item
"""

from collections.abc import Iterator, Sequence
from hashlib import sha384
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from gatepost.actions import directory
from gatepost.core import hcs1, hcs10
from gatepost.core import ledger as rules
from gatepost.core.entity import Entity
from gatepost.core.ledger import (
    MAX_MESSAGE_SIZE,
    Chunk,
    Fault,
    LedgerId,
    MessageVerdict,
    Proof,
    Topic,
    TopicKind,
    TopicMessage,
    TopicVerification,
)
from gatepost.core.mail import Mail
from gatepost.core.mirror import format_timestamp
from gatepost.core.times import Instant
from gatepost.core.work import Note, WorkEvent, WorkItem
from gatepost.errors import NotFound
from gatepost.ports import Reader, Transaction
from gatepost.tables import entities, outgoing, topics, work_items

#: messages that are read at once
_PAGE_SIZE: Final = 500
_NANOSECONDS: Final = 1_000
#: bytes of a text that is worth a file of its own
_MIN_FILE_SIZE: Final = 256


def is_on(tx: Reader) -> bool:
    return tx.limits.ledger == "local:"


def post_mail(tx: Transaction, mail: Mail, sender: Entity, recipients: Sequence[str], record: int) -> None:
    """Append mail to the inbound topics of its recipients; without recipients, to the broadcast topic."""
    if not is_on(tx):
        return
    payer = _ensure_account(tx, sender)
    operator_id = hcs10.build_operator_id(_ensure_inbound(tx, sender).ledger_id, payer)
    data = mail.build_data()
    text = hcs10.encode(data).decode()
    message = hcs10.build_message(operator_id, text)
    if len(message) > MAX_MESSAGE_SIZE:
        message = hcs10.build_message(operator_id, _store_outside(tx, payer, data, text.encode()))
    found = entities.find_by_names(tx, recipients) if recipients else {}
    targets = [_ensure_inbound(tx, entity) for entity in found.values()] or [_ensure_broadcast(tx)]
    for topic in sorted(targets, key=lambda topic: topic.ledger_id):
        append(tx, topic, payer, message, record)
    outgoing.set_posted(tx, record)


def post_work(tx: Transaction, post: Note | WorkEvent, author: Entity, item: WorkItem, record: int) -> Instant | None:
    """Append a note or an event to the topic of its work item; return when it was posted, None without a ledger."""
    if not is_on(tx):
        return None
    payer = _ensure_account(tx, author)
    data = post.build_data()
    message = hcs10.encode(data)
    field = "note" if isinstance(post, Note) else "reason"
    content = data[field].encode()
    if len(message) > MAX_MESSAGE_SIZE and len(content) > _MIN_FILE_SIZE:
        if len(content) > hcs1.MAX_FILE_SIZE:
            message = hcs10.encode({**data, field: f"sha384:{sha384(content).hexdigest()}"})
        else:
            message = hcs10.encode({**data, field: _store_file(tx, payer, content, "text/markdown")})
    append(tx, _ensure_work_topic(tx, item), payer, message, record)
    outgoing.set_posted(tx, record)
    return tx.now


def find_topic(tx: Reader, id: str, *, viewer: str | None = None) -> Topic:
    """Return a topic to the administrator (None), to the entity that it belongs to, or to all if it is of all."""
    topic = topics.find(tx, str(LedgerId.parse(id)))
    is_shared = topic is not None and topic.kind in (TopicKind.WORK, TopicKind.BROADCAST)
    if topic is None or not (viewer is None or is_shared or topic.entity == viewer):
        raise NotFound(f"there is no topic {id!r}", hint="`gatepost ledger topics` lists them")
    return topic


def page_topics(
    tx: Reader, *, kind: TopicKind | None, viewer: str | None, after: int = 0, limit: int = 100
) -> list[Topic]:
    """Return topics in the order in which they were made."""
    return topics.list_page(tx, kind=kind, viewer=directory.find_number(tx, viewer), after=after, limit=limit)


def page_messages(tx: Reader, topic: Topic, *, after: int = 0, limit: int = 100) -> list[TopicMessage]:
    return [message for message, _ in topics.list_messages(tx, topic, after=after, limit=limit)]


def verify_topic(tx: Reader, topic: Topic) -> TopicVerification:
    """
    Check the messages of a topic: their running hashes and, where only the hash of a content was posted, whether the
    record in the store still has that content.
    """
    verification = rules.summarize(_judge_messages(tx, topic))
    if verification.messages < topic.last_sequence and verification.first_fault is None:
        reason = f"it is missing: the topic has {topic.last_sequence} messages"
        return replace(verification, first_fault=Fault(topic.id, verification.messages + 1, reason))
    return verification


def _judge_messages(tx: Reader, topic: Topic) -> Iterator[MessageVerdict]:
    """Yield a verdict on each message; one page of them is held at a time."""
    records: dict[int, str | None] = {}

    def read() -> Iterator[TopicMessage]:
        after = 0
        while page := topics.list_messages(tx, topic, after=after, limit=_PAGE_SIZE):
            for message, record in page:
                records[message.sequence] = record
                yield message
            after = page[-1][0].sequence

    for verdict in rules.verify(read()):
        record = records.pop(verdict.message.sequence)
        if verdict.proof is Proof.PROVED and record is not None and not _has_content(verdict.message, record):
            yield MessageVerdict(verdict.message, Proof.WRONG, "the record in the store is not what was posted")
        else:
            yield verdict


def _has_content(message: TopicMessage, record: str) -> bool:
    """Return False if a message names the hash of a content, and the record has another."""
    if message.chunk is not None:
        return True
    try:
        document: dict[str, Any] = msgspec.json.decode(message.content, type=dict)
        data: dict[str, Any] = msgspec.json.decode(record, type=dict)
    except msgspec.MsgspecError:
        return True
    if isinstance(document.get("data"), str) and '"sha384"' in document["data"]:
        posted = msgspec.json.decode(document["data"], type=dict).get("sha384")
        return bool(posted == sha384(hcs10.encode(data)).hexdigest())
    for field in ("note", "reason"):
        posted = document.get(field)
        if isinstance(posted, str) and posted.startswith("sha384:"):
            return posted == f"sha384:{sha384(str(data.get(field)).encode()).hexdigest()}"
    return True


def _store_outside(tx: Transaction, payer: LedgerId, data: dict[str, Any], content: bytes) -> str:
    """Return what is posted in the place of a content that is too long for a message."""
    if len(content) > hcs1.MAX_FILE_SIZE:
        return hcs10.build_digest(data, content)
    return _store_file(tx, payer, content, hcs1.MEDIA_TYPE)


def _store_file(tx: Transaction, payer: LedgerId, content: bytes, media_type: str) -> str:
    """Put a file on the ledger, unless it is there already, and return the reference to it."""
    memo, parts = hcs1.build_file(content, media_type)
    topic = topics.find_file(tx, memo)
    if topic is None:
        topic = _create(tx, TopicKind.FILE, memo)
        if topic.last_sequence == 0:
            for part in parts:
                append(tx, topic, payer, part, None)
    return hcs10.build_reference(topic.ledger_id)


def append(tx: Transaction, topic: Topic, payer: LedgerId, content: bytes, record: int | None) -> None:
    """Append a content to a topic, in chunks if it is long."""
    sequence, timestamp, running_hash = topics.lock(tx, topic.number)
    parts = rules.split(content)
    first_timestamp = max(tx.now * _NANOSECONDS, timestamp + 1)
    messages: list[TopicMessage] = []
    for place, part in enumerate(parts):
        transaction = f"{payer}@{format_timestamp(first_timestamp)}"
        message = TopicMessage(
            topic=topic.ledger_id,
            sequence=sequence + place + 1,
            timestamp=first_timestamp + place,
            payer=payer,
            content=part,
            running_hash=b"",
            chunk=Chunk(transaction, place + 1, len(parts)) if len(parts) > 1 else None,
        )
        running_hash = message.compute_hash(running_hash)
        messages.append(replace(message, running_hash=running_hash))
    topics.append(tx, topic, messages, record)


def _ensure_account(tx: Transaction, entity: Entity) -> LedgerId:
    account = topics.find_account(tx, entity.number)
    if account is not None:
        return account
    topics.lock_creation(tx)
    account = topics.find_account(tx, entity.number)
    if account is None:
        account = topics.take_id(tx)
        topics.insert_account(tx, entity.number, account)
    return account


def _ensure_inbound(tx: Transaction, entity: Entity) -> Topic:
    """Return the inbound topic of an entity; make it, and the outbound topic, if there is none."""
    topic = topics.find_by_entity(tx, entity.number, TopicKind.INBOUND)
    if topic is not None:
        return topic
    account = _ensure_account(tx, entity)
    topics.lock_creation(tx)
    topic = topics.find_by_entity(tx, entity.number, TopicKind.INBOUND)
    if topic is not None:
        return topic
    topic = _create(tx, TopicKind.INBOUND, hcs10.build_inbound_memo(account), entity=entity.number)
    _create(tx, TopicKind.OUTBOUND, hcs10.OUTBOUND_MEMO, entity=entity.number)
    return topic


def _ensure_work_topic(tx: Transaction, item: WorkItem) -> Topic:
    topic = topics.find_by_work_item(tx, item.number)
    if topic is not None:
        return topic
    topics.lock_creation(tx)
    topic = topics.find_by_work_item(tx, item.number)
    if topic is None:
        memo = hcs10.build_work_memo(item.type, item.id)
        topic = _create(tx, TopicKind.WORK, memo, id=_take_work_id(tx, item), work_item=item.number)
        if item.topic is None:
            work_items.set_topic(tx, item.number, topic.id)
    return topic


def _take_work_id(tx: Transaction, item: WorkItem) -> LedgerId:
    """Return a new id that no work item has: anybody can give any topic or id to a work item."""
    while work_items.is_taken(tx, item.type, str(id := topics.take_id(tx))):
        pass
    return id


def _ensure_broadcast(tx: Transaction) -> Topic:
    topic = topics.find_broadcast(tx)
    if topic is not None:
        return topic
    topics.lock_creation(tx)
    return topics.find_broadcast(tx) or _create(tx, TopicKind.BROADCAST, hcs10.BROADCAST_MEMO)


def _create(
    tx: Transaction,
    kind: TopicKind,
    memo: str,
    *,
    id: LedgerId | None = None,
    entity: int | None = None,
    work_item: int | None = None,
) -> Topic:
    topics.lock_creation(tx)
    if kind is TopicKind.FILE and (found := topics.find_file(tx, memo)) is not None:
        return found
    id = id or topics.take_id(tx)
    topics.insert(tx, id, kind, memo, entity=entity, work_item=work_item)
    topic = topics.find(tx, str(id))
    assert topic is not None
    return topic
