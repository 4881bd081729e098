"""
A ledger: topics to which messages are only ever added.

Each message of a topic has a number, a consensus time and a running hash, which proves its place (`running_hash.py`).

A ledger id is `SHARD.REALM.NUMBER`, such as `0.0.123`, for accounts and topics alike. Times are nanoseconds.
"""

import re
from typing import Final

from msgspec import Struct

from gatepost.core.text import ParsedEnum
from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import Ref

#: bytes of one message; longer ones are sent in chunks
MAX_MESSAGE_SIZE: Final = 1_024
#: of running hashes; no other is computed here
HASH_VERSION: Final = 3
MAX_NUMBER: Final = 2**63 - 1
NANOSECONDS: Final = 1_000_000_000

_ID: Final = re.compile(r"([0-9]{1,19})\.([0-9]{1,19})\.([0-9]{1,19})")


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


class LedgerTopic(Struct, frozen=True, kw_only=True):
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


def split(content: bytes) -> list[bytes]:
    """Return a content as the chunks in which it is posted."""
    return [content[start : start + MAX_MESSAGE_SIZE] for start in range(0, len(content), MAX_MESSAGE_SIZE)]
