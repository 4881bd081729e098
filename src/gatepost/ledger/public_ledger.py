"""
The port to a public ledger.

It is outside of the store: everybody can read it, and nothing on it is ever deleted. (The local ledger is in the store:
`ledger/topic_actions.py`.) Transactions go to its nodes, signed with private keys that only the adapter sees. Reads
come from a mirror node, which may lag behind, and may answer twice.
"""

from typing import Protocol

from gatepost.ledger.topic import LedgerId, TopicMessage
from gatepost.ledger.transaction import AccountInfo, LedgerReceipt, LedgerTransaction, TopicInfo


class PublicLedger(Protocol):
    """Every method raises Unavailable if the ledger cannot be reached, or is busy."""

    @property
    def network(self) -> str:
        """Its name, as in the settings: `testnet` or `mainnet`."""

    @property
    def operator(self) -> LedgerId:
        """The account that pays for new accounts and topics."""

    def make_key(self, owner: str) -> str:
        """Make the private key of an entity on disk, unless there is one, and return its public key."""

    def has_key(self, owner: str) -> bool:
        """Return True if the private key of an entity is here."""

    async def execute(self, transaction: LedgerTransaction) -> LedgerReceipt:
        """
        Have a transaction executed, and return its receipt; if it was executed before, return that receipt.

        Raise TransactionExpired or TransactionRefused only if it is certain that it was not executed, and will not be;
        one that was refused before consensus (`is_final` is False) may be, if it is sent again. Raise Unavailable if
        that is not known: then call again with the same transaction.
        """

    async def read_messages(self, topic: LedgerId, *, after: int, limit: int = 100) -> list[TopicMessage]:
        """Return messages whose sequence is greater than `after`, in their order; some may be repeated or missing."""

    async def read_topic(self, topic: LedgerId) -> TopicInfo | None: ...

    async def read_account(self, account: LedgerId) -> AccountInfo | None: ...

    def compress(self, content: bytes) -> tuple[str, bytes]:
        """Return a content as a file of the ledger (HCS-1) holds it, and the method: `zstd` or `brotli`."""

    def decompress(self, content: bytes, method: str, *, max_size: int) -> bytes:
        """Return the content of such a file; raise Invalid if it is larger than `max_size`, or is none."""

    async def close(self) -> None:
        """Close the connections."""
