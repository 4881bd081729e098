"""Topics of the local ledger, their messages, and the accounts of entities."""

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Final

from gatepost.core.event import Ref
from gatepost.core.ledger import GENESIS_HASH, HASH_LENGTH, Chunk, LedgerId, Topic, TopicKind, TopicMessage
from gatepost.ports import Reader, Row, Transaction
from gatepost.tables.rows import Mapper, fetch_number, fetch_row, zip_columns

_TOPIC: Final = Mapper(Topic, without="item")
_MESSAGE_COLUMNS: Final = (
    "topic sequence timestamp payer content running_hash chunk_transaction chunk_number chunk_total outgoing"
)


def take_id(tx: Transaction) -> LedgerId:
    """Return a new id of the local ledger."""
    return LedgerId(0, 0, fetch_number(tx, "topics/take_number"))


def find_account(tx: Reader, entity: int) -> LedgerId | None:
    row = tx.fetch_one("topics/find_account", entity=entity)
    return LedgerId.parse(row.account) if row else None


def insert_account(tx: Transaction, entity: int, account: LedgerId) -> None:
    tx.execute("topics/insert_account", entity=entity, account=str(account), now=tx.now)


def lock_creation(tx: Transaction) -> None:
    """Keep others from making accounts and topics until the commit."""
    tx.execute("topics/lock_creation")


def insert(
    tx: Transaction,
    id: LedgerId,
    kind: TopicKind,
    memo: str,
    *,
    entity: int | None = None,
    work_item: int | None = None,
) -> None:
    tx.execute(
        "topics/insert",
        id=str(id),
        kind=kind,
        memo=memo,
        entity=entity,
        work_item=work_item,
        running_hash=_encode(GENESIS_HASH),
        now=tx.now,
    )


def find(tx: Reader, id: str) -> Topic | None:
    return _build(tx.fetch_one("topics/find", id=id))


def find_by_entity(tx: Reader, entity: int, kind: TopicKind) -> Topic | None:
    return _build(tx.fetch_one("topics/find_by_entity", entity=entity, kind=kind))


def find_by_work_item(tx: Reader, work_item: int) -> Topic | None:
    return _build(tx.fetch_one("topics/find_by_work_item", work_item=work_item))


def find_broadcast(tx: Reader) -> Topic | None:
    return _build(tx.fetch_one("topics/find_by_kind", kind=TopicKind.BROADCAST))


def find_file(tx: Reader, memo: str) -> Topic | None:
    return _build(tx.fetch_one("topics/find_by_memo", memo=memo))


def lock(tx: Transaction, number: int) -> tuple[int, int, bytes]:
    """Lock a topic until the commit; return the sequence, the timestamp and the running hash of its last message."""
    row = fetch_row(tx, "topics/lock", number=number)
    return row.last_sequence, row.last_timestamp, decode_hash(row.running_hash)


def append(tx: Transaction, topic: Topic, messages: Sequence[TopicMessage], outgoing: int | None) -> None:
    """Store messages that follow the last one of a topic that is locked; `outgoing` is the record that they are of."""
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
        )
        for message in messages
    ]
    tx.execute_many("topics/insert_messages", zip_columns(_MESSAGE_COLUMNS, rows))
    last = messages[-1]
    tx.execute(
        "topics/advance",
        number=topic.number,
        sequence=last.sequence,
        timestamp=last.timestamp,
        running_hash=_encode(last.running_hash),
    )


def list_page(tx: Reader, *, kind: TopicKind | None, viewer: int | None, after: int, limit: int) -> list[Topic]:
    """Return topics in the order in which they were made; with a viewer, only its own and those of everybody."""
    rows = tx.fetch_page("topics/list_page", kind=kind, viewer=viewer, after=after, limit=limit)
    return [topic for row in rows if (topic := _build(row)) is not None]


def list_messages(tx: Reader, topic: Topic, *, after: int, limit: int) -> list[tuple[TopicMessage, str | None]]:
    """Return messages of a topic in their order, each with the data of the record that it is of."""
    rows = tx.fetch_page("topics/list_messages", topic=topic.number, after=after, limit=limit)
    return [(_build_message(topic.ledger_id, row), row.outgoing_data) for row in rows]


def _build(row: Row | None) -> Topic | None:
    if row is None:
        return None
    return _TOPIC.read(row, item=Ref(row.item_type, row.item_id) if row.item_type else None)


def _build_message(topic: LedgerId, row: Row) -> TopicMessage:
    has_chunk = row.chunk_transaction is not None
    return TopicMessage(
        topic=topic,
        sequence=row.sequence,
        timestamp=row.timestamp,
        payer=LedgerId.parse(row.payer),
        content=decode(row.content),
        running_hash=decode_hash(row.running_hash),
        chunk=Chunk(row.chunk_transaction, row.chunk_number, row.chunk_total) if has_chunk else None,
    )


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
