"""
The nodes of a network: they take transactions, and have receipts for three minutes.

The SDK builds, signs and serializes transactions, and opens the channels to the nodes (with TLS, a node is trusted if
its certificate is in the address book of the network). Its loop that sends and repeats is not used:

- it leaves a node out for up to an hour after a failure, so a short failure of our own network would be a long one;
- it takes other nodes than those in our settings if one answers INVALID_NODE_ACCOUNT;
- it prints errors to stdout, where the output of commands and of the MCP server goes.

The SDK waits for an answer in the thread that asks. So each question is asked in a thread of a small pool, and it has a
deadline. `close` closes the channels, which ends all questions.
"""

import asyncio
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import grpc  # type: ignore[import-untyped]
from hiero_sdk_python.account.account_id import AccountId  # type: ignore[import-untyped]
from hiero_sdk_python.client.network import Network  # type: ignore[import-untyped]
from hiero_sdk_python.node import _Node  # type: ignore[import-untyped]
from hiero_sdk_python.query.transaction_get_receipt_query import TransactionGetReceiptQuery  # type: ignore[import-untyped]
from hiero_sdk_python.response_code import ResponseCode  # type: ignore[import-untyped]

from gatepost.errors import GatepostError, Invalid, Unavailable, quote_value
from gatepost.ledger.hedera.keys import SigningKey
from gatepost.ledger.hedera.outcome import NOT_FOUND, TransactionOutcome
from gatepost.ledger.hedera.transactions import build_transaction, convert_id
from gatepost.ledger.public_ledger import LedgerTransaction, TransactionId, TransactionRefused
from gatepost.ledger.topic import LedgerId

#: seconds in which a node that has failed is asked after all others
_PENALTY: Final = 30.0
#: seconds after which the address book is read again, when a node fails
_BOOK_LIFETIME: Final = 3_600.0
_TLS_PORT: Final = 50212
_ADDRESS: Final = re.compile(r"(?P<address>[^\s=]+:(?P<port>[0-9]{1,5}))=(?P<account>[0-9.]+)")

T = TypeVar("T")


class Node:
    """
    A node and the channel to it, which is opened when it is used.

    Several threads share a channel. gRPC crashes the process if a channel is closed in the moment in which another
    thread begins a call on it, so a channel that is not wanted any more is closed by its last user.
    """

    def __init__(self, sdk_node: Any) -> None:
        account = sdk_node._account_id
        self.account = LedgerId(account.shard, account.realm, account.num)
        #: by the monotonic clock; None if it answered last time
        self.failed_at: float | None = None
        self._sdk_node = sdk_node
        self._lock = threading.Lock()
        self._is_closed = False
        #: how many threads use a channel
        self._users: Counter[Any] = Counter()

    def __str__(self) -> str:
        return f"{self.account} at {self._sdk_node._address}"

    @contextmanager
    def use_channel(self) -> Iterator[Any]:
        with self._lock:
            if self._is_closed:
                raise Unavailable("the ledger is closed")
            channel = self._sdk_node._get_channel()
            self._users[channel] += 1
        try:
            yield channel
        finally:
            with self._lock:
                self._users[channel] -= 1
                if not self._users[channel]:
                    del self._users[channel]
                    if channel is not self._sdk_node._channel:
                        channel.channel.close()

    def reset(self) -> None:
        """Leave the channel; the next one connects at once, and not after the backoff of the old one."""
        with self._lock:
            channel, self._sdk_node._channel = self._sdk_node._channel, None
            if channel is not None and channel not in self._users:
                channel.channel.close()

    def close(self) -> None:
        """Close the channel, and cancel the calls on it."""
        with self._lock:
            self._is_closed = True
            self._sdk_node._close()


class NodePool:
    def __init__(self, network: str, addresses: Sequence[str], *, deadline: float, max_threads: int) -> None:
        """`addresses` are `HOST:PORT=0.0.3`; without any, the address book of the network is read when it is needed."""
        self._network = network
        self._deadline = deadline
        self._has_book = not addresses
        self._nodes = [parse_node(address) for address in addresses]
        self._book_read_at = 0.0
        self._book_lock = threading.Lock()
        self._turn = 0
        self.is_closed = False
        self._threads = ThreadPoolExecutor(max_threads, thread_name_prefix="hedera")

    async def list_nodes(self) -> list[Node]:
        """Return the nodes in the order to ask them in: each call begins with another, and failed ones come last."""
        nodes = self._nodes or await self._run(self._read_book)
        self._turn += 1
        start = self._turn % len(nodes)
        now = time.monotonic()
        return sorted(
            nodes[start:] + nodes[:start],
            key=lambda node: node.failed_at is not None and now - node.failed_at < _PENALTY,
        )

    async def submit(self, node: Node, transaction: LedgerTransaction, keys: Sequence[SigningKey]) -> str:
        """
        Send a transaction and return the code of the precheck. Raise Unavailable if there was no answer; then the node
        may have taken it.
        """
        return await self._run(lambda: self._submit(node, transaction, keys))

    async def read_receipt(self, node: Node, id: TransactionId) -> TransactionOutcome:
        """Return what a node knows of a transaction."""
        return await self._run(lambda: self._read_receipt(node, id))

    async def close(self) -> None:
        self.is_closed = True
        for node in self._nodes:
            node.close()
        await asyncio.to_thread(self._threads.shutdown)

    async def _run(self, function: Callable[[], T]) -> T:
        if self.is_closed:
            raise Unavailable("the ledger is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    def _submit(self, node: Node, transaction: LedgerTransaction, keys: Sequence[SigningKey]) -> str:
        try:
            built = build_transaction(transaction, node.account, keys)
            request = built._make_request()
        except (Invalid, ValueError, TypeError) as error:  # it was never sent: nobody could have built it
            raise TransactionRefused("INVALID_TRANSACTION_BODY", f"the transaction cannot be built: {error}") from None
        answer = self._ask(
            node, lambda channel: built._get_method(channel).transaction(request, timeout=self._deadline)
        )
        return _name_code(answer.nodeTransactionPrecheckCode)

    def _read_receipt(self, node: Node, id: TransactionId) -> TransactionOutcome:
        request = TransactionGetReceiptQuery(convert_id(id))._make_request()
        answer = self._ask(
            node, lambda channel: channel.crypto.getTransactionReceipts(request, timeout=self._deadline)
        ).transactionGetReceipt
        precheck_code = _name_code(answer.header.nodeTransactionPrecheckCode)
        if precheck_code in (NOT_FOUND, "RECORD_NOT_FOUND"):
            return TransactionOutcome(NOT_FOUND)
        if precheck_code != "OK":
            raise Unavailable(f"the node {node} does not say what came of the transaction {id}: {precheck_code}")
        receipt = answer.receipt
        return TransactionOutcome(
            _name_code(receipt.status),
            account=_convert_id(receipt.accountID, "accountNum") if receipt.HasField("accountID") else None,
            topic=_convert_id(receipt.topicID, "topicNum") if receipt.HasField("topicID") else None,
            sequence=receipt.topicSequenceNumber or None,
        )

    def _ask(self, node: Node, question: Callable[[Any], Any]) -> Any:
        """Ask a node. Every error of the SDK and of gRPC becomes Unavailable here."""
        try:
            with node.use_channel() as channel:
                answer = question(channel)
        except GatepostError:
            raise
        except grpc.RpcError as error:
            self._note_failure(node)
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                node.reset()
            raise Unavailable(
                f"the node {node} did not answer: {error.code().name} ({error.details() or 'no details'})"
            ) from None
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody knows whether the node has got the question
            self._note_failure(node)
            raise Unavailable(f"the node {node} cannot be asked: {str(error) or type(error).__name__}") from None
        node.failed_at = None
        return answer

    def _note_failure(self, node: Node) -> None:
        node.failed_at = time.monotonic()
        if self._has_book and node.failed_at - self._book_read_at > _BOOK_LIFETIME:
            with self._book_lock:
                outdated_nodes, self._nodes = self._nodes, []
            for outdated_node in outdated_nodes:
                outdated_node.close()

    def _read_book(self) -> list[Node]:
        with self._book_lock:
            if self._nodes:
                return self._nodes
            if self.is_closed:
                raise Unavailable("the ledger is closed")
            try:
                sdk_nodes = Network(self._network).nodes
            except Exception as error:  # noqa: BLE001 - the SDK does not say what it raises
                raise Unavailable(f"the nodes of {self._network} are not known: {error}") from None
            # Without the address book the SDK takes nodes that it knows, and then cannot check who they are.
            nodes = [Node(sdk_node) for sdk_node in sdk_nodes if sdk_node._address_book is not None]
            if not nodes:
                raise Unavailable(
                    f"the address book of {self._network} cannot be read from its public mirror node",
                    hint="give the addresses of nodes as HOST:50211=0.0.3 if only the nodes can be reached",
                )
            self._nodes, self._book_read_at = nodes, time.monotonic()
            return nodes


def parse_node(text: str) -> Node:
    """Return the node of `HOST:PORT=0.0.3`."""
    match = _ADDRESS.fullmatch(text)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise Invalid(f"{quote_value(text)} is not the address of a node", hint="write it as HOST:PORT=0.0.3")
    if int(match["port"]) == _TLS_PORT:
        raise Invalid(
            f"{quote_value(text)} has the port for TLS, which needs the address book of the network",
            hint="give no nodes, or the port 50211: transactions are signed, and can be read by everybody anyway",
        )
    account = LedgerId.parse(match["account"])
    return Node(_Node(AccountId(account.shard, account.realm, account.number), match["address"], None))


def _name_code(code: int) -> str:
    name: str = ResponseCode(code).name
    return name


def _convert_id(id: Any, number: str) -> LedgerId:
    return LedgerId(id.shardNum, id.realmNum, getattr(id, number))
