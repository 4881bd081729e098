"""Topics of ledgers, their messages, and the accounts of entities. A network is `local`, or one of Hedera."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from gatepost.core.ports import Reader, Row, Transaction
from gatepost.directory.entity import Entity
from gatepost.directory.entity_rows import ENTITY
from gatepost.errors import Invalid
from gatepost.inbox.event import Ref
from gatepost.ledger.running_hash import GENESIS_HASH, HASH_LENGTH
from gatepost.ledger.topic import Chunk, LedgerId, LedgerTopic, TopicKind, TopicMessage
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, zip_columns

_TOPIC: Final = Mapper(LedgerTopic, without="item")
_MESSAGE_COLUMNS: Final = (
    "topic sequence timestamp payer content running_hash chunk_transaction chunk_number chunk_total outgoing refused"
)


class NewMessage(NamedTuple):
    message: TopicMessage
    #: the number of the record that it is of
    outgoing: int | None = None
    #: why it does not count
    refused: str | None = None


class StoredMessage(NamedTuple):
    message: TopicMessage
    #: why it does not count
    refused: str | None
    #: the data of the record that it is of
    record: str | None


def take_id(tx: Transaction) -> LedgerId:
    """Return a new id of the local ledger."""
    return LedgerId(0, 0, fetch_number(tx, "ledger/topics/take_number"))


def find_account(tx: Reader, network: str, entity: int) -> LedgerId | None:
    row = tx.fetch_one("ledger/topics/find_account", network=network, entity=entity)
    return LedgerId.parse(row.account) if row else None


def find_accounts(tx: Reader, network: str, entities: Iterable[int]) -> dict[int, LedgerId]:
    rows = tx.fetch_all("ledger/topics/find_accounts", network=network, entities=sorted(entities))
    return {row.entity: LedgerId.parse(row.account) for row in rows}


def find_account_owner(tx: Reader, network: str, account: LedgerId) -> Entity | None:
    return ENTITY.fetch_one(tx, "ledger/topics/find_account_owner", network=network, account=str(account))


def insert_account(tx: Transaction, network: str, entity: int, account: LedgerId) -> None:
    tx.execute_later("ledger/topics/insert_account", network=network, entity=entity, account=str(account), now=tx.now)


def read_profile(tx: Reader, network: str, entity: int) -> tuple[str | None, str | None]:
    """Return the profile that was published last, as JSON, and the topic of its file."""
    row = tx.fetch_one("ledger/topics/read_profile", network=network, entity=entity)
    return (row.profile, row.profile_topic) if row else (None, None)


def save_profile(tx: Transaction, network: str, entity: int, profile: str, topic: str | None) -> None:
    tx.execute_later("ledger/topics/save_profile", network=network, entity=entity, profile=profile, profile_topic=topic)


def lock_creation(tx: Transaction) -> None:
    """Keep others from making accounts and topics until the commit."""
    tx.execute_later("ledger/topics/lock_creation")


def insert(
    tx: Transaction,
    network: str,
    id: LedgerId,
    kind: TopicKind,
    memo: str,
    *,
    entity: int | None = None,
    work_item: int | None = None,
    after: int = 0,
) -> None:
    """Insert a topic; its messages up to the number `after` are not read."""
    tx.execute_later(
        "ledger/topics/insert",
        last_sequence=after,
        network=network,
        id=str(id),
        kind=kind,
        memo=memo,
        entity=entity,
        work_item=work_item,
        running_hash=_encode(GENESIS_HASH),
        now=tx.now,
    )


def find_by_number(tx: Reader, number: int) -> LedgerTopic:
    topic = _build(tx.fetch_one("ledger/topics/find_by_number", number=number))
    assert topic is not None
    return topic


def find(tx: Reader, network: str, id: str) -> LedgerTopic | None:
    return _build(tx.fetch_one("ledger/topics/find", network=network, id=id))


def find_by_entity(tx: Reader, network: str, entity: int, kind: TopicKind) -> LedgerTopic | None:
    """Return the inbound or the outbound topic of an entity."""
    return _build(tx.fetch_one("ledger/topics/find_by_entity", network=network, entity=entity, kind=kind))


def find_by_work_item(tx: Reader, network: str, work_item: int) -> LedgerTopic | None:
    return _build(tx.fetch_one("ledger/topics/find_by_work_item", network=network, work_item=work_item))


def find_single(tx: Reader, network: str, kind: TopicKind) -> LedgerTopic | None:
    """Return the topic of a kind of which a ledger has one: the broadcast topic, or that of the definitions."""
    return _build(tx.fetch_one("ledger/topics/find_by_kind", network=network, kind=kind))


def find_file(tx: Reader, network: str, memo: str) -> LedgerTopic | None:
    return _build(tx.fetch_one("ledger/topics/find_by_memo", network=network, memo=memo))


def lock(tx: Transaction, number: int) -> tuple[int, int, bytes]:
    """Lock a topic until the commit; return the sequence, the timestamp and the running hash of its last message."""
    row = fetch_row(tx, "ledger/topics/lock", number=number)
    return row.last_sequence, row.last_timestamp, decode_hash(row.running_hash)


def append(tx: Transaction, topic: LedgerTopic, messages: Sequence[NewMessage]) -> None:
    """Store messages that follow the last one of a topic that is locked."""
    rows = [
        (
            topic.number,
            message.sequence,
            message.timestamp,
            str(message.payer),
            _encode(message.content),
            _encode(message.running_hash),
            message.chunk.transaction if message.chunk else None,
            message.chunk.number if message.chunk else None,
            message.chunk.total if message.chunk else None,
            outgoing,
            refused,
        )
        for message, outgoing, refused in messages
    ]
    tx.execute_many_later("ledger/topics/insert_messages", zip_columns(_MESSAGE_COLUMNS, rows))
    advance(tx, topic, messages[-1].message)


def advance(tx: Transaction, topic: LedgerTopic, last: TopicMessage) -> None:
    """Save which message of a topic is the last one."""
    tx.execute_later(
        "ledger/topics/advance",
        number=topic.number,
        sequence=last.sequence,
        timestamp=last.timestamp,
        running_hash=_encode(last.running_hash),
    )


def build_topics(rows: Sequence[Row]) -> list[LedgerTopic]:
    return [topic for row in rows if (topic := _build(row)) is not None]


def list_messages(
    tx: Reader, topic: LedgerTopic, *, refused_only: bool = False, after: int, limit: int
) -> list[StoredMessage]:
    """Return messages of a topic in their order; with `refused_only`, those that do not count."""
    rows = tx.fetch_page(
        "ledger/topics/list_messages", topic=topic.number, refused_only=refused_only, after=after, limit=limit
    )
    return [StoredMessage(_build_message(topic.ledger_id, row), row.refused, row.outgoing_data) for row in rows]


def list_chunks(tx: Reader, topic: LedgerTopic, transaction: str, *, limit: int) -> list[StoredMessage]:
    """Return the chunks of a message that are here, in the order of the topic."""
    rows = tx.fetch_all("ledger/topics/list_chunks", topic=topic.number, transaction=transaction, limit=limit)
    return [StoredMessage(_build_message(topic.ledger_id, row), row.refused, None) for row in rows]


def _build(row: Row | None) -> LedgerTopic | None:
    if row is None:
        return None
    return _TOPIC.read(row, item=Ref(row.item_type, row.item_id) if row.item_type else None)


def _build_message(topic: LedgerId, row: Row) -> TopicMessage:
    """Return a message as it is stored. What somebody has damaged is not refused: its running hash does not match."""
    has_chunk = row.chunk_transaction is not None
    return TopicMessage(
        topic=topic,
        sequence=row.sequence,
        timestamp=row.timestamp,
        payer=_read_payer(row.payer),
        content=_read_bytes(row.content),
        running_hash=_read_bytes(row.running_hash),
        chunk=Chunk(row.chunk_transaction, row.chunk_number, row.chunk_total) if has_chunk else None,
    )


def _read_payer(text: str) -> LedgerId:
    try:
        return LedgerId.parse(text)
    except Invalid:
        return LedgerId(0, 0, 0)  # nobody


def _read_bytes(text: str) -> bytes:
    try:
        return decode(text)
    except ValueError:
        return text.encode()


def check_id(text: str) -> None:
    """Raise an error if a text is not an id of the local ledger."""
    id = LedgerId.parse(text)
    if (id.shard, id.realm) != (0, 0):
        raise ValueError(f"{text} is not an id of this ledger")


def decode(text: str) -> bytes:
    """Return the content of a column of base64; raise ValueError if it is none."""
    return b64decode(text, validate=True)


def decode_hash(text: str) -> bytes:
    """Return the running hash of a column; raise ValueError if it is none."""
    running_hash = decode(text)
    if len(running_hash) != HASH_LENGTH:
        raise ValueError(f"a running hash has {HASH_LENGTH} bytes")
    return running_hash


def _encode(content: bytes) -> str:
    return b64encode(content).decode()
