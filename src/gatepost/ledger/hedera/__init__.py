"""
Hedera: a public ledger (`ledger/public_ledger.py`).

**Once.** A transaction is executed once, however often it is sent, because its id is chosen by the caller and stored
before it is sent. `execute` only has to find out what came of it, and to say so only when that is certain:

    the id is valid      send it with that id to a node:
                         taken, or a duplicate      wait for the receipt: from nodes, else from the mirror node
                         no answer, or busy         try another node; after some attempts Unavailable
                         refused                    the receipt of an earlier attempt, else TransactionRefused
    the id is too old    never send it; ask the mirror node:
                         it was executed            its receipt
                         it is not there            TransactionExpired if the mirror node has everything up to the
                                                    end of the validity, else Unavailable

Two races are closed. The mirror node is asked how far it has got *before* it is asked for the transaction: the other
way round it could take in the transaction between the two answers. And a node that refuses a transaction may not know
yet that another node has taken it: after an attempt without an answer, or one that was taken, a later refusal counts
only if a receipt confirms it. Until then it is Unavailable, at most until the id is too old.

| module | does |
|---|---|
| `nodes` | sends transactions to nodes, reads receipts |
| `transactions` | builds and signs transactions with the SDK |
| `outcome` | says what the codes of the ledger mean |
| `mirror` | reads what was executed, over HTTP |
| `keys` | keeps private keys on disk |
| `compression` | compresses the content of files |
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Final

from gatepost.core.backoff import Backoff
from gatepost.errors import Invalid, Unavailable, quote_value
from gatepost.ledger.hedera import compression
from gatepost.ledger.hedera.keys import KeyFolder, SigningKey, import_key, read_key
from gatepost.ledger.hedera.mirror import PUBLIC_MIRRORS, MirrorNode
from gatepost.ledger.hedera.nodes import Node, NodePool
from gatepost.ledger.hedera.outcome import (
    ACCEPTED,
    BUSY,
    EXPIRED,
    NOT_FOUND,
    PENDING,
    build_expiry,
    build_receipt,
    build_refusal,
)
from gatepost.ledger.public_ledger import (
    VALID_DURATION,
    AccountInfo,
    LedgerReceipt,
    LedgerTransaction,
    TopicInfo,
    TransactionExpired,
    TransactionId,
    TransactionRefused,
)
from gatepost.ledger.topic import NANOSECONDS, LedgerId, TopicMessage

__all__ = ["HederaLedger", "import_key"]

#: transactions, and requests to the mirror node, at the same time
MAX_CONCURRENCY: Final = 8

#: Nanoseconds before the end of its validity after which a transaction is not sent: it has to reach consensus.
_SENDING_MARGIN: Final = 10 * NANOSECONDS
#: Nanoseconds after the end of its validity that the mirror node must have got to: its answers may be some seconds old.
_MIRROR_MARGIN: Final = 5 * NANOSECONDS
#: attempts to send a transaction, before the caller has to call again
_ATTEMPTS: Final = 3
#: transactions of which an attempt is unknown; more than the callers can have within two minutes
_MAX_UNSETTLED: Final = 10_000


class HederaLedger:
    def __init__(
        self,
        network: str,
        *,
        operator: str,
        operator_key_file: Path,
        keys: Path,
        mirror: str | None = None,
        nodes: Sequence[str] = (),
        clock: Callable[[], int] = time.time_ns,
        deadline: float = 10.0,
        receipt_timeout: float = 20.0,
        backoff: float = 0.25,
    ) -> None:
        """
        `keys` is the folder with the private keys of entities, `mirror` the URL of a mirror node (without it, the
        public one of the network). `nodes` are `HOST:PORT=0.0.3`; without any, those in the address book.

        `clock` returns nanoseconds since 1970. In seconds: `deadline` of each question, `receipt_timeout` for the
        receipt of a transaction that was taken, and `backoff`, the first delay between two attempts.
        """
        url = mirror or PUBLIC_MIRRORS.get(network)
        if url is None or (not nodes and network not in PUBLIC_MIRRORS):
            raise Invalid(
                f"the network {quote_value(network)} is not known",
                hint=f"use {' or '.join(PUBLIC_MIRRORS)}, or give the addresses of its nodes and of its mirror node",
            )
        self._network = network
        self._operator = LedgerId.parse(operator)
        self._operator_key_file = operator_key_file
        read_key(operator_key_file)
        self._keys = KeyFolder(keys)
        self._clock = clock
        self._receipt_timeout = receipt_timeout
        self._backoff = Backoff(backoff, cap=4 * backoff)
        #: what was sent without a final answer, in this process
        self._unsettled: set[TransactionId] = set()
        self._mirror = MirrorNode(url, clock=clock, max_requests=MAX_CONCURRENCY, timeout=2 * deadline)
        self._nodes = NodePool(network, nodes, deadline=deadline, max_threads=MAX_CONCURRENCY)

    @property
    def network(self) -> str:
        return self._network

    @property
    def operator(self) -> LedgerId:
        return self._operator

    def make_key(self, owner: str) -> str:
        return self._keys.make_key(owner)

    def has_key(self, owner: str) -> bool:
        return self._keys.has_key(owner)

    async def execute(self, transaction: LedgerTransaction) -> LedgerReceipt:
        try:
            if self._clock() >= transaction.id.valid_start + VALID_DURATION - _SENDING_MARGIN:
                receipt = await self._settle(transaction)
            else:
                receipt = await self._send(transaction)
        except (TransactionExpired, TransactionRefused):
            self._unsettled.discard(transaction.id)
            raise
        self._unsettled.discard(transaction.id)
        return receipt

    async def _send(self, transaction: LedgerTransaction) -> LedgerReceipt:
        keys = [
            self._read_operator_key() if owner is None else self._keys.read_key(owner) for owner in transaction.signers
        ]
        nodes = await self._nodes.list_nodes()
        failure = Unavailable("no node has answered")
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(self._backoff.delay(attempt - 1))
            node = nodes[attempt % len(nodes)]
            try:
                code = await self._submit(node, transaction, keys)
            except Unavailable as error:
                if self._nodes.is_closed:
                    raise
                failure = error
                continue
            if code in ACCEPTED:
                other_nodes = [other for other in nodes if other is not node]
                return await self._wait_for_receipt(transaction, [node, *other_nodes])
            if code == EXPIRED:
                return await self._settle(transaction)
            if code == "INVALID_TRANSACTION_START":
                raise Unavailable(
                    f"the transaction {transaction.id} is not valid yet by the clock of the node {node}",
                    hint="set the clock of this machine: it is ahead",
                )
            if code not in BUSY:
                return await self._confirm_refusal(transaction, node, code)
            failure = Unavailable(f"the node {node} takes no transactions now: {code}")
        raise failure

    def _read_operator_key(self) -> SigningKey:
        try:
            return read_key(self._operator_key_file)
        except Invalid as error:
            raise Unavailable(f"nothing can be signed for the operator: {error.message}", hint=error.hint) from None

    async def _submit(self, node: Node, transaction: LedgerTransaction, keys: Sequence[SigningKey]) -> str:
        """Return the code of the precheck, and remember a transaction that the node has taken, or may have taken."""
        may_be_taken = True
        try:
            code = await self._nodes.submit(node, transaction, keys)
            may_be_taken = code in ACCEPTED
        finally:
            if may_be_taken:
                self._note_unsettled(transaction.id)
        return code

    def _note_unsettled(self, id: TransactionId) -> None:
        if len(self._unsettled) >= _MAX_UNSETTLED:
            oldest = self._clock() - VALID_DURATION
            self._unsettled = {other for other in self._unsettled if other.valid_start > oldest}
        self._unsettled.add(id)

    async def _wait_for_receipt(self, transaction: LedgerTransaction, nodes: Sequence[Node]) -> LedgerReceipt:
        """Ask the node that has taken it first; the others know it after consensus."""
        end = time.monotonic() + self._receipt_timeout
        turn = 0
        for attempt in count():
            try:
                outcome = await self._nodes.read_receipt(nodes[turn % len(nodes)], transaction.id)
            except Unavailable:
                if self._nodes.is_closed:
                    raise
                turn += 1
            else:
                if outcome.code not in PENDING:
                    return build_receipt(transaction, outcome)
                turn += outcome.code == NOT_FOUND
            delay = self._backoff.delay(attempt)
            if time.monotonic() + delay > end:
                break
            await asyncio.sleep(delay)
        final_outcome = await self._mirror.find_outcome(transaction)
        if final_outcome is None:
            raise Unavailable(f"the transaction {transaction.id} was sent, and there is no receipt of it yet")
        return build_receipt(transaction, final_outcome)

    async def _confirm_refusal(self, transaction: LedgerTransaction, node: Node, code: str) -> LedgerReceipt:
        """Raise TransactionRefused, unless an earlier attempt was executed or may be."""
        outcome = await self._nodes.read_receipt(node, transaction.id)
        if outcome.code not in PENDING:
            return build_receipt(transaction, outcome)
        if outcome.code == NOT_FOUND and transaction.id not in self._unsettled:
            raise build_refusal(transaction, code, is_final=False)
        raise Unavailable(
            f"the transaction {transaction.id} is refused now ({code}), but an earlier attempt may have succeeded"
        )

    async def _settle(self, transaction: LedgerTransaction) -> LedgerReceipt:
        """Find out from the mirror node what came of a transaction whose id is too old."""
        mirror_time = await self._mirror.read_time()
        outcome = await self._mirror.find_outcome(transaction)
        if outcome is not None:
            return build_receipt(transaction, outcome)
        missing = transaction.id.valid_start + VALID_DURATION + _MIRROR_MARGIN - mirror_time
        if missing >= 0:
            error = Unavailable(
                f"the mirror node has not caught up, so what came of the transaction {transaction.id} is not known yet"
            )
            error.retry_after = min(missing / NANOSECONDS, VALID_DURATION / NANOSECONDS)
            raise error
        raise build_expiry(transaction)

    async def read_messages(self, topic: LedgerId, *, after: int, limit: int = 100) -> list[TopicMessage]:
        return await self._mirror.read_messages(topic, after=after, limit=limit)

    async def read_topic(self, topic: LedgerId) -> TopicInfo | None:
        return await self._mirror.read_topic(topic)

    async def read_account(self, account: LedgerId) -> AccountInfo | None:
        return await self._mirror.read_account(account)

    def compress(self, content: bytes) -> tuple[str, bytes]:
        return compression.compress(content)

    def decompress(self, content: bytes, method: str, *, max_size: int) -> bytes:
        return compression.decompress(content, method, max_size=max_size)

    async def close(self) -> None:
        await self._nodes.close()
        await self._mirror.close()
