"""
The local ledger: what is sent is appended to topics, in the transaction that sends it.

Accounts and topics are made when they are used for the first time. An append locks the topic's row, so the messages of
a topic have no gaps, and their times increase; topics are locked in the order of their ids. If the transaction fails,
nothing was appended.

    mail        the inbound topic of each recipient; mail to every agent: the broadcast topic
    note, event the topic of the work item
    profile     the topic of the definitions

With a public ledger instead, the same verbs write a job, and `ledger/poster_background.py` outgoing. The messages that
were read from there are in the same tables, so all of them are listed and verified here.
"""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import NotFound
from gatepost.jobs import job_actions as jobs
from gatepost.ledger import message_encoding, running_hash, topic as rules, topic_rows as topics
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.message_encoding import LedgerFile, LedgerMessage
from gatepost.ledger.running_hash import Fault, MessageVerdict, Proof, TopicVerification
from gatepost.ledger.topic import SINGLE_MEMOS, Chunk, LedgerId, LedgerTopic, TopicKind, TopicMessage
from gatepost.ledger.topic_json import format_timestamp
from gatepost.ledger.topic_rows import NewMessage, StoredMessage
from gatepost.mail import sent_record_rows as outgoing, work_rows as work_items
from gatepost.mail.ledger_delivery import LOCAL, MailSent, WorkPosted, find_network, find_public_network
from gatepost.mail.work_item import WorkItem

#: the kind of the jobs that post to a public ledger; the payload is the id of a record
POST_JOB: Final = "ledger.post"
#: messages that are read at once
_PAGE_SIZE: Final = 500
_NANOSECONDS: Final = 1_000


def post_mail(tx: Transaction, event: MailSent) -> None:
    """Append mail to the inbound topics of its recipients; without recipients, to the broadcast topic."""
    mail, sender, recipients = event
    if mail.post is None or _leave_to_poster(tx, mail.id):
        return
    payer = ensure_account(tx, sender)
    operator_id = hcs10.build_operator_id(ensure_inbound(tx, sender).ledger_id, payer)
    message = LedgerMessage(data=mail.build_data(), operator_id=operator_id)
    content = message.encode(_store_file(tx, payer, message.find_file()))
    known_entities = entities.find_by_names(tx, recipients) if recipients else {}
    targets = [ensure_inbound(tx, entity) for entity in known_entities.values()] or [
        ensure_single(tx, TopicKind.BROADCAST)
    ]
    for topic in sorted(targets, key=lambda topic: topic.ledger_id):
        append(tx, topic, payer, content, mail.number)
    outgoing.set_posted(tx, mail.number)


def post_work(tx: Transaction, event: WorkPosted) -> None:
    """Append a note or an event to the topic of its work item."""
    post, author, item = event
    if post.post is None or _leave_to_poster(tx, post.id):
        return
    payer = ensure_account(tx, author)
    message = LedgerMessage(data=post.build_data())
    content = message.encode(_store_file(tx, payer, message.find_file()))
    append(tx, ensure_work_topic(tx, item), payer, content, post.number)
    outgoing.set_posted(tx, post.number)


def _leave_to_poster(tx: Transaction, id: str) -> bool:
    """Write the job that posts a record to a public ledger; return False if the ledger is local."""
    if find_public_network(tx) is None:
        return False
    jobs.add(tx, POST_JOB, id)
    return True


def find_topic(tx: Reader, id: str, *, viewer: str | None = None) -> LedgerTopic:
    """Return a topic to the administrator (None), to the entity that it belongs to, or to all if it is of all."""
    topic = topics.find(tx, _find_shown_network(tx), str(LedgerId.parse(id)))
    is_shared = topic is not None and topic.kind in (TopicKind.WORK, TopicKind.BROADCAST, TopicKind.DEFINITIONS)
    if topic is None or not (viewer is None or is_shared or topic.entity == viewer):
        raise NotFound(f"there is no topic {id!r}", hint="`gatepost ledger topics` lists them")
    return topic


def list_topics(
    tx: Reader, *, kind: TopicKind | None, viewer: str | None, after: int = 0, limit: int = 100
) -> list[LedgerTopic]:
    """Return topics in the order in which they were made; with a viewer, only its own and those of everybody."""
    filters = {"network": _find_shown_network(tx), "kind": kind, "viewer": directory.find_number(tx, viewer)}
    return topics.build_topics(tx.fetch_page("ledger/topics/list_page", **filters, after=after, limit=limit))


def list_messages(
    tx: Reader, topic: LedgerTopic, *, refused_only: bool = False, after: int = 0, limit: int = 100
) -> list[StoredMessage]:
    """Return messages in their order; with `refused_only`, those that do not count."""
    return topics.list_messages(tx, topic, refused_only=refused_only, after=after, limit=limit)


def _find_shown_network(tx: Reader) -> str:
    """Return the ledger whose topics are shown: without one, that is the local one, which may have had messages."""
    return find_network(tx) or LOCAL


def verify_topic(tx: Reader, topic: LedgerTopic, *, after: int = 0, limit: int | None = None) -> TopicVerification:
    """
    Check messages of a topic: their running hashes and, where only the hash of a content was posted, whether the record
    in the store still has that content. Without a limit, all messages after the number `after` are checked.
    """
    last_sequence = after

    def follow() -> Iterator[MessageVerdict]:
        nonlocal last_sequence
        for verdict in _judge_messages(tx, topic, after, limit):
            last_sequence = verdict.message.sequence
            yield verdict

    verification = running_hash.summarize(follow())
    if topic.kind is TopicKind.PEER or last_sequence >= topic.last_sequence:  # those of a peer are not stored
        return verification
    if verification.messages == limit:
        return replace(verification, next=last_sequence)
    if verification.first_fault is None:
        reason = f"it is missing: the topic has {topic.last_sequence} messages"
        return replace(verification, first_fault=Fault(topic.id, last_sequence + 1, reason))
    return verification


def _judge_messages(tx: Reader, topic: LedgerTopic, after: int, limit: int | None) -> Iterator[MessageVerdict]:
    """Yield a verdict on each message; one page of them is held at a time."""
    records: dict[int, str | None] = {}
    before = topics.list_messages(tx, topic, after=after - 1, limit=1) if after else []
    last = before[0].message if before and before[0].message.sequence == after else None

    def read() -> Iterator[TopicMessage]:
        position, remaining = after, limit
        while page := topics.list_messages(
            tx, topic, after=position, limit=_PAGE_SIZE if remaining is None else min(_PAGE_SIZE, remaining)
        ):
            for message, _, record in page:
                records[message.sequence] = record if message.chunk is None else None
                yield message
            position = page[-1].message.sequence
            remaining = None if remaining is None else remaining - len(page)
            if remaining == 0:
                return

    for verdict in running_hash.verify(read(), last):
        record = records.pop(verdict.message.sequence)
        has_content = record is None or message_encoding.has_content(verdict.message.content, record)
        if verdict.proof is Proof.UNKNOWN and topic.network == LOCAL:  # which has all messages from the first one on
            yield MessageVerdict(verdict.message, Proof.WRONG, "the message before it is missing")
        elif verdict.proof is Proof.PROVED and not has_content:
            yield MessageVerdict(verdict.message, Proof.WRONG, "the record in the store is not what was posted")
        else:
            yield verdict


def _store_file(tx: Transaction, payer: LedgerId, file: LedgerFile | None) -> str | None:
    """Put a file on the ledger, unless it is there already, and return the reference to it; None for None."""
    if file is None:
        return None
    memo, parts = hcs1.build_file(file.content, file.media_type)
    topic = topics.find_file(tx, LOCAL, memo)
    if topic is None:
        topic = _create(tx, TopicKind.FILE, memo)
        if topic.last_sequence == 0:
            for part in parts:
                append(tx, topic, payer, part)
    return hcs10.build_reference(topic.ledger_id)


def append(tx: Transaction, topic: LedgerTopic, payer: LedgerId, content: bytes, record: int | None = None) -> None:
    """Append a content to a topic, in chunks if it is long."""
    sequence, timestamp, last_hash = topics.lock(tx, topic.number)
    parts = rules.split(content)
    first_timestamp = max(tx.now * _NANOSECONDS, timestamp + 1)
    messages: list[NewMessage] = []
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
        last_hash = running_hash.compute_running_hash(message, last_hash)
        messages.append(NewMessage(replace(message, running_hash=last_hash), record))
    topics.append(tx, topic, messages)


def ensure_account(tx: Transaction, entity: Entity) -> LedgerId:
    account = topics.find_account(tx, LOCAL, entity.number)
    if account is not None:
        return account
    topics.lock_creation(tx)
    account = topics.find_account(tx, LOCAL, entity.number)
    if account is None:
        account = topics.take_id(tx)
        topics.insert_account(tx, LOCAL, entity.number, account)
    return account


def ensure_inbound(tx: Transaction, entity: Entity) -> LedgerTopic:
    """Return the inbound topic of an entity; make it, and the outbound topic, if there is none."""
    topic = topics.find_by_entity(tx, LOCAL, entity.number, TopicKind.INBOUND)
    if topic is not None:
        return topic
    account = ensure_account(tx, entity)
    topics.lock_creation(tx)
    topic = topics.find_by_entity(tx, LOCAL, entity.number, TopicKind.INBOUND)
    if topic is not None:
        return topic
    topic = _create(tx, TopicKind.INBOUND, hcs10.build_inbound_memo(account), entity=entity.number)
    _create(tx, TopicKind.OUTBOUND, hcs10.OUTBOUND_MEMO, entity=entity.number)
    return topic


def ensure_work_topic(tx: Transaction, item: WorkItem) -> LedgerTopic:
    topic = topics.find_by_work_item(tx, LOCAL, item.number)
    if topic is not None:
        return topic
    topics.lock_creation(tx)
    topic = topics.find_by_work_item(tx, LOCAL, item.number)
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


def ensure_single(tx: Transaction, kind: TopicKind) -> LedgerTopic:
    """Return the topic of a kind of which there is one: the broadcast topic, or that of the definitions."""
    topic = topics.find_single(tx, LOCAL, kind)
    if topic is not None:
        return topic
    topics.lock_creation(tx)
    return topics.find_single(tx, LOCAL, kind) or _create(tx, kind, SINGLE_MEMOS[kind])


def _create(
    tx: Transaction,
    kind: TopicKind,
    memo: str,
    *,
    id: LedgerId | None = None,
    entity: int | None = None,
    work_item: int | None = None,
) -> LedgerTopic:
    topics.lock_creation(tx)
    if kind is TopicKind.FILE and (topic := topics.find_file(tx, LOCAL, memo)) is not None:
        return topic
    id = id or topics.take_id(tx)
    topics.insert(tx, LOCAL, id, kind, memo, entity=entity, work_item=work_item)
    topic = topics.find(tx, LOCAL, str(id))
    assert topic is not None
    return topic
