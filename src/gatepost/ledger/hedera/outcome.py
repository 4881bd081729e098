"""
The codes of the ledger: what they say of a transaction.

Nodes answer with a code when a transaction is sent (the precheck), and with a code in its receipt. A mirror node has
the code of the receipt. A code is final, or says that nothing is known yet.
"""

from typing import Final, NamedTuple

from gatepost.errors import Unavailable
from gatepost.ledger.public_ledger import (
    CreateAccount,
    CreateTopic,
    FundAccount,
    LedgerReceipt,
    LedgerTransaction,
    SubmitMessage,
    TransactionBody,
    TransactionExpired,
    TransactionRefused,
    UpdateAccount,
)
from gatepost.ledger.topic import LedgerId

SUCCESS: Final = "SUCCESS"
EXPIRED: Final = "TRANSACTION_EXPIRED"
DUPLICATE: Final = "DUPLICATE_TRANSACTION"
NOT_FOUND: Final = "RECEIPT_NOT_FOUND"
#: of the precheck: the node has taken the transaction, now or before
ACCEPTED: Final = frozenset({"OK", DUPLICATE})
#: of the precheck: the node did not look at the transaction; it or another one may take it later
BUSY: Final = frozenset(
    {
        *("BUSY", "UNKNOWN", "PLATFORM_NOT_ACTIVE", "PLATFORM_TRANSACTION_NOT_CREATED"),
        *("CREATING_SYSTEM_ENTITIES", "WAITING_FOR_LEDGER_ID", "INVALID_NODE_ACCOUNT"),
    }
)
#: of a receipt: it is not final, or this node has none
PENDING: Final = frozenset({"UNKNOWN", "BUSY", *ACCEPTED, NOT_FOUND})

_HINTS: Final = {
    "INSUFFICIENT_PAYER_BALANCE": "send HBAR to the account {payer}",
    "INSUFFICIENT_ACCOUNT_BALANCE": "send HBAR to the account {payer}",
    "INSUFFICIENT_TX_FEE": "the fees of the network have risen above the limit of this version; install a newer one",
    "INVALID_SIGNATURE": "check that the private key belongs to the account {payer}, and may send to the topic; a key "
    "of 32 bytes in hex is read as ed25519, so give an ECDSA key as DER or PEM",
    "PAYER_ACCOUNT_NOT_FOUND": "check that the account {payer} is on this network",
}


class TransactionOutcome(NamedTuple):
    """What a receipt says."""

    code: str
    account: LedgerId | None = None
    topic: LedgerId | None = None
    sequence: int | None = None


def build_receipt(transaction: LedgerTransaction, outcome: TransactionOutcome) -> LedgerReceipt:
    """Return the receipt of an executed transaction; raise TransactionExpired or TransactionRefused for any other."""
    if outcome.code == EXPIRED:
        raise build_expiry(transaction)
    if outcome.code != SUCCESS:
        raise build_refusal(transaction, outcome.code)
    match transaction.body:
        case CreateAccount() if outcome.account is not None:
            return LedgerReceipt(account=outcome.account)
        case CreateTopic() if outcome.topic is not None:
            return LedgerReceipt(topic=outcome.topic)
        case SubmitMessage() if outcome.sequence is not None:
            return LedgerReceipt(sequence=outcome.sequence)
        case UpdateAccount() | FundAccount():
            return LedgerReceipt()
        case CreateAccount() | CreateTopic() | SubmitMessage():
            raise Unavailable(f"the receipt of the transaction {transaction.id} does not say what it made")


def build_expiry(transaction: LedgerTransaction) -> TransactionExpired:
    return TransactionExpired(
        f"the transaction {transaction.id} to {_describe(transaction.body)} was not executed within two minutes"
    )


def build_refusal(transaction: LedgerTransaction, code: str, *, is_final: bool = True) -> TransactionRefused:
    payer = transaction.id.payer
    hint = _HINTS.get(code)
    return TransactionRefused(
        code,
        f"the ledger refused to {_describe(transaction.body)} for the account {payer}: {code}",
        hint=hint.format(payer=payer) if hint else None,
        is_final=is_final,
    )


def _describe(body: TransactionBody) -> str:
    match body:
        case CreateAccount():
            return "create an account"
        case UpdateAccount():
            return f"update the account {body.account}"
        case FundAccount():
            return f"send {body.amount} tinybars to {body.account}"
        case CreateTopic():
            return "create a topic"
        case SubmitMessage():
            return f"send a message to the topic {body.topic}"
