"""What the store keeps of posting to a public ledger: what is to be posted and to whom, and what came of it."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from gatepost.core import address
from gatepost.core.address import AllAgentsAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.inbox.event import Ref
from gatepost.inbox.push import actions as push
from gatepost.ledger import ledger_step_actions as ledger_steps, topic_rows as topics
from gatepost.ledger.connections import rows as connections
from gatepost.ledger.connections.api import Connection
from gatepost.ledger.topic import LedgerId, LedgerTopic, TopicKind
from gatepost.mail import ledger_delivery, sent_record_rows as outgoing, work_rows as work_items
from gatepost.mail.sent_record import MailData, PostState, SentRecord
from gatepost.mail.work_item import WorkItem, WorkType
from gatepost.stores.row_mapping import fetch_number

#: of a message on Hedera, in US dollars
MESSAGE_PRICE: Final = 0.0008
#: records of one sender that are posted in one go
_MAX_RECORDS: Final = 1_000


class PostTargets(Struct, frozen=True, kw_only=True):
    """A record that is to be posted, and those whom it concerns."""

    record: SentRecord[Any]
    sender: Entity
    #: of mail; None for a broadcast
    recipients: Sequence[Entity] | None
    #: of mail to an agent outside
    connection: Connection | None = None
    #: the name of an agent outside whose connection has ended
    former_peer: str | None = None
    #: of a note and an event
    item: WorkItem | None = None


def find_targets(tx: Reader, id: str) -> PostTargets | None:
    """Return a record with whom it concerns; None if it does not have to be posted any more."""
    record = outgoing.read(tx, id)
    if record is None or record.post is not PostState.UNPOSTED:
        return None
    sender = directory.find(tx, record.sender)
    if not isinstance(record.data, MailData):
        assert record.ref is not None
        item = work_items.find(tx, WorkType(record.ref.type), record.ref.id)
        return PostTargets(record=record, sender=sender, recipients=(), item=item)
    if isinstance(address.parse(record.to), AllAgentsAddress):
        return PostTargets(record=record, sender=sender, recipients=None)
    recipients = list(entities.find_by_names(tx, outgoing.list_recipients(tx, record.number)).values())
    network = ledger_delivery.find_public_network(tx)
    if network is None or len(recipients) != 1 or not connections.is_peer(tx, recipients[0].number):
        # An agent outside that is in a team gets mail to it by its own connection only.
        recipients = [recipient for recipient in recipients if not connections.is_peer(tx, recipient.number)]
        return PostTargets(record=record, sender=sender, recipients=recipients)
    connection = connections.find_open(tx, network, sender.number, recipients[0].number)
    former_peer = recipients[0].name if connection is None else None
    return PostTargets(
        record=record, sender=sender, recipients=recipients, connection=connection, former_peer=former_peer
    )


def list_unposted(tx: Reader, id: str) -> tuple[str, list[str]]:
    """Return the sender of a record, and its records up to this one that are not posted yet, the oldest first."""
    record = outgoing.read(tx, id)
    if record is None:
        return "", []
    sender = directory.find(tx, record.sender)
    return sender.name, outgoing.list_unposted(tx, sender.number, record.number, _MAX_RECORDS)


def finish_post(tx: Transaction, network: str, targets: PostTargets) -> None:
    """Save that a record is on the ledger."""
    outgoing.set_posted(tx, targets.record.number)
    if targets.connection is not None and targets.recipients:
        outgoing.end_recipient(tx, targets.record.number, targets.recipients[0].number)
    ledger_steps.delete_steps(tx, network, targets.record.id)


def fail_post(tx: Transaction, network: str, id: str, reason: str) -> None:
    """Save that a record will never be on the ledger, and tell the administrator."""
    record = outgoing.lock(tx, id)
    if record is None or record.post is not PostState.UNPOSTED:
        return
    outgoing.set_failed(tx, record.number)
    ledger_steps.delete_steps(tx, network, id)
    text = f"{record.kind} {id} of {record.sender} is not on the ledger, and never will be: {reason}"
    ref = Ref("mail", id) if record.kind == MailData.kind else None
    recipients = [directory.ADMINISTRATOR]
    if record.sender != directory.ADMINISTRATOR and directory.find(tx, record.sender).is_live:
        recipients.insert(0, record.sender)
    cause = Ref("agent", record.sender)
    push.push_alerts(
        tx,
        [push.build_alert(to, text, f"ledger:{id}", source="ledger", ref=ref, cause=cause) for to in recipients],
    )


def warn_administrator(tx: Transaction, topic: str, text: str) -> None:
    """Tell the administrator once a day that something keeps the ledger from going on."""
    topic = f"ledger:{topic}:{tx.now // DAY}"
    push.push_alerts(tx, [push.build_alert(directory.ADMINISTRATOR, text, topic, source="ledger")])


def find_account(tx: Reader, network: str, entity: Entity) -> LedgerId | None:
    return topics.find_account(tx, network, entity.number)


def save_account(tx: Transaction, network: str, entity: Entity, account: LedgerId) -> LedgerId:
    """Save the account that was made for an entity; return the one it has."""
    known_account = topics.find_account(tx, network, entity.number)
    if known_account is None:
        topics.insert_account(tx, network, entity.number, account)
    return known_account or account


def find_topic(
    tx: Reader, network: str, kind: TopicKind, *, entity: Entity | None = None, item: WorkItem | None = None, memo: str
) -> LedgerTopic | None:
    """Return a topic of ours by what it is for."""
    match kind:
        case TopicKind.INBOUND | TopicKind.OUTBOUND:
            assert entity is not None
            return topics.find_by_entity(tx, network, entity.number, kind)
        case TopicKind.WORK:
            assert item is not None
            return topics.find_by_work_item(tx, network, item.number)
        case TopicKind.FILE:
            return topics.find_file(tx, network, memo)
        case _:
            return topics.find_single(tx, network, kind)


def save_topic(
    tx: Transaction,
    network: str,
    id: LedgerId,
    kind: TopicKind,
    *,
    memo: str,
    entity: Entity | None = None,
    item: WorkItem | None = None,
) -> LedgerTopic:
    """Save a topic that was made; return the topic that there is."""
    topic = find_topic(tx, network, kind, entity=entity, item=item, memo=memo)
    if topic is None:
        topics.insert(
            tx,
            network,
            id,
            kind,
            memo,
            entity=entity.number if entity else None,
            work_item=item.number if item else None,
        )
        topic = topics.find(tx, network, str(id))
        if item is not None and item.topic is None and not work_items.is_taken(tx, item.type, str(id)):
            work_items.set_topic(tx, item.number, str(id))
    assert topic is not None
    return topic


def count_posted_today(tx: Reader) -> int:
    """Return how many records were posted in the last 24 hours."""
    return fetch_number(tx, "ledger/topics/count_posted", since=tx.now - DAY)
