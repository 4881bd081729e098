"""Transactions that are built and signed without the SDK, for strangers and forgers."""

from typing import Any

from tests.ledger.hedera.network.keys import SigningKey
from tests.ledger.hedera.network.protobufs import (
    basic_types_pb2,
    duration_pb2,
    timestamp_pb2,
    transaction_contents_pb2,
    transaction_pb2,
)
from tests.ledger.hedera.network.state import SECOND

#: tinybars
MAX_FEE = 200_000_000
#: seconds
VALID_DURATION = 120


def build_body(payer: str, node: str, valid_start: int, memo: str = "") -> Any:
    """Return a protobuf `TransactionBody` that does nothing yet: set one field of its data."""
    seconds, nanos = divmod(valid_start, SECOND)
    return transaction_pb2.TransactionBody(
        transactionID=basic_types_pb2.TransactionID(
            accountID=build_account_id(payer),
            transactionValidStart=timestamp_pb2.Timestamp(seconds=seconds, nanos=nanos),
        ),
        nodeAccountID=build_account_id(node),
        transactionFee=MAX_FEE,
        transactionValidDuration=duration_pb2.Duration(seconds=VALID_DURATION),
        memo=memo,
    )


def sign(body: Any, *keys: SigningKey) -> Any:
    """Return a protobuf `Transaction` of a body."""
    content = body.SerializeToString()
    signatures = basic_types_pb2.SignatureMap(sigPair=[key.sign(content) for key in keys])
    signed = transaction_contents_pb2.SignedTransaction(bodyBytes=content, sigMap=signatures)
    return transaction_pb2.Transaction(signedTransactionBytes=signed.SerializeToString())


def build_account_id(id: str) -> Any:
    """Return a protobuf `AccountID`."""
    shard, realm, number = map(int, id.split("."))
    return basic_types_pb2.AccountID(shardNum=shard, realmNum=realm, accountNum=number)


def build_topic_id(id: str) -> Any:
    """Return a protobuf `TopicID`."""
    shard, realm, number = map(int, id.split("."))
    return basic_types_pb2.TopicID(shardNum=shard, realmNum=realm, topicNum=number)
