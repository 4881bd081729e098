"""
Take in the messages that were read from a public ledger, in the order of their topic.

Messages that are missing, running hashes that do not match, and chunks are the matter of this file;
`message_acceptance_actions.py` decides whether a message counts, and does what it says. Whatever does not count is
stored with the reason. One transaction stores messages, delivers what they say, and saves how far the topic was read.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import MINUTE
from gatepost.errors import GatepostError, Unavailable
from gatepost.ledger import message_acceptance_actions as acceptance, topic_rows as topics
from gatepost.ledger.message_acceptance_actions import FileMissing, FileRead, MessageRefused
from gatepost.ledger.running_hash import GENESIS_HASH, compute_running_hash
from gatepost.ledger.topic import HASH_VERSION, LedgerId, LedgerTopic, TopicKind, TopicMessage
from gatepost.ledger.topic_rows import NewMessage

#: chunks of one message; a longer one does not count
MAX_CHUNKS: Final = 64
#: how long the topic of a connection is read after its end: our own last message is there
_END_LENGTH: Final = 10 * MINUTE


class TopicProgress(Struct, frozen=True, kw_only=True):
    #: the number of the last message that is in the store
    sequence: int
    #: whether the next message is missing among those that were read
    has_gap: bool = False
    #: a file that has to be read before the next message can be taken in
    missing_file: LedgerId | None = None


def list_topics(tx: Reader, network: str, kinds: Sequence[TopicKind], *, after: int, limit: int) -> list[LedgerTopic]:
    """Return the topics to read, in the order in which they were made, without those of connections that are over."""
    filters = {"network": network, "kinds": list(kinds), "since": tx.now - _END_LENGTH, "after": after, "limit": limit}
    return topics.build_topics(tx.fetch_all("ledger/topics/list_kinds", **filters))


def take_messages(
    tx: Transaction,
    topic_number: int,
    messages: Sequence[TopicMessage],
    files: Mapping[LedgerId, FileRead],
    *,
    skip_gap: bool = False,
) -> TopicProgress:
    """
    Store the messages that follow the last one of a topic, and do what they say. Messages that are here already are
    passed over. It ends before a gap, unless it is to be skipped, and before a message whose file was not read.
    """
    last_sequence, last_timestamp, last_hash = topics.lock(tx, topic_number)
    topic = topics.find_by_number(tx, topic_number)
    new_messages: list[NewMessage] = []
    progress = TopicProgress(sequence=last_sequence)
    for message in sorted(messages, key=lambda message: message.sequence):
        if message.topic != topic.ledger_id or message.sequence <= last_sequence:
            continue
        if message.sequence != last_sequence + 1 and not skip_gap:
            progress = TopicProgress(sequence=last_sequence, has_gap=True)
            break
        is_next = message.sequence == last_sequence + 1
        previous_hash = last_hash if is_next and (last_sequence == 0 or last_hash != GENESIS_HASH) else None
        try:
            fault = _find_fault(message, previous_hash, last_timestamp)
            new_message = NewMessage(message, None, fault) if fault else _take(tx, topic, message, new_messages, files)
        except FileMissing as missing:
            progress = TopicProgress(sequence=last_sequence, missing_file=missing.file)
            break
        new_messages.append(new_message)
        last_sequence, last_timestamp, last_hash = message.sequence, message.timestamp, message.running_hash
        progress = TopicProgress(sequence=last_sequence)
    if new_messages and topic.kind is TopicKind.PEER:  # others write to each other there
        topics.advance(tx, topic, new_messages[-1].message)
    elif new_messages:
        topics.append(tx, topic, new_messages)
    return progress


def _find_fault(message: TopicMessage, previous_hash: bytes | None, last_timestamp: int) -> str | None:
    """Return why a message cannot be what is on the ledger; None if it may be. Without a hash before it, it may be."""
    if message.version != HASH_VERSION:
        return f"its running hash has version {message.version}, and only {HASH_VERSION} can be checked"
    if message.timestamp <= last_timestamp:
        return "it is not later than the message before it"
    if previous_hash is not None and compute_running_hash(message, previous_hash) != message.running_hash:
        return "its running hash does not match"
    return None


def _take(
    tx: Transaction,
    topic: LedgerTopic,
    message: TopicMessage,
    earlier_messages: Sequence[NewMessage],
    files: Mapping[LedgerId, FileRead],
) -> NewMessage:
    """Do what a message says; return it as it is to be stored."""
    try:
        is_chunk = message.chunk is not None and message.chunk.total > 1
        if is_chunk and (reason := acceptance.find_stranger(tx, topic, message)) is not None:
            return NewMessage(message, None, reason)
        content = _join_chunks(tx, topic, message, earlier_messages)
        if content is None:
            return NewMessage(message)
        return NewMessage(message, acceptance.read_message(tx, topic, replace(message, content=content), files))
    except Unavailable:
        raise
    except (MessageRefused, GatepostError) as error:
        return NewMessage(message, None, error.message if isinstance(error, GatepostError) else str(error))


def _join_chunks(
    tx: Transaction, topic: LedgerTopic, message: TopicMessage, earlier_messages: Sequence[NewMessage]
) -> bytes | None:
    """Return the content of a message; of a chunk, that of all chunks if it is the last one to come, else None."""
    chunk = message.chunk
    if chunk is None or chunk.total == 1:
        return message.content
    if chunk.total > MAX_CHUNKS:
        raise MessageRefused(f"it has {chunk.total} chunks, over the limit of {MAX_CHUNKS}")
    stored_messages = topics.list_chunks(tx, topic, chunk.transaction, limit=2 * MAX_CHUNKS)
    others = [stored.message for stored in stored_messages if stored.refused is None]
    others += [earlier.message for earlier in earlier_messages if earlier.refused is None]
    parts = {
        other.chunk.number: other.content
        for other in others
        if other.chunk is not None
        and (other.chunk.transaction, other.chunk.total, other.payer) == (chunk.transaction, chunk.total, message.payer)
    }
    if chunk.number in parts:
        raise MessageRefused(f"chunk {chunk.number} is there already")
    parts[chunk.number] = message.content
    if len(parts) < chunk.total:
        return None
    return b"".join(parts[number] for number in range(1, chunk.total + 1))
