"""
What a network of Hedera knows: accounts, topics, messages, transactions and receipts.

All nodes of a network and its mirror share one state. It gives every transaction a consensus time, strictly later than
the one before, and every message its number and running hash. The hash is computed here from its definition, not by
Gatepost, so that the tests do not compare our code with itself.

Ids are texts such as `0.0.123`; transactions are named as `0.0.2@1700000000.000000001`. Times are nanoseconds.
"""

import hashlib
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.ledger.hedera.network.protobufs import response_code_pb2

SECOND = 1_000_000_000
#: the answer to a query of a receipt, this long after consensus, is that there is none
RECEIPT_LIFETIME = 180 * SECOND
#: the account that receives all fees
FEE_ACCOUNT = "0.0.98"
TREASURY = "0.0.2"
FIRST_NUMBER = 1_001


class Refusal(Exception):
    """A node refuses a transaction; `code` is its answer, such as `INVALID_SIGNATURE`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code

    @property
    def number(self) -> int:
        return find_code(self.code)


def find_code(name: str) -> int:
    """Return the number of an answer code."""
    return int(response_code_pb2.ResponseCodeEnum.Value(name))


@dataclass
class Account:
    id: str
    #: a protobuf `Key`
    key: Any
    #: tinybars
    balance: int
    memo: str = ""
    created_at: int = 0


@dataclass(frozen=True)
class Chunk:
    """`number` counts from 1."""

    #: the transaction of the first chunk
    transaction: str
    number: int
    total: int


@dataclass(frozen=True)
class Message:
    topic: str
    sequence: int
    #: the consensus time
    timestamp: int
    payer: str
    content: bytes
    running_hash: bytes
    #: None if it was sent without chunk info
    chunk: Chunk | None
    #: the id of its transaction, and the memo of it
    transaction: str
    memo: str


@dataclass
class Topic:
    id: str
    memo: str = ""
    #: protobufs `Key`, or None
    submit_key: Any = None
    admin_key: Any = None
    created_at: int = 0
    messages: list[Message] = field(default_factory=list)

    @property
    def running_hash(self) -> bytes:
        return self.messages[-1].running_hash if self.messages else bytes(48)


@dataclass(frozen=True)
class ExecutedTransaction:
    """A transaction that reached consensus, whatever came of it."""

    id: str
    #: as the mirror node names it, such as `CONSENSUSSUBMITMESSAGE`
    name: str
    #: such as `SUCCESS`
    result: str
    #: the account or topic that it made or changed
    entity: str | None
    timestamp: int
    valid_start: int
    #: seconds
    valid_duration: int
    node: str
    fee: int
    max_fee: int
    memo: str
    hash: bytes
    #: tinybars by account, without zeros
    transfers: dict[str, int]
    #: a protobuf `TransactionReceipt`
    receipt: Any


class State:
    """Everything is read and changed while `changed` is entered; whoever changes it notifies all."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.changed = threading.Condition(threading.RLock())
        self.accounts: dict[str, Account] = {}
        self.topics: dict[str, Topic] = {}
        #: by id, in the order of consensus
        self.transactions: dict[str, ExecutedTransaction] = {}
        #: ids of transactions that a node has accepted, executed or not
        self.accepted_ids: set[str] = set()
        self._last_timestamp = 0
        self._next_number = FIRST_NUMBER

    def next_id(self) -> str:
        number = self._next_number
        self._next_number += 1
        return f"0.0.{number}"

    def next_timestamp(self) -> int:
        """Return a consensus time that is later than all before it, and not earlier than the clock."""
        self._last_timestamp = max(self.clock(), self._last_timestamp + 1)
        return self._last_timestamp

    def close_block(self) -> int:
        """Return the time up to which the network has come; every later transaction has a later time."""
        self._last_timestamp = max(self.clock(), self._last_timestamp)
        return self._last_timestamp

    def find_account(self, id: str, code: str = "INVALID_ACCOUNT_ID") -> Account:
        if id not in self.accounts:
            raise Refusal(code)
        return self.accounts[id]

    def find_topic(self, id: str) -> Topic:
        if id not in self.topics:
            raise Refusal("INVALID_TOPIC_ID")
        return self.topics[id]

    def find_receipt(self, id: str) -> ExecutedTransaction | None:
        """Return the transaction, unless it is so old that nodes have forgotten its receipt."""
        transaction = self.transactions.get(id)
        if transaction is None or self.clock() > transaction.timestamp + RECEIPT_LIFETIME:
            return None
        return transaction

    def move(self, transfers: dict[str, int]) -> None:
        """Add tinybars to accounts, or take them; the sum is zero."""
        assert sum(transfers.values()) == 0
        for id, amount in transfers.items():
            self.accounts[id].balance += amount

    def append_message(
        self,
        topic: Topic,
        *,
        timestamp: int,
        payer: str,
        content: bytes,
        chunk: Chunk | None,
        transaction: str,
        memo: str,
    ) -> Message:
        sequence = len(topic.messages) + 1
        running_hash = compute_running_hash(
            topic.running_hash, topic=topic.id, payer=payer, timestamp=timestamp, sequence=sequence, content=content
        )
        message = Message(topic.id, sequence, timestamp, payer, content, running_hash, chunk, transaction, memo)
        topic.messages.append(message)
        return message


def compute_running_hash(
    previous: bytes, *, topic: str, payer: str, timestamp: int, sequence: int, content: bytes
) -> bytes:
    """
    Return the running hash of a message, version 3.

    A node writes these to a stream of Java objects: the previous hash as an array of bytes, then numbers as one block
    of data, then the SHA-384 of the content as another array, whose class is a reference to that of the first.
    """
    numbers = [3, *map(int, payer.split(".")), *map(int, topic.split("."))]
    block = struct.pack(">7q", *numbers) + struct.pack(">qiq", *divmod(timestamp, SECOND), sequence)
    stream = b"".join([
        b"\xac\xed\x00\x05",  # magic number and version of the stream
        b"\x75\x72\x00\x02[B",  # an array, its class, the name of the class
        bytes.fromhex("acf317f8060854e0"),  # the version id of the class
        b"\x02\x00\x00\x78\x70",  # serializable, no fields, no superclass
        struct.pack(">i", len(previous)) + previous,
        b"\x77" + bytes([len(block)]) + block,  # a block of data
        b"\x75\x71\x00\x7e\x00\x00",  # an array, whose class was written before
        struct.pack(">i", 48) + hashlib.sha384(content).digest(),
    ])  # fmt: skip
    return hashlib.sha384(stream).digest()


def format_timestamp(timestamp: int) -> str:
    """Return `1700000000.000000001`."""
    return "{}.{:09}".format(*divmod(timestamp, SECOND))


def read_timestamp(stamp: Any) -> int:
    """Return the time of a protobuf `Timestamp`."""
    return int(stamp.seconds) * SECOND + int(stamp.nanos)


def format_account(account: Any) -> str:
    """Return the id of a protobuf `AccountID`."""
    return f"{account.shardNum}.{account.realmNum}.{account.accountNum}"


def format_topic(topic: Any) -> str:
    return f"{topic.shardNum}.{topic.realmNum}.{topic.topicNum}"


def format_transaction(transaction: Any) -> str:
    """Return the id of a protobuf `TransactionID`."""
    start = read_timestamp(transaction.transactionValidStart)
    return f"{format_account(transaction.accountID)}@{format_timestamp(start)}"
