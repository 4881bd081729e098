"""
What the store keeps of posting to a public ledger.

Everything that is done there is a step with a name of its own, such as `mail_1/0.0.7/1`. A step first stores the id of
its transaction, and the ledger executes a transaction of one id once. So a step that is begun again after a crash, or
by two processes at once, is done once:

    begin_step -> the id is stored -> execute -> finish_step -> the receipt is stored

Only if a transaction was not executed, and never will be, its step gets another id.

The steps of a record are deleted in the transaction that saves that it is posted. One who has seen it unposted before,
and comes late, would begin them anew: no step of a record begins after that. The steps of accounts, topics, connections
and of the last profile stay, so one who comes late gets what there is.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from gatepost.core import address
from gatepost.core.address import AllAgentsAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import Unavailable
from gatepost.inbox.event import Ref
from gatepost.inbox.push import actions as push
from gatepost.ledger import topic_rows as topics
from gatepost.ledger.connections import rows as connections
from gatepost.ledger.connections.api import Connection
from gatepost.ledger.public_ledger import LedgerReceipt, TransactionId
from gatepost.ledger.topic import NANOSECONDS, LedgerId, Topic, TopicKind
from gatepost.mail import ledger_delivery, mail_rows as posts, work_rows as work_items
from gatepost.mail.mail_rows import Post
from gatepost.mail.sent_mail import PostState
from gatepost.mail.work_item import WorkItem, WorkType

#: of a message on Hedera, in US dollars
MESSAGE_PRICE: Final = 0.0008
#: a transaction is valid from a little earlier, because the clocks of the nodes differ
_START_OFFSET: Final = 5 * NANOSECONDS
_MICROSECOND: Final = 1_000
#: records of one sender that are posted in one go
_MAX_RECORDS: Final = 1_000


def begin_step(tx: Transaction, network: str, step: str, payer: LedgerId) -> tuple[TransactionId, LedgerReceipt | None]:
    """Return the id of the transaction of a step, and the receipt if it is done; store a new id if it has none."""
    known = topics.read_step(tx, network, step)
    if known is None:
        record = posts.lock_post(tx, step.partition("/")[0])
        if record is not None and record.post is not PostState.UNPOSTED:
            raise Unavailable(f"{record.kind} {record.id} was just posted by another process")
        id = topics.take_transaction_id(tx, network, payer, tx.now * _MICROSECOND - _START_OFFSET)
        if topics.insert_step(tx, network, step, id):
            return id, None
        known = topics.read_step(tx, network, step)
        if known is None:
            raise Unavailable(f"the step {step!r} was just finished by another process")
    id, receipt = known
    return id, msgspec.json.decode(receipt, type=LedgerReceipt) if receipt is not None else None


def renew_step(tx: Transaction, network: str, step: str, old_id: TransactionId) -> TransactionId:
    """
    Give a step another id, because its transaction was not executed and never will be; return the id it has now. Raise
    Unavailable if what the step was for is done: another process has finished it.
    """
    id = topics.take_transaction_id(tx, network, old_id.payer, tx.now * _MICROSECOND - _START_OFFSET)
    if topics.replace_step(tx, network, step, old_id, id):
        return id
    known = topics.read_step(tx, network, step)
    if known is None:
        raise Unavailable(f"the step {step!r} was just finished by another process")
    return known[0]


def finish_step(tx: Transaction, network: str, step: str, id: TransactionId, receipt: LedgerReceipt) -> None:
    """Store the receipt of a step."""
    topics.finish_step(tx, network, step, id, msgspec.json.encode(receipt).decode())


class PostTargets(Struct, frozen=True, kw_only=True):
    """A record that is to be posted, and those whom it concerns."""

    post: Post
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
    post = posts.read_post(tx, id)
    if post is None or post.post is not PostState.UNPOSTED:
        return None
    sender = directory.find(tx, post.sender)
    if post.kind != "mail":
        assert post.ref_type is not None
        item = work_items.find(tx, WorkType(post.ref_type), post.ref_id or "")
        return PostTargets(post=post, sender=sender, recipients=(), item=item)
    if isinstance(address.parse(post.targets[0]), AllAgentsAddress):
        return PostTargets(post=post, sender=sender, recipients=None)
    recipients = list(entities.find_by_names(tx, posts.list_recipients(tx, post.number)).values())
    network = ledger_delivery.find_public_network(tx)
    if network is None or len(recipients) != 1 or not connections.is_peer(tx, recipients[0].number):
        # An agent outside that is in a team gets mail to it by its own connection only.
        recipients = [recipient for recipient in recipients if not connections.is_peer(tx, recipient.number)]
        return PostTargets(post=post, sender=sender, recipients=recipients)
    connection = connections.find_open(tx, network, sender.number, recipients[0].number)
    former_peer = recipients[0].name if connection is None else None
    return PostTargets(post=post, sender=sender, recipients=recipients, connection=connection, former_peer=former_peer)


def list_unposted(tx: Reader, id: str) -> tuple[str, list[str]]:
    """Return the sender of a record, and its records up to this one that are not posted yet, the oldest first."""
    post = posts.read_post(tx, id)
    if post is None:
        return "", []
    sender = directory.find(tx, post.sender)
    return sender.name, posts.list_unposted(tx, sender.number, post.number, _MAX_RECORDS)


def finish_post(tx: Transaction, network: str, targets: PostTargets) -> None:
    """Save that a record is on the ledger."""
    posts.set_posted(tx, targets.post.number)
    if targets.connection is not None and targets.recipients:
        posts.end_recipient(tx, targets.post.number, targets.recipients[0].number)
    topics.delete_steps(tx, network, targets.post.id)


def fail_post(tx: Transaction, network: str, id: str, reason: str) -> None:
    """Save that a record will never be on the ledger, and tell the administrator."""
    post = posts.lock_post(tx, id)
    if post is None or post.post is not PostState.UNPOSTED:
        return
    posts.set_failed(tx, post.number)
    topics.delete_steps(tx, network, id)
    text = f"{post.kind} {id} of {post.sender} is not on the ledger, and never will be: {reason}"
    ref = Ref("mail", id) if post.kind == "mail" else None
    if post.sender != directory.ADMINISTRATOR and directory.find(tx, post.sender).is_live:
        alert = push.build_alert(post.sender, text, f"ledger:{id}", source="ledger", ref=ref)
        push.push_alerts(tx, [alert])
    push.push_alerts(tx, [push.build_alert(directory.ADMINISTRATOR, text, f"ledger:{id}", source="ledger", ref=ref)])


def warn_administrator(tx: Transaction, topic: str, text: str) -> None:
    """Tell the administrator once a day that something keeps the ledger from going on."""
    topic = f"ledger:{topic}:{tx.now // DAY}"
    push.push_alerts(tx, [push.build_alert(directory.ADMINISTRATOR, text, topic, source="ledger")])


def find_account(tx: Reader, network: str, entity: Entity) -> LedgerId | None:
    return topics.find_account(tx, network, entity.number)


def save_account(tx: Transaction, network: str, entity: Entity, account: LedgerId) -> LedgerId:
    """Save the account that was made for an entity; return the one it has."""
    known = topics.find_account(tx, network, entity.number)
    if known is None:
        topics.insert_account(tx, network, entity.number, account)
    return known or account


def find_topic(
    tx: Reader, network: str, kind: TopicKind, *, entity: Entity | None = None, item: WorkItem | None = None, memo: str
) -> Topic | None:
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
) -> Topic:
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
    return topics.count_posted(tx, tx.now - DAY)
