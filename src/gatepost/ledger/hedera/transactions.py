"""
Build and sign transactions with the SDK.

A transaction has exactly the id that it is given. The SDK is kept from taking ids by itself: it does so for the parts
of a message that it splits, and for a transaction without an id.
"""

from collections.abc import Sequence
from typing import Any, Final

from hiero_sdk_python.account.account_create_transaction import AccountCreateTransaction  # type: ignore[import-untyped]
from hiero_sdk_python.account.account_id import AccountId  # type: ignore[import-untyped]
from hiero_sdk_python.account.account_update_transaction import AccountUpdateTransaction  # type: ignore[import-untyped]
from hiero_sdk_python.consensus.topic_create_transaction import TopicCreateTransaction  # type: ignore[import-untyped]
from hiero_sdk_python.consensus.topic_id import TopicId  # type: ignore[import-untyped]
from hiero_sdk_python.consensus.topic_message_submit_transaction import TopicMessageSubmitTransaction  # type: ignore[import-untyped]
from hiero_sdk_python.crypto.key_list import KeyList  # type: ignore[import-untyped]
from hiero_sdk_python.hapi.services import consensus_submit_message_pb2, timestamp_pb2  # type: ignore[import-untyped]
from hiero_sdk_python.transaction import transaction_id as sdk_ids  # type: ignore[import-untyped]
from hiero_sdk_python.transaction.transfer_transaction import TransferTransaction  # type: ignore[import-untyped]

from gatepost.ledger.hedera.keys import SigningKey, parse_public_key
from gatepost.ledger.public_ledger import (
    VALID_DURATION,
    CreateAccount,
    CreateTopic,
    FundAccount,
    LedgerTransaction,
    SubmitMessage,
    TransactionBody,
    TransactionId,
    UpdateAccount,
)
from gatepost.ledger.topic import NANOSECONDS, LedgerId

_HBAR: Final = 100_000_000
#: The most that a transaction may cost, in tinybars. The prices are set in dollars (0.05 for an account, 0.01 for a
#: topic, at most 0.001 for the others), so this suffices down to a price of one cent for an HBAR.
_FEE_LIMITS: Final[dict[type[TransactionBody], int]] = {
    CreateAccount: 10 * _HBAR,
    CreateTopic: 10 * _HBAR,
    UpdateAccount: 2 * _HBAR,
    FundAccount: 2 * _HBAR,
    SubmitMessage: 2 * _HBAR,
}


def build_transaction(transaction: LedgerTransaction, node: LedgerId, keys: Sequence[SigningKey]) -> Any:
    """Return a transaction for one node, signed with these keys."""
    built = _build_body(transaction)
    built.set_transaction_id(convert_id(transaction.id))
    built.set_node_account_ids([_convert_account(node)])
    built.set_transaction_memo(transaction.memo)
    built.set_transaction_valid_duration(VALID_DURATION // NANOSECONDS)
    built.transaction_fee = _FEE_LIMITS[type(transaction.body)]
    built.freeze()
    for key in keys:
        built.sign_with(key.public_key, key.sign)
    return built


def convert_id(id: TransactionId) -> Any:
    seconds, nanoseconds = divmod(id.valid_start, NANOSECONDS)
    valid_start = timestamp_pb2.Timestamp(seconds=seconds, nanos=nanoseconds)
    return sdk_ids.TransactionId(_convert_account(id.payer), valid_start)


def _build_body(transaction: LedgerTransaction) -> Any:
    payer = _convert_account(transaction.id.payer)
    match transaction.body:
        case CreateAccount(public_key=public_key, balance=balance):
            return AccountCreateTransaction(initial_balance=balance).set_key_without_alias(parse_public_key(public_key))
        case UpdateAccount(account=account, memo=memo):
            update = AccountUpdateTransaction().set_account_id(_convert_account(account)).set_account_memo(memo)
            return update.set_auto_renew_period(None)  # the SDK would change it
        case FundAccount(account=account, amount=amount):
            transfer = TransferTransaction().add_hbar_transfer(payer, -amount)
            return transfer.add_hbar_transfer(_convert_account(account), amount)
        case CreateTopic(memo=memo, submit_keys=submit_keys):
            # The payer also pays for later periods, as with every SDK (HIP-1021).
            topic = TopicCreateTransaction(memo=memo, auto_renew_account=payer)
            if submit_keys:
                topic.set_submit_key(_build_submit_key(submit_keys))
            return topic
        case SubmitMessage() as body:
            return _WholeMessage(body)


def _build_submit_key(submit_keys: Sequence[str]) -> Any:
    keys = [parse_public_key(text) for text in submit_keys]
    return keys[0] if len(keys) == 1 else KeyList(keys, threshold=1)


class _WholeMessage(TopicMessageSubmitTransaction):  # type: ignore[misc]
    """A message that is not split, and that may be a chunk of a longer one."""

    def __init__(self, body: SubmitMessage) -> None:
        super().__init__(topic_id=_convert_topic(body.topic), message=body.content)
        self._chunk = body.chunk

    def get_required_chunks(self) -> int:
        return 1

    def _build_proto_body(self) -> Any:
        body = super()._build_proto_body()
        if self._chunk is not None:
            first_id = convert_id(TransactionId.parse(self._chunk.transaction))
            chunk_info = consensus_submit_message_pb2.ConsensusMessageChunkInfo(
                initialTransactionID=first_id._to_proto(), total=self._chunk.total, number=self._chunk.number
            )
            body.chunkInfo.CopyFrom(chunk_info)
        return body


def _convert_account(id: LedgerId) -> Any:
    return AccountId(id.shard, id.realm, id.number)


def _convert_topic(id: LedgerId) -> Any:
    return TopicId(id.shard, id.realm, id.number)
