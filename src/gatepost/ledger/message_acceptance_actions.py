"""
Decide which messages of a public ledger count, and do what they say: who may say what depends on the kind of topic.

    inbound, broadcast  mail of our entities; a request of an agent outside for a connection
    work                notes and events of our entities
    connection          what an agent outside says, and that it ends the connection
    peer                the answer of an agent outside to a request of ours

Everybody can post to most topics. On inbound, broadcast and work topics a message counts only if its payer is the
account of one of our entities, and is the one that the message itself names; agents outside are heard on connection
topics, and may ask for a connection.

A message of ours is known by its uid: it is delivered now, if it waited for the ledger. Another one, that a program
has posted with the key of an entity, becomes an item of its own, in the name of that entity. Both have the dedup key
that the sender's own transaction would use, so nothing is delivered twice.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid
from gatepost.inbox.event import EventType, Priority, Push, Ref, Trust
from gatepost.inbox.push import actions as push
from gatepost.ledger import message_decoding, topic_rows as topics
from gatepost.ledger.connections import actions as connections, rows as connection_rows
from gatepost.ledger.connections.api import Connection, ConnectionState
from gatepost.ledger.hcs import hcs10_messages as hcs10, hcs10_operations
from gatepost.ledger.hcs.hcs10_operations import (
    CloseConnectionOperation,
    ConnectionCreated,
    ConnectionRequest,
    MessageOperation,
)
from gatepost.ledger.topic import NANOSECONDS, LedgerId, LedgerTopic, TopicKind, TopicMessage
from gatepost.mail import mail_actions as mail, sent_record_rows as outgoing, work_actions as work
from gatepost.mail.sent_record import MailData, SentRecord
from gatepost.mail.work_item import EventData, NoteData

_HOUR: Final = 3_600 * NANOSECONDS
_MICROSECOND: Final = 1_000
_DIGEST_PREFIX: Final = "sha384:"

#: the content of a file, or why it cannot be read
FileRead = bytes | Invalid


class FileMissing(Exception):
    """The content of a message is in a file that was not read yet."""

    def __init__(self, file: LedgerId) -> None:
        super().__init__(str(file))
        self.file = file


class MessageRefused(Exception):
    """A message does not count; the text says why."""


def read_message(
    tx: Transaction, topic: LedgerTopic, message: TopicMessage, files: Mapping[LedgerId, FileRead]
) -> int | None:
    """Do what a message with its whole content says; return the number of our record of it, if there is one."""
    match topic.kind:
        case TopicKind.WORK:
            return _take_work_post(tx, topic, message, files)
        case TopicKind.INBOUND | TopicKind.BROADCAST:
            return _take_inbound(tx, topic, message, files)
        case TopicKind.CONNECTION:
            return _take_from_peer(tx, topic, message, files)
        case TopicKind.PEER:
            _take_answer(tx, topic, message)
            return None
        case _:
            return None


def _take_inbound(
    tx: Transaction, topic: LedgerTopic, message: TopicMessage, files: Mapping[LedgerId, FileRead]
) -> int | None:
    operation = hcs10_operations.parse_operation(message.content)
    match operation:
        case MessageOperation():
            sender = _find_sender(tx, topic.network, message, operation.operator_id.account)
            return _take_mail(tx, topic, message, operation, sender, files)
        case ConnectionRequest() if topic.kind is TopicKind.INBOUND:
            if operation.operator_id.account != message.payer:
                raise MessageRefused(
                    f"it names account {operation.operator_id.account}, and {message.payer} has paid for it"
                )
            reason = connections.record_request(tx, topic, message.sequence, operation.operator_id, operation.note)
            if reason is not None:
                raise MessageRefused(reason)
            return None
        case ConnectionCreated() if topic.kind is TopicKind.INBOUND:
            _find_sender(tx, topic.network, message, operation.operator_id.account)  # an answer of our own
            return None
        case _:
            raise MessageRefused("it is not an operation for this topic")


def _find_sender(tx: Reader, network: str, message: TopicMessage, account: LedgerId) -> Entity:
    """Return the entity that has posted a message; refuse a stranger, and one who names another."""
    sender = topics.find_account_owner(tx, network, message.payer)
    if sender is None:
        raise MessageRefused(f"account {message.payer}, which has paid for it, is not one of ours")
    if account != message.payer:
        raise MessageRefused(f"it names account {account}, and {message.payer} has paid for it")
    return sender


def _check_live(sender: Entity) -> None:
    """Refuse what an entity that has retired posts; what it has sent before is a record of ours."""
    if not sender.is_live:
        raise MessageRefused(f"{sender.name} is retired")


def _take_mail(
    tx: Transaction,
    topic: LedgerTopic,
    message: TopicMessage,
    operation: MessageOperation,
    sender: Entity,
    files: Mapping[LedgerId, FileRead],
) -> int | None:
    data = message_decoding.parse_mail_data(_resolve_data(operation.data, files))
    record = _find_record(tx, data.uid, sender, MailData.kind)
    is_addressee = record is not None and (
        topic.kind is TopicKind.BROADCAST or topic.entity in outgoing.list_recipients(tx, record.number)
    )
    if record is not None and is_addressee:
        mail.deliver(tx, record.id)
        return record.number
    _check_live(sender)
    if data.sha384 is not None:
        raise MessageRefused("only the hash of its content was posted, and the content is not here")
    to = "ALL" if topic.kind is TopicKind.BROADCAST else topic.entity
    assert to is not None
    if to == sender.name:
        raise MessageRefused(f"{sender.name} has sent it to itself")
    key = f"mail:{sender.name}:{data.uid or f'{topic.id}:{message.sequence}'}"
    push.push_event(tx, _build_push(data, to, sender, key, message))
    return None


def _resolve_data(data: str | Mapping[str, Json], files: Mapping[LedgerId, FileRead]) -> str | Mapping[str, Json]:
    return _resolve_text(data, files) if isinstance(data, str) else data


def _find_record(tx: Reader, uid: str | None, sender: Entity, kind: str) -> SentRecord[Any] | None:
    """Return our record of what an entity has posted; None if another program has posted it."""
    record = outgoing.read(tx, uid) if uid is not None else None
    if record is None or record.sender != sender.name or record.kind != kind:
        return None
    return record


def _build_push(data: MailData, to: str, sender: Entity, key: str, message: TopicMessage) -> Push:
    details: dict[str, Json] = {
        "messageType": data.message_type,
        "payload": data.payload if set(data.payload) - {"text"} else None,
        "context": data.context,
    }
    if not data.text.strip() and not data.subject:
        raise MessageRefused("it is empty")
    return Push(
        to=to,
        type=EventType.MAIL,
        source="ledger",
        sender=sender.name,
        subject=data.subject,
        content=data.text,
        data={name: value for name, value in details.items() if value is not None},
        priority=data.priority,
        dedup_key=key,
        source_time=message.timestamp // _MICROSECOND,
        ref=Ref(data.ref_type, data.ref_id) if data.ref_type and data.ref_id else None,
    )


def _resolve_text(text: str, files: Mapping[LedgerId, FileRead]) -> str:
    """Return a text, or the content of the file that it refers to."""
    file = hcs10.find_reference(text)
    if file is None:
        return text
    content = files.get(file)
    if content is None:
        raise FileMissing(file)
    if isinstance(content, Invalid):
        raise MessageRefused(f"its file {file} cannot be read: {content.message}")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise MessageRefused(f"its file {file} is not text") from None


def _take_work_post(
    tx: Transaction, topic: LedgerTopic, message: TopicMessage, files: Mapping[LedgerId, FileRead]
) -> int | None:
    post = message_decoding.parse_work_post(message.content)
    author = directory.find_or_none(tx, post.from_agent)
    payer = topics.find_account(tx, topic.network, author.number) if author is not None else None
    sender = _find_sender(tx, topic.network, message, payer or message.payer)
    if author is None or sender.number != author.number:
        raise MessageRefused(f"it is from {post.from_agent!r}, and the account of {sender.name!r} has paid for it")
    assert topic.item is not None
    item_type, _, event = post.type.partition(".")
    if item_type != topic.item.type:
        raise MessageRefused(f"it is about a {item_type}, and the topic is that of a {topic.item.type}")
    record = _find_record(tx, post.uid, sender, post.kind)
    if record is not None:
        return record.number
    _check_live(sender)
    key = post.uid or f"{topic.id}:{message.sequence}"
    if outgoing.has_work(tx, sender.number, key):
        raise MessageRefused("it was posted before")
    text = _resolve_text(post.note if isinstance(post, NoteData) else post.reason, files)
    if text.startswith(_DIGEST_PREFIX):
        raise MessageRefused("only the hash of its content was posted, and the content is not here")
    match post:
        case NoteData():
            known_addresses = [target for target in post.notify if work.is_known(tx, target)]
            note = work.post_note(
                tx, topic.item, text, by=sender, notify=known_addresses, priority=post.priority, ledger_key=key
            )
            return note.number
        case EventData():
            return work.post_event(tx, topic.item, event, reason=text, by=sender, ledger_key=key).number


def _take_from_peer(
    tx: Transaction, topic: LedgerTopic, message: TopicMessage, files: Mapping[LedgerId, FileRead]
) -> int | None:
    connection = connection_rows.find_by_topic(tx, topic.number)
    assert connection is not None
    operation = hcs10_operations.parse_operation(message.content)
    if str(message.payer) != connection.peer_account:
        sender = topics.find_account_owner(tx, topic.network, message.payer)
        if sender is None or sender.name != connection.entity:
            raise MessageRefused(f"account {message.payer}, which has paid for it, is not of this connection")
        return _find_own_record(tx, operation, sender, files)
    if isinstance(operation, CloseConnectionOperation):
        connections.end_connection(tx, connection, operation.reason[:200], trust=Trust.EXTERNAL)
        return None
    if not isinstance(operation, MessageOperation):
        raise MessageRefused("it is not an operation for this topic")
    if connection.state is not ConnectionState.OPEN:
        raise MessageRefused(f"the connection is {connection.state}")
    _take_foreign_mail(tx, topic, message, operation, connection, files)
    return None


def _find_own_record(
    tx: Reader, operation: hcs10_operations.Operation, sender: Entity, files: Mapping[LedgerId, FileRead]
) -> int | None:
    """Return the number of our record of mail to an agent outside."""
    if not isinstance(operation, MessageOperation):
        return None
    data = message_decoding.parse_mail_data(_resolve_data(operation.data, files))
    record = _find_record(tx, data.uid, sender, MailData.kind)
    return record.number if record is not None else None


def _take_foreign_mail(
    tx: Transaction,
    topic: LedgerTopic,
    message: TopicMessage,
    operation: MessageOperation,
    connection: Connection,
    files: Mapping[LedgerId, FileRead],
) -> None:
    """Put what an agent outside says into the inbox of the entity that it is connected with."""
    entity = directory.find(tx, connection.entity)
    if not entity.is_live:
        raise MessageRefused(f"{entity.name} is retired")
    hour = message.timestamp // _HOUR
    if connection_rows.read_message_count(tx, connection.number, hour) >= tx.policy.ledger_hourly:
        raise MessageRefused(f"{tx.policy.ledger_hourly} messages in an hour are the limit for an agent outside")
    text = _resolve_data(operation.data, files)
    tx.execute_later("ledger/connections/count_message", number=connection.number, hour=hour)
    assert connection.peer is not None
    peer = directory.find(tx, connection.peer)
    data = message_decoding.parse_mail_data(text)
    if data.sha384 is not None:
        raise MessageRefused("only the hash of its content was posted, and the content is not here")
    key = f"mail:{peer.name}:{data.uid or f'{topic.id}:{message.sequence}'}"
    request = _build_push(data, entity.name, peer, key, message)
    push.push_event(tx, replace(request, trust=Trust.EXTERNAL, priority=max(data.priority, Priority.NORMAL)))


def _take_answer(tx: Transaction, topic: LedgerTopic, message: TopicMessage) -> None:
    """Take note of the requests that an agent outside has accepted; all else in its topic is not for us."""
    try:
        operation = hcs10_operations.parse_operation(message.content)
    except Invalid:
        return
    if not isinstance(operation, ConnectionCreated) or operation.operator_id.account != message.payer:
        return
    for connection in connection_rows.list_requested(tx, topic.network, topic.id):
        account = topics.find_account(tx, topic.network, directory.find(tx, connection.entity).number)
        if (connection.peer_account, connection.request, account) == (
            str(message.payer),
            operation.request,
            operation.requester,
        ):
            connections.check_answer(tx, connection, operation.connection)


def find_stranger(tx: Reader, topic: LedgerTopic, message: TopicMessage) -> str | None:
    """Return why a chunk can be refused before the others are there: a stranger has posted it. None if not."""
    is_ours_alone = topic.kind in (TopicKind.INBOUND, TopicKind.BROADCAST, TopicKind.WORK)
    if not is_ours_alone or topics.find_account_owner(tx, topic.network, message.payer) is not None:
        return None
    return f"account {message.payer}, which has paid for it, is not one of ours"
