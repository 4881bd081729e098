"""
A local network of Hedera for tests: nodes that speak its gRPC protocol, and a mirror node with its REST interface.

The real SDK and any HTTP client work with it, from this process or another. Signatures, fees, times and running hashes
are those of the real network; there is no consensus of many, so a transaction is executed as soon as it is accepted.

    with HederaNetwork() as network:
        network.operator_id, network.operator_key, network.operator_key_file(folder)
        network.nodes_setting, network.mirror_url            # "127.0.0.1:15000=0.0.3", "http://127.0.0.1:15001"

Strangers:   create_account, create_topic, submit_as, set_balance
What is there: accounts, topics, transactions, messages(topic), requests
Waiting:     wait_for_requests, wait_for
Faults:      answer_busy, drop_replies, refuse_receipts, lose_transactions, hold_consensus / release_consensus,
             stop / start, stop_nodes / start_nodes; of `network.mirror`: hold / release, limit, fail, repeat_pages,
             hide / show, tamper, stop / start

`requests` counts by kind: the names of gRPC methods (`submitMessage`, `getTransactionReceipts`, ...), and for the
mirror `mirror:` before messages, message, topic, account, transaction and blocks. The fees are in
`tests.ledger.hedera.network.prechecks.FEES`.
"""

import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.ledger.hedera.network.execution import MAX_MESSAGE_SIZE, execute
from tests.ledger.hedera.network.keys import SigningKey
from tests.ledger.hedera.network.mirror import Mirror
from tests.ledger.hedera.network.prechecks import Submission, check
from tests.ledger.hedera.network.protobufs import consensus_submit_message_pb2
from tests.ledger.hedera.network.services import NodeServer
from tests.ledger.hedera.network.state import (
    SECOND,
    TREASURY,
    Account,
    ExecutedTransaction,
    Message,
    Refusal,
    State,
    Topic,
)
from tests.ledger.hedera.network.transactions import build_body, build_topic_id, sign
from tests.support.servers.private_servers import find_free_port
from tests.support.waits import LAST_RESORT

HBAR = 100_000_000
FIRST_NODE = 3


class HederaNetwork:
    """It runs from `start`, or the entry of the context, to `stop`, and may be started again with all that it knew."""

    def __init__(
        self, clock: Callable[[], int] = time.time_ns, *, node_count: int = 1, balance: int = 10_000 * HBAR
    ) -> None:
        """`clock` returns nanoseconds since 1970; `balance` is what the operator has, in tinybars."""
        self.state = State(clock)
        self.requests: Counter[str] = Counter()
        self._pending: deque[tuple[Submission, str]] = deque()
        self._is_consensus_held = False
        self._busy = self._lost = self._dropped = self._refused = 0
        self._reply_fault, self._receipt_fault = "drop", "RECEIPT_NOT_FOUND"
        self._last_valid_start = 0
        treasury_key = SigningKey.generate()
        for number in (2, 98, *range(FIRST_NODE, FIRST_NODE + node_count)):
            id = f"0.0.{number}"
            self.state.accounts[id] = Account(id, treasury_key.public_key, 0)
        self.state.accounts[TREASURY].balance = 50_000_000_000 * HBAR
        self.operator_id, self.operator_key = self.create_account(balance)
        self._nodes = [NodeServer(self, f"0.0.{FIRST_NODE + index}", find_free_port()) for index in range(node_count)]
        self.mirror = Mirror(self.state, self.count_request)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Open the ports of the nodes and the mirror: the same ones as before, with all that was there."""
        self.start_nodes()
        self.mirror.start()

    def stop(self) -> None:
        """Close all ports; nothing is forgotten."""
        self.stop_nodes()
        self.mirror.stop()

    def start_nodes(self) -> None:
        for node in self._nodes:
            node.start()

    def stop_nodes(self, count: int | None = None) -> None:
        """Close the ports of the first `count` nodes, or of all; the mirror goes on."""
        for node in self._nodes[:count]:
            node.stop()

    @property
    def nodes(self) -> dict[str, str]:
        """Accounts of the nodes by their addresses."""
        return {f"127.0.0.1:{node.port}": node.account for node in self._nodes}

    @property
    def nodes_setting(self) -> str:
        return ",".join(f"{address}={account}" for address, account in self.nodes.items())

    @property
    def mirror_url(self) -> str:
        return self.mirror.url

    @property
    def accounts(self) -> dict[str, Account]:
        return self.state.accounts

    @property
    def topics(self) -> dict[str, Topic]:
        return self.state.topics

    @property
    def transactions(self) -> list[ExecutedTransaction]:
        """All that reached consensus, also those that failed, in their order."""
        with self.state.changed:
            return list(self.state.transactions.values())

    def messages(self, topic: str) -> list[Message]:
        with self.state.changed:
            return list(self.state.topics[topic].messages)

    def operator_key_file(self, folder: Path) -> Path:
        """Write the private key of the operator into a folder, for its owner alone, and return the file."""
        file = folder / "operator.key"
        file.touch(mode=0o600)
        file.write_text(f"{self.operator_key}\n")
        return file

    def answer_busy(self, count: int) -> None:
        """Refuse the next `count` transactions with BUSY; they are not executed."""
        with self.state.changed:
            self._busy = count

    def drop_replies(self, count: int, *, hang: bool = False) -> None:
        """Execute the next `count` transactions, but break the connection, or `hang` until the client gives up."""
        with self.state.changed:
            self._dropped, self._reply_fault = count, "hang" if hang else "drop"

    def refuse_receipts(self, count: int, code: str = "RECEIPT_NOT_FOUND") -> None:
        """Answer the next `count` queries of receipts with a code, such as BUSY, as if there were no receipt."""
        with self.state.changed:
            self._refused, self._receipt_fault = count, code

    def lose_transactions(self, count: int) -> None:
        """Accept the next `count` transactions, and never execute them: their receipts stay UNKNOWN."""
        with self.state.changed:
            self._lost = count

    def hold_consensus(self) -> None:
        """Accept transactions, but execute them only after `release_consensus`: until then receipts are UNKNOWN."""
        with self.state.changed:
            self._is_consensus_held = True

    def release_consensus(self) -> None:
        with self.state.changed:
            self._is_consensus_held = False
            self._reach_consensus()

    def create_account(self, balance: int = 100 * HBAR, *, kind: str = "ed25519") -> tuple[str, str]:
        """Make an account of a stranger; return its id and private key. `kind` of the key may be `ecdsa`."""
        key = SigningKey.generate(kind)
        with self.state.changed:
            account = Account(self.state.next_id(), key.public_key, 0, created_at=self.state.next_timestamp())
            self.state.accounts[account.id] = account
            self.state.move({TREASURY: -balance, account.id: balance})
        return account.id, str(key)

    def create_topic(self, memo: str = "", *, submit_key: str | None = None, admin_key: str | None = None) -> str:
        """Make a topic of a stranger; the keys are private keys. Return its id."""
        submit_public, admin_public = (
            SigningKey.parse(key).public_key if key is not None else None for key in (submit_key, admin_key)
        )
        with self.state.changed:
            topic = Topic(self.state.next_id(), memo, submit_public, admin_public, self.state.next_timestamp())
            self.state.topics[topic.id] = topic
        return topic.id

    def set_balance(self, account: str, balance: int) -> None:
        """Give an account this many tinybars; the rest comes from the treasury, or goes there."""
        with self.state.changed:
            difference = balance - self.state.accounts[account].balance
            self.state.move({TREASURY: -difference, account: difference})

    def submit_as(self, account: str, key: str, topic: str, content: bytes | str, *, memo: str = "") -> list[Message]:
        """
        Post a message to a topic, paid by an account and signed with a private key, which may be the wrong one.

        A content of more than 1,024 bytes is sent in chunks. Return the messages; raise Refusal if one is refused,
        with the code of the node or of the receipt. The faults of nodes do not apply.
        """
        data = content.encode() if isinstance(content, str) else content
        parts = [data[start : start + MAX_MESSAGE_SIZE] for start in range(0, len(data), MAX_MESSAGE_SIZE)] or [b""]
        node = self._nodes[0].account
        first_id: Any = None
        with self.state.changed:
            first_sequence = len(self.state.topics[topic].messages) if topic in self.topics else 0
            for number, part in enumerate(parts, start=1):
                body = build_body(account, node, self._choose_valid_start(), memo)
                first_id = first_id or body.transactionID
                body.consensusSubmitMessage.topicID.CopyFrom(build_topic_id(topic))
                body.consensusSubmitMessage.message = part
                if len(parts) > 1:
                    chunk = consensus_submit_message_pb2.ConsensusMessageChunkInfo(
                        initialTransactionID=first_id, total=len(parts), number=number
                    )
                    body.consensusSubmitMessage.chunkInfo.CopyFrom(chunk)
                submission = check(self.state, sign(body, SigningKey.parse(key)), node)
                self.state.accepted_ids.add(submission.id)
                result = execute(self.state, submission, node).result
                self.state.changed.notify_all()
                if result != "SUCCESS":
                    raise Refusal(result)
            return self.state.topics[topic].messages[first_sequence:]

    def wait_for(self, condition: Callable[[], bool], description: str, timeout: float = LAST_RESORT) -> None:
        """Wait until a condition on the network is met; it is asked after every change and every request."""
        with self.state.changed:
            if not self.state.changed.wait_for(condition, timeout):
                raise TimeoutError(f"waited {timeout:.0f} s in vain until {description}")

    def wait_for_requests(self, kind: str, count: int, timeout: float = LAST_RESORT) -> None:
        """Wait until there were at least `count` requests of a kind, since the start of the network."""
        self.wait_for(lambda: self.requests[kind] >= count, f"there are {count} requests {kind}", timeout)

    def count_request(self, kind: str) -> None:
        with self.state.changed:
            self.requests[kind] += 1
            self.state.changed.notify_all()

    def submit(self, transaction: Any, node: str) -> None:
        """Take a protobuf `Transaction` as a node does; raise Refusal if it is refused."""
        with self.state.changed:
            if self._busy:
                self._busy -= 1
                raise Refusal("BUSY")
            submission = check(self.state, transaction, node)
            self.state.accepted_ids.add(submission.id)
            if self._lost:
                self._lost -= 1
                return
            self._pending.append((submission, node))
            if not self._is_consensus_held:
                self._reach_consensus()

    def take_reply_fault(self) -> str | None:
        with self.state.changed:
            if not self._dropped:
                return None
            self._dropped -= 1
            return self._reply_fault

    def take_receipt_fault(self) -> str | None:
        with self.state.changed:
            if not self._refused:
                return None
            self._refused -= 1
            return self._receipt_fault

    def _reach_consensus(self) -> None:
        while self._pending:
            execute(self.state, *self._pending.popleft())
        self.state.changed.notify_all()

    def _choose_valid_start(self) -> int:
        """Return a time for the id of a transaction that no other one of `submit_as` has."""
        self._last_valid_start = max(self.state.clock() - SECOND, self._last_valid_start + 1)
        return self._last_valid_start
