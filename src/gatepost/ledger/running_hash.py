"""
Compute and verify the running hashes of a topic.

A running hash covers a message, its place, its time, its payer and the running hash before it, so nothing of a topic
can be changed, left out or moved without a hash that does not match. It is computed as the nodes of Hedera compute
version 3: SHA-384 over a stream of Java objects, framing included.
"""

import struct
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha384
from typing import Final

from msgspec import Struct

from gatepost.ledger.topic import HASH_VERSION, NANOSECONDS, TopicMessage

HASH_LENGTH: Final = 48
#: the running hash before the first message
GENESIS_HASH: Final = bytes(HASH_LENGTH)

#: the header of a stream of Java objects, and the class descriptor of a byte array
_STREAM_HEAD: Final = bytes.fromhex("aced00057572 0002 5b42 acf317f8060854e0 02 0000 78 70")
_LENGTH: Final = struct.pack(">i", HASH_LENGTH)
#: a block of 76 bytes: version, payer and topic as three numbers each, seconds, nanoseconds, sequence number
_BLOCK_HEAD: Final = b"\x77\x4c"
_BLOCK: Final = struct.Struct(">8qiq")
#: a second byte array, whose class refers to the first
_ARRAY_HEAD: Final = bytes.fromhex("7571007e0000") + _LENGTH


def compute_running_hash(message: TopicMessage, previous_hash: bytes) -> bytes:
    """Return what the running hash of a message must be after that of the message before it."""
    seconds, nanoseconds = divmod(message.timestamp, NANOSECONDS)
    payer, topic = message.payer, message.topic
    block = _BLOCK.pack(
        HASH_VERSION,
        *(payer.shard, payer.realm, payer.number),
        *(topic.shard, topic.realm, topic.number),
        seconds,
        nanoseconds,
        message.sequence,
    )
    parts = (_STREAM_HEAD, _LENGTH, previous_hash, _BLOCK_HEAD, block, _ARRAY_HEAD, sha384(message.content).digest())
    return sha384(b"".join(parts)).digest()


class Proof(StrEnum):
    """What is known of a message."""

    #: its running hash follows from the message before it
    PROVED = "proved"
    #: it is the first of its topic that is here, and not the first of all: there is nothing to compute its hash from
    UNKNOWN = "unknown"
    #: its running hash does not follow, or it is not where it should be
    WRONG = "wrong"


class MessageVerdict(Struct, frozen=True):
    message: TopicMessage
    proof: Proof
    #: why it is wrong, as the end of a sentence
    reason: str = ""


class Fault(Struct, frozen=True):
    """A message that is not right, or is missing."""

    topic: str
    sequence: int
    #: the end of a sentence
    reason: str


class TopicVerification(Struct, frozen=True, kw_only=True):
    """How many messages are proved, how many have nothing to be proved by, and the first that is not right."""

    messages: int
    proved: int
    unknown: int
    wrong: int
    first_fault: Fault | None
    #: the number of the last message that was checked, if there are more; None at the end of the topic
    next: int | None = None


def summarize(verdicts: Iterable[MessageVerdict]) -> TopicVerification:
    counts = dict.fromkeys(Proof, 0)
    first_fault: Fault | None = None
    for verdict in verdicts:
        counts[verdict.proof] += 1
        if verdict.proof is Proof.WRONG and first_fault is None:
            first_fault = Fault(str(verdict.message.topic), verdict.message.sequence, verdict.reason)
    return TopicVerification(
        messages=sum(counts.values()),
        proved=counts[Proof.PROVED],
        unknown=counts[Proof.UNKNOWN],
        wrong=counts[Proof.WRONG],
        first_fault=first_fault,
    )


def verify(messages: Iterable[TopicMessage], last: TopicMessage | None = None) -> Iterator[MessageVerdict]:
    """
    Yield a verdict on each message. The messages of a topic must come in their order; those of several topics may be
    mixed. After a message that is wrong, the next one is judged by what that one says. `last` is the message before the
    first one, if it is known.
    """
    last_messages = {last.topic: last} if last is not None else {}
    for message in messages:
        yield _judge(message, last_messages.get(message.topic))
        last_messages[message.topic] = message


def _judge(message: TopicMessage, last: TopicMessage | None) -> MessageVerdict:
    if message.version != HASH_VERSION:
        reason = f"its running hash has version {message.version}, and only {HASH_VERSION} can be checked"
        return MessageVerdict(message, Proof.WRONG, reason)
    if last is None and message.sequence != 1:
        return MessageVerdict(message, Proof.UNKNOWN)
    if last is not None and message.sequence != last.sequence + 1:
        return MessageVerdict(message, Proof.WRONG, f"it does not follow message {last.sequence}")
    if last is not None and message.timestamp <= last.timestamp:
        return MessageVerdict(message, Proof.WRONG, "it is not later than the message before it")
    previous_hash = GENESIS_HASH if last is None else last.running_hash
    if compute_running_hash(message, previous_hash) != message.running_hash:
        return MessageVerdict(message, Proof.WRONG, "its running hash does not match")
    return MessageVerdict(message, Proof.PROVED)
