"""
What a transaction does when it reaches consensus.

Whatever comes of it, the payer is charged, and the transaction has a receipt and is on the mirror node. The errors
here are results of that receipt: an unknown topic or account, a key that has not signed, a wrong chunk.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.ledger.hedera.network.keys import is_well_formed
from tests.ledger.hedera.network.prechecks import Submission, check_memo
from tests.ledger.hedera.network.protobufs import basic_types_pb2, transaction_receipt_pb2
from tests.ledger.hedera.network.state import (
    FEE_ACCOUNT,
    Account,
    Chunk,
    ExecutedTransaction,
    Refusal,
    State,
    Topic,
    find_code,
    format_account,
    format_topic,
    format_transaction,
)

MAX_MESSAGE_SIZE = 1_024
#: seconds
MIN_RENEWAL, MAX_RENEWAL = 2_592_000, 8_000_001


@dataclass
class Effect:
    """What a transaction has done."""

    #: fields of the receipt
    receipt: dict[str, Any]
    entity: str | None = None


def execute(state: State, submission: Submission, node: str) -> ExecutedTransaction:
    """Give a transaction its consensus time, charge its payer, and do what it says."""
    name, run = _KINDS[submission.kind]
    timestamp = state.next_timestamp()
    balances = {id: account.balance for id, account in state.accounts.items()}
    fee = 0
    try:
        if timestamp > submission.valid_end:
            raise Refusal("TRANSACTION_EXPIRED")
        fee = min(submission.fee, balances[submission.payer])
        state.move({submission.payer: -fee, FEE_ACCOUNT: fee})
        if fee < submission.fee:
            raise Refusal("INSUFFICIENT_PAYER_BALANCE")
        effect, result = run(state, submission, timestamp), "SUCCESS"
    except Refusal as refusal:
        effect, result = Effect({}, find_target(submission)), refusal.code
    changes = {id: account.balance - balances.get(id, 0) for id, account in state.accounts.items()}
    transaction = ExecutedTransaction(
        id=submission.id,
        name=name,
        result=result,
        entity=effect.entity,
        timestamp=timestamp,
        valid_start=submission.valid_start,
        valid_duration=submission.body.transactionValidDuration.seconds,
        node=node,
        fee=fee,
        max_fee=submission.body.transactionFee,
        memo=submission.body.memo,
        hash=submission.hash,
        transfers={id: change for id, change in changes.items() if change},
        receipt=transaction_receipt_pb2.TransactionReceipt(status=find_code(result), **effect.receipt),
    )
    state.transactions[transaction.id] = transaction
    return transaction


def find_target(submission: Submission) -> str | None:
    """Return what a transaction names, for the mirror node shows that also if it failed."""
    match submission.kind:
        case "consensusSubmitMessage":
            return format_topic(submission.body.consensusSubmitMessage.topicID)
        case "cryptoUpdateAccount":
            return format_account(submission.body.cryptoUpdateAccount.accountIDToUpdate)
        case _:
            return None


def create_account(state: State, submission: Submission, timestamp: int) -> Effect:
    create = submission.body.cryptoCreateAccount
    require_key(create.key, "BAD_ENCODING")
    check_memo(create.memo)
    check_renewal(create.autoRenewPeriod.seconds)
    if state.find_account(submission.payer).balance < create.initialBalance:
        raise Refusal("INSUFFICIENT_PAYER_BALANCE")
    account = Account(state.next_id(), create.key, 0, create.memo, timestamp)
    state.accounts[account.id] = account
    state.move({submission.payer: -create.initialBalance, account.id: create.initialBalance})
    return Effect({"accountID": basic_types_pb2.AccountID(accountNum=read_number(account.id))}, account.id)


def update_account(state: State, submission: Submission, timestamp: int) -> Effect:
    update = submission.body.cryptoUpdateAccount
    account = state.find_account(format_account(update.accountIDToUpdate))
    require_signature(submission, account.key)
    check_memo(update.memo.value)
    account.memo = update.memo.value
    return Effect({"accountID": update.accountIDToUpdate}, account.id)


def transfer(state: State, submission: Submission, timestamp: int) -> Effect:
    amounts = submission.body.cryptoTransfer.transfers.accountAmounts
    transfers = {format_account(entry.accountID): int(entry.amount) for entry in amounts}
    for id, amount in transfers.items():
        account = state.find_account(id)
        if amount < 0:
            require_signature(submission, account.key)
        if account.balance + amount < 0:
            raise Refusal("INSUFFICIENT_ACCOUNT_BALANCE")
    state.move(transfers)
    return Effect({})


def create_topic(state: State, submission: Submission, timestamp: int) -> Effect:
    create = submission.body.consensusCreateTopic
    check_memo(create.memo)
    submit_key = create.submitKey if create.HasField("submitKey") else None
    if submit_key is not None:
        require_key(submit_key, "INVALID_SUBMIT_KEY")
    check_renewal(create.autoRenewPeriod.seconds)
    if create.HasField("autoRenewAccount"):
        renewer = state.find_account(format_account(create.autoRenewAccount), "INVALID_AUTORENEW_ACCOUNT")
        require_signature(submission, renewer.key)
    topic = Topic(state.next_id(), create.memo, submit_key, None, timestamp)
    state.topics[topic.id] = topic
    return Effect({"topicID": basic_types_pb2.TopicID(topicNum=read_number(topic.id))}, topic.id)


def submit_message(state: State, submission: Submission, timestamp: int) -> Effect:
    submit = submission.body.consensusSubmitMessage
    topic = state.find_topic(format_topic(submit.topicID))
    if topic.submit_key is not None:
        require_signature(submission, topic.submit_key)
    if len(submit.message) > MAX_MESSAGE_SIZE:
        raise Refusal("MESSAGE_SIZE_TOO_LARGE")
    message = state.append_message(
        topic,
        timestamp=timestamp,
        payer=submission.payer,
        content=submit.message,
        chunk=check_chunk(submission) if submit.HasField("chunkInfo") else None,
        transaction=submission.id,
        memo=submission.body.memo,
    )
    receipt = {
        "topicSequenceNumber": message.sequence,
        "topicRunningHash": message.running_hash,
        "topicRunningHashVersion": 3,
    }
    return Effect(receipt, topic.id)


def check_chunk(submission: Submission) -> Chunk:
    chunk = submission.body.consensusSubmitMessage.chunkInfo
    if not 1 <= chunk.number <= chunk.total:
        raise Refusal("INVALID_CHUNK_NUMBER")
    if format_account(chunk.initialTransactionID.accountID) != submission.payer:
        raise Refusal("INVALID_CHUNK_TRANSACTION_ID")
    initial_id = format_transaction(chunk.initialTransactionID)
    if chunk.number == 1 and initial_id != submission.id:
        raise Refusal("INVALID_CHUNK_TRANSACTION_ID")
    return Chunk(initial_id, chunk.number, chunk.total)


def require_signature(submission: Submission, key: Any) -> None:
    if not submission.is_signed_by(key):
        raise Refusal("INVALID_SIGNATURE")


def require_key(key: Any, code: str) -> None:
    if not is_well_formed(key):
        raise Refusal(code)


def check_renewal(seconds: int) -> None:
    if not MIN_RENEWAL <= seconds <= MAX_RENEWAL:
        raise Refusal("AUTORENEW_DURATION_NOT_IN_RANGE")


def read_number(id: str) -> int:
    return int(id.rpartition(".")[2])


#: the names are those of the mirror node
_KINDS: dict[str, tuple[str, Callable[[State, Submission, int], Effect]]] = {
    "cryptoCreateAccount": ("CRYPTOCREATEACCOUNT", create_account),
    "cryptoUpdateAccount": ("CRYPTOUPDATEACCOUNT", update_account),
    "cryptoTransfer": ("CRYPTOTRANSFER", transfer),
    "consensusCreateTopic": ("CONSENSUSCREATETOPIC", create_topic),
    "consensusSubmitMessage": ("CONSENSUSSUBMITMESSAGE", submit_message),
}
