"""
What a node checks before it accepts a transaction, in the order of a real node.

    syntax -> node -> time -> duplicate -> fields of its kind -> payer -> signature of the payer -> fee and balance

A transaction that is refused here never reaches consensus: it costs nothing, is not on the mirror node, and its id may
be used again. Other errors appear in the receipt (`tests.ledger.hedera.network.execution`).

The time comes before the duplicates: a transaction that was executed is answered `TRANSACTION_EXPIRED`, once it is old.
And a node takes none whose validity ends within the next ten seconds.
"""

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.ledger.hedera.network.keys import has_signed
from tests.ledger.hedera.network.protobufs import DecodeError, transaction_contents_pb2, transaction_pb2
from tests.ledger.hedera.network.state import SECOND, Refusal, State, format_account, format_transaction, read_timestamp

#: tinybars; at 5 cents for a hbar they are the prices of the network
FEES = {
    "cryptoCreateAccount": 100_000_000,
    "consensusCreateTopic": 20_000_000,
    "consensusSubmitMessage": 1_600_000,
    "cryptoTransfer": 200_000,
    "cryptoUpdateAccount": 440_000,
}
#: the fields that Gatepost sets. A transaction with another one is refused, so that it is not taken for nothing.
FIELDS = {
    "cryptoCreateAccount": {"key", "initialBalance", "autoRenewPeriod", "max_automatic_token_associations"},
    "cryptoUpdateAccount": {"accountIDToUpdate", "memo"},
    "cryptoTransfer": {"transfers"},
    "consensusCreateTopic": {"memo", "submitKey", "autoRenewPeriod", "autoRenewAccount"},
    "consensusSubmitMessage": {"topicID", "message", "chunkInfo"},
}
#: a node accepts no transaction that is valid for a shorter time than this
VALIDITY_BUFFER = 10 * SECOND
MIN_DURATION, MAX_DURATION = 15, 180
MAX_TRANSACTION_SIZE = 6_144
MAX_MEMO_SIZE = 100


@dataclass(frozen=True)
class Submission:
    """A signed transaction."""

    #: a protobuf `TransactionBody`
    body: Any
    body_bytes: bytes
    #: a protobuf `SignatureMap`
    signatures: Any
    hash: bytes

    @property
    def id(self) -> str:
        return format_transaction(self.body.transactionID)

    @property
    def payer(self) -> str:
        return format_account(self.body.transactionID.accountID)

    @property
    def kind(self) -> str:
        """The field of the body, such as `consensusSubmitMessage`."""
        return self.body.WhichOneof("data") or ""

    @property
    def fee(self) -> int:
        return FEES[self.kind]

    @property
    def valid_start(self) -> int:
        return read_timestamp(self.body.transactionID.transactionValidStart)

    @property
    def valid_end(self) -> int:
        return self.valid_start + int(self.body.transactionValidDuration.seconds) * SECOND

    def is_signed_by(self, key: Any) -> bool:
        return has_signed(key, self.body_bytes, self.signatures)


def check(state: State, transaction: Any, node: str) -> Submission:
    """Return what a protobuf `Transaction` holds, or raise Refusal."""
    submission = parse(transaction)
    check_syntax(submission)
    if format_account(submission.body.nodeAccountID) != node:
        raise Refusal("INVALID_NODE_ACCOUNT")
    check_time(submission, state.clock())
    if submission.id in state.accepted_ids:
        raise Refusal("DUPLICATE_TRANSACTION")
    check_fields(submission)
    payer = state.find_account(submission.payer, "PAYER_ACCOUNT_NOT_FOUND")
    if not submission.is_signed_by(payer.key):
        raise Refusal("INVALID_SIGNATURE")
    if submission.body.transactionFee < submission.fee:
        raise Refusal("INSUFFICIENT_TX_FEE")
    if payer.balance < submission.fee + find_other_costs(submission):
        raise Refusal("INSUFFICIENT_PAYER_BALANCE")
    return submission


def parse(transaction: Any) -> Submission:
    if transaction.ByteSize() > MAX_TRANSACTION_SIZE:
        raise Refusal("TRANSACTION_OVERSIZE")
    content = transaction.signedTransactionBytes
    if not content:
        raise Refusal("INVALID_TRANSACTION_BODY")
    try:
        signed = transaction_contents_pb2.SignedTransaction.FromString(content)
        body = transaction_pb2.TransactionBody.FromString(signed.bodyBytes)
    except DecodeError:
        raise Refusal("INVALID_TRANSACTION_BODY") from None
    return Submission(body, signed.bodyBytes, signed.sigMap, hashlib.sha384(content).digest())


def check_syntax(submission: Submission) -> None:
    body = submission.body
    if submission.kind not in FEES:
        raise Refusal("NOT_SUPPORTED" if submission.kind else "INVALID_TRANSACTION_BODY")
    if not body.HasField("transactionID"):
        raise Refusal("INVALID_TRANSACTION_ID")
    if body.transactionID.accountID.WhichOneof("account") != "accountNum":
        raise Refusal("PAYER_ACCOUNT_NOT_FOUND")
    if body.transactionID.scheduled or body.transactionID.nonce:
        raise Refusal("TRANSACTION_ID_FIELD_NOT_ALLOWED")
    if not body.transactionID.HasField("transactionValidStart"):
        raise Refusal("INVALID_TRANSACTION_START")
    check_memo(body.memo)
    prefixes = sorted(bytes(pair.pubKeyPrefix) for pair in submission.signatures.sigPair)
    if any(after.startswith(before) for before, after in pairwise(prefixes)):
        raise Refusal("KEY_PREFIX_MISMATCH")


def check_memo(memo: str) -> None:
    if len(memo.encode()) > MAX_MEMO_SIZE:
        raise Refusal("MEMO_TOO_LONG")
    if "\0" in memo:
        raise Refusal("INVALID_ZERO_BYTE_IN_STRING")


def check_time(submission: Submission, now: int) -> None:
    if not MIN_DURATION <= submission.body.transactionValidDuration.seconds <= MAX_DURATION:
        raise Refusal("INVALID_TRANSACTION_DURATION")
    if now > submission.valid_end - VALIDITY_BUFFER:
        raise Refusal("TRANSACTION_EXPIRED")
    if now < submission.valid_start:
        raise Refusal("INVALID_TRANSACTION_START")


def check_fields(submission: Submission) -> None:
    """Check what can be checked of each kind without looking at accounts and topics."""
    data = getattr(submission.body, submission.kind)
    if {field.name for field, _ in data.ListFields()} - FIELDS[submission.kind]:
        raise Refusal("NOT_SUPPORTED")
    faults: dict[str, bool] = {}
    match submission.kind:
        case "cryptoCreateAccount":
            faults = {
                "INVALID_INITIAL_BALANCE": data.initialBalance < 0,
                "KEY_REQUIRED": not data.HasField("key"),
                "INVALID_RENEWAL_PERIOD": not data.HasField("autoRenewPeriod"),
            }
        case "cryptoUpdateAccount":
            faults = {"ACCOUNT_ID_DOES_NOT_EXIST": not data.HasField("accountIDToUpdate")}
        case "cryptoTransfer":
            amounts = data.transfers.accountAmounts
            accounts = {format_account(entry.accountID) for entry in amounts}
            faults = {
                "INVALID_ACCOUNT_AMOUNTS": sum(entry.amount for entry in amounts) != 0,
                "ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS": len(accounts) != len(amounts),
            }
        case "consensusSubmitMessage":
            faults = {"INVALID_TOPIC_ID": not data.HasField("topicID"), "INVALID_TOPIC_MESSAGE": not data.message}
        case _:
            pass
    for code, is_wrong in faults.items():
        if is_wrong:
            raise Refusal(code)


def find_other_costs(submission: Submission) -> int:
    """Return the tinybars that the payer gives away by a transaction, besides its fee."""
    match submission.kind:
        case "cryptoCreateAccount":
            return int(submission.body.cryptoCreateAccount.initialBalance)
        case "cryptoTransfer":
            amounts = submission.body.cryptoTransfer.transfers.accountAmounts
            return sum(
                max(0, -entry.amount) for entry in amounts if format_account(entry.accountID) == submission.payer
            )
        case _:
            return 0
