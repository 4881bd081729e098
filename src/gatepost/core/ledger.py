"""
A ledger: topics to which messages are only ever added, and how their order is proved.

Each message of a topic has a number, a consensus time and a running hash. The running hash covers the message, its
place, its time, its payer and the running hash before it, so nothing of a topic can be changed, left out or moved
without a hash that does not match. It is computed as the nodes of Hedera compute version 3: SHA-384 over a stream of
Java objects, framing included.

A ledger id is `SHARD.REALM.NUMBER`, such as `0.0.123`, for accounts and topics alike. Times are nanoseconds.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from enum import StrEnum
from hashlib import sha384
from typing import Final

from msgspec import Struct

from gatepost.core.event import Ref
from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value

#: bytes of one message; longer ones are sent in chunks
MAX_MESSAGE_SIZE: Final = 1_024
HASH_LENGTH: Final = 48
#: the running hash before the first message
GENESIS_HASH: Final = bytes(HASH_LENGTH)
#: the only version that is computed here
HASH_VERSION: Final = 3
MAX_NUMBER: Final = 2**63 - 1
NANOSECONDS: Final = 1_000_000_000

_ID: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})\.([0-9]{1,19})")
#: the header of a stream of Java objects, and the class descriptor of a byte array
_STREAM_HEAD: Final = bytes.fromhex("aced00057572 0002 5b42 acf317f8060854e0 02 0000 78 70")
_LENGTH: Final = struct.pack(">i", HASH_LENGTH)
#: a block of 76 bytes: version, payer and topic as three numbers each, seconds, nanoseconds, sequence number
_BLOCK_HEAD: Final = b"\x77\x4c"
_BLOCK: Final = struct.Struct(">8qiq")
#: a second byte array, whose class refers to the first
_ARRAY_HEAD: Final = bytes.fromhex("7571007e0000") + _LENGTH


class LedgerId(Struct, frozen=True, order=True):
    """The id of an account or a topic."""

    shard: int
    realm: int
    number: int

    def __str__(self) -> str:
        return f"{self.shard}.{self.realm}.{self.number}"

    @staticmethod
    def parse(text: str) -> "LedgerId":
        match = _ID.fullmatch(text)
        parts = [int(part) for part in match.groups()] if match else []
        if not parts or max(parts) > MAX_NUMBER:
            raise Invalid(f"{quote_value(text)} is not the id of a topic or an account", hint="write it as 0.0.123")
        return LedgerId(*parts)


#: the ledger in the store
LOCAL: Final = "local"


def get_network(url: str) -> str | None:
    """Return the ledger of a setting: `local`, or the network of Hedera; None for `off`."""
    scheme, _, network = url.partition(":")
    return None if scheme == "off" else network or scheme


class TopicKind(ParsedEnum, description="a kind of topic"):
    #: mail to an entity
    INBOUND = "inbound"
    #: the public log of an entity
    OUTBOUND = "outbound"
    #: notes and events of a work item
    WORK = "work"
    #: mail to every agent
    BROADCAST = "broadcast"
    #: the profiles of entities
    DEFINITIONS = "definitions"
    #: a file (HCS-1)
    FILE = "file"
    #: between an entity and an agent outside
    CONNECTION = "connection"
    #: the inbound topic of an agent outside, which was asked for a connection
    PEER = "peer"


#: the memos of the topics of which a ledger has one
SINGLE_MEMOS: Final = {TopicKind.BROADCAST: "gatepost:broadcast", TopicKind.DEFINITIONS: "gatepost:definitions"}


class Topic(Struct, frozen=True, kw_only=True):
    number: int
    network: str
    id: str
    kind: TopicKind
    memo: str
    #: whose it is; None if it belongs to nobody
    entity: str | None
    #: the work item that it is about
    item: Ref | None
    #: of its last message; 0 if it has none
    last_sequence: int
    last_timestamp: int
    created_at: Instant

    @property
    def ledger_id(self) -> LedgerId:
        return LedgerId.parse(self.id)


class Chunk(Struct, frozen=True):
    """The place of a message among the chunks of a longer one: `number` counts from 1."""

    #: the transaction that the first chunk was sent with
    transaction: str
    number: int
    total: int


class TopicMessage(Struct, frozen=True, kw_only=True):
    """A message of a topic, as it is on the ledger."""

    topic: LedgerId
    sequence: int
    #: the consensus time, in nanoseconds since 1970
    timestamp: int
    payer: LedgerId
    content: bytes
    running_hash: bytes
    version: int = HASH_VERSION
    #: None if it is whole
    chunk: Chunk | None = None

    def compute_hash(self, previous_hash: bytes) -> bytes:
        """Return what its running hash must be after that of the message before it."""
        seconds, nanoseconds = divmod(self.timestamp, NANOSECONDS)
        payer, topic = self.payer, self.topic
        block = _BLOCK.pack(
            HASH_VERSION,
            *(payer.shard, payer.realm, payer.number),
            *(topic.shard, topic.realm, topic.number),
            seconds,
            nanoseconds,
            self.sequence,
        )
        parts = (_STREAM_HEAD, _LENGTH, previous_hash, _BLOCK_HEAD, block, _ARRAY_HEAD, sha384(self.content).digest())
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


def split(content: bytes) -> list[bytes]:
    """Return a content as the chunks in which it is posted."""
    return [content[start : start + MAX_MESSAGE_SIZE] for start in range(0, len(content), MAX_MESSAGE_SIZE)]


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
    if message.compute_hash(previous_hash) != message.running_hash:
        return MessageVerdict(message, Proof.WRONG, "its running hash does not match")
    return MessageVerdict(message, Proof.PROVED)
