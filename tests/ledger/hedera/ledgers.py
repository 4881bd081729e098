"""The Hedera adapter against the local network, on one clock that only the test moves."""

import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from gatepost.ledger.hedera import HederaLedger
from gatepost.ledger.public_ledger import (
    CreateAccount,
    CreateTopic,
    LedgerTransaction,
    SubmitMessage,
    TransactionBody,
    TransactionId,
)
from gatepost.ledger.topic import NANOSECONDS, LedgerId
from tests.ledger.hedera.network.node import HederaNetwork
from tests.support.waits import LAST_RESORT

_offsets = count(1)


class MovingClock:
    def __init__(self) -> None:
        self.now = time.time_ns()

    def __call__(self) -> int:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += int(seconds * NANOSECONDS)


class Sender:
    """A ledger, and an account on it that pays for messages."""

    def __init__(self, ledger: HederaLedger, network: HederaNetwork, clock: MovingClock) -> None:
        self.ledger = ledger
        self.network = network
        self.clock = clock

    def build(
        self,
        body: TransactionBody,
        *,
        payer: LedgerId | None = None,
        signers: tuple[str | None, ...] = (None,),
        memo: str = "",
        delay: float = -1,
    ) -> LedgerTransaction:
        """Return a transaction with an id of its own, valid from `delay` seconds after now."""
        valid_start = self.clock() + int(delay * NANOSECONDS) + next(_offsets)
        id = TransactionId(payer or self.ledger.operator, valid_start)
        return LedgerTransaction(id=id, body=body, signers=signers, memo=memo)

    def build_message(self, topic: LedgerId, content: bytes = b"hello") -> LedgerTransaction:
        return self.build(SubmitMessage(topic=topic, content=content))

    async def create_topic(self, *submit_keys: str) -> LedgerId:
        receipt = await self.ledger.execute(self.build(CreateTopic(memo="a topic", submit_keys=submit_keys)))
        assert receipt.topic is not None
        return receipt.topic

    async def create_account(self, owner: str, balance: int) -> LedgerId:
        body = CreateAccount(public_key=self.ledger.make_key(owner), balance=balance)
        receipt = await self.ledger.execute(self.build(body))
        assert receipt.account is not None
        return receipt.account

    def read_contents(self, topic: LedgerId) -> list[bytes]:
        """Return what is on the topic, whatever the mirror shows."""
        return [message.content for message in self.network.messages(str(topic))]


@asynccontextmanager
async def open_ledger(
    network: HederaNetwork, folder: Path, clock: Callable[[], int], **options: Any
) -> AsyncIterator[HederaLedger]:
    """Open a ledger that does not wait long; afterwards no thread of it may be left."""
    settings: dict[str, Any] = {
        "operator": network.operator_id,
        "operator_key_file": network.operator_key_file(folder),
        "keys": folder / "keys",
        "mirror": network.mirror_url,
        "nodes": network.nodes_setting.split(","),
        "deadline": LAST_RESORT,
        "backoff": 0.002,
        **options,
    }
    ledger = HederaLedger("testnet", clock=clock, **settings)
    try:
        yield ledger
    finally:
        await ledger.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("hedera")]
