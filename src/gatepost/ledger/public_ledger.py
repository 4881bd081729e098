"""
The port to a public ledger: its transactions, what came of them, and what can be read there.

It is outside of the store: everybody can read it, and nothing on it is ever deleted. (The local ledger is in the store:
`ledger/topic_actions.py`.) Transactions go to its nodes, signed with private keys that only the adapter sees. Reads
come from a mirror node, which may lag behind, and may answer twice.

A transaction has an id that is chosen before it is sent: the account that pays, and the time from which it is valid.
The ledger executes a transaction of one id once, however often it is sent. So if an id is stored first, and used again
after a crash, the thing is done once. After two minutes an id is too old: then the transaction was executed before, or
never will be.
"""

import re
from typing import Final, Protocol

from msgspec import Struct

from gatepost.errors import Conflict, GatepostError, Invalid, quote_value
from gatepost.ledger.topic import NANOSECONDS, Chunk, LedgerId, TopicMessage
from gatepost.ledger.topic_json import format_timestamp, parse_timestamp

#: how long a transaction may be executed after the beginning of its validity, in nanoseconds
VALID_DURATION: Final = 120 * NANOSECONDS

_ID: Final = re.compile(r"([0-9.]+)@([0-9]+\.[0-9]{9})")


class TransactionId(Struct, frozen=True):
    """It is written as `0.0.2@1700000000.000000001`."""

    payer: LedgerId
    #: nanoseconds since 1970
    valid_start: int

    def __str__(self) -> str:
        return f"{self.payer}@{format_timestamp(self.valid_start)}"

    @staticmethod
    def parse(text: str) -> "TransactionId":
        match = _ID.fullmatch(text)
        if match is None:
            raise Invalid(f"{quote_value(text)} is not the id of a transaction")
        return TransactionId(LedgerId.parse(match[1]), parse_timestamp(match[2]))


class CreateAccount(Struct, frozen=True, kw_only=True):
    #: as `PublicLedger.make_key` returns it
    public_key: str
    #: tinybars that the payer puts into the account
    balance: int


class UpdateAccount(Struct, frozen=True, kw_only=True):
    account: LedgerId
    memo: str


class FundAccount(Struct, frozen=True, kw_only=True):
    """Move tinybars from the payer to an account."""

    account: LedgerId
    amount: int


class CreateTopic(Struct, frozen=True, kw_only=True):
    memo: str
    #: public keys, one of which must sign a message; empty if everybody may send messages
    submit_keys: tuple[str, ...] = ()


class SubmitMessage(Struct, frozen=True, kw_only=True):
    topic: LedgerId
    #: at most 1,024 bytes
    content: bytes
    chunk: Chunk | None = None


TransactionBody = CreateAccount | UpdateAccount | FundAccount | CreateTopic | SubmitMessage


class LedgerTransaction(Struct, frozen=True, kw_only=True):
    id: TransactionId
    body: TransactionBody
    #: the names of the entities whose keys sign, that of the payer first; None is the operator
    signers: tuple[str | None, ...]
    memo: str = ""


class LedgerReceipt(Struct, frozen=True, kw_only=True):
    """What an executed transaction has made."""

    account: LedgerId | None = None
    topic: LedgerId | None = None
    #: the number of a message in its topic
    sequence: int | None = None


class TopicInfo(Struct, frozen=True, kw_only=True):
    id: LedgerId
    memo: str
    #: whether a key is needed to send messages, and to change the topic
    has_submit_key: bool
    has_admin_key: bool


class AccountInfo(Struct, frozen=True, kw_only=True):
    id: LedgerId
    memo: str
    #: None if it is not a single key
    public_key: str | None
    #: tinybars
    balance: int


class TransactionExpired(Conflict):
    """A transaction was not executed, and never will be under its id."""

    type = "transaction-expired"


class TransactionRefused(GatepostError):
    """
    The ledger has refused a transaction, and has not executed it. If that is final, it never will under its id. If not,
    a node has refused it beforehand: then only one who sends it again can have it executed, so it keeps its id.
    """

    status = 409
    type = "transaction-refused"

    def __init__(self, code: str, message: str, *, hint: str | None = None, is_final: bool = True) -> None:
        """`code` is the word of the ledger, such as `INSUFFICIENT_PAYER_BALANCE`."""
        super().__init__(message, hint=hint)
        self.code = code
        self.is_final = is_final

    @property
    def is_unpaid(self) -> bool:
        """Whether the payer has too little money."""
        return self.code in ("INSUFFICIENT_PAYER_BALANCE", "INSUFFICIENT_ACCOUNT_BALANCE")


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
