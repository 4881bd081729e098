"""What the mirror node shows of accounts, topics, messages, transactions and blocks, in its fields."""

import hashlib
from base64 import b64encode
from typing import Any

from tests.ledger.hedera.network.keys import format_key
from tests.ledger.hedera.network.state import SECOND, Account, ExecutedTransaction, Message, Topic, format_timestamp

#: nanoseconds
BLOCK_LENGTH = 2 * SECOND


def format_message(message: Message) -> dict[str, Any]:
    chunk = message.chunk
    account, _, valid_start = chunk.transaction.partition("@") if chunk else ("", "", "")
    return {
        "chunk_info": chunk
        and {
            "initial_transaction_id": {
                "account_id": account,
                "nonce": 0,
                "scheduled": False,
                "transaction_valid_start": valid_start,
            },
            "number": chunk.number,
            "total": chunk.total,
        },
        "consensus_timestamp": format_timestamp(message.timestamp),
        "message": b64encode(message.content).decode(),
        "payer_account_id": message.payer,
        "running_hash": b64encode(message.running_hash).decode(),
        "running_hash_version": 3,
        "sequence_number": message.sequence,
        "topic_id": message.topic,
    }


def format_topic(topic: Topic) -> dict[str, Any]:
    created_at = format_timestamp(topic.created_at)
    return {
        "admin_key": format_key(topic.admin_key),
        "auto_renew_account": None,
        "auto_renew_period": 7_890_000,
        "created_timestamp": created_at,
        "custom_fees": {"created_timestamp": created_at, "fixed_fees": []},
        "deleted": False,
        "fee_exempt_key_list": [],
        "fee_schedule_key": None,
        "memo": topic.memo,
        "submit_key": format_key(topic.submit_key),
        "timestamp": {"from": created_at, "to": None},
        "topic_id": topic.id,
    }


def format_account(account: Account, now: int) -> dict[str, Any]:
    created_at = format_timestamp(account.created_at)
    return {
        "account": account.id,
        "alias": None,
        "auto_renew_period": 7_890_000,
        "balance": {"balance": account.balance, "timestamp": format_timestamp(now), "tokens": []},
        "created_timestamp": created_at,
        "decline_reward": False,
        "deleted": False,
        "ethereum_nonce": 0,
        "evm_address": f"0x{int(account.id.rpartition('.')[2]):040x}",
        "expiry_timestamp": format_timestamp(account.created_at + 7_890_000 * SECOND),
        "key": format_key(account.key),
        "max_automatic_token_associations": 0,
        "memo": account.memo,
        "pending_reward": 0,
        "receiver_sig_required": False,
        "staked_account_id": None,
        "staked_node_id": None,
        "stake_period_start": None,
        "transactions": [],
        "links": {"next": None},
    }


def format_transaction(transaction: ExecutedTransaction) -> dict[str, Any]:
    payer, _, valid_start = transaction.id.partition("@")
    return {
        "batch_key": None,
        "bytes": None,
        "charged_tx_fee": transaction.fee,
        "consensus_timestamp": format_timestamp(transaction.timestamp),
        "entity_id": transaction.entity,
        "max_custom_fees": [],
        "max_fee": str(transaction.max_fee),
        "memo_base64": b64encode(transaction.memo.encode()).decode(),
        "name": transaction.name,
        "nft_transfers": [],
        "node": transaction.node,
        "nonce": 0,
        "parent_consensus_timestamp": None,
        "result": transaction.result,
        "scheduled": False,
        "staking_reward_transfers": [],
        "token_transfers": [],
        "transaction_hash": b64encode(transaction.hash).decode(),
        "transaction_id": f"{payer}-{valid_start.replace('.', '-')}",
        "transfers": [
            {"account": account, "amount": amount, "is_approval": False}
            for account, amount in sorted(transaction.transfers.items())
        ],
        "valid_duration_seconds": str(transaction.valid_duration),
        "valid_start_timestamp": valid_start,
    }


def format_block(now: int) -> dict[str, Any]:
    """Return the newest block; it ends now."""
    number = now // BLOCK_LENGTH
    begin = format_timestamp(number * BLOCK_LENGTH)
    return {
        "count": 1,
        "gas_used": 0,
        "hapi_version": "0.66.0",
        "hash": _hash_block(number),
        "logs_bloom": "0x",
        "name": f"{begin}.rcd.gz",
        "number": number,
        "previous_hash": _hash_block(number - 1),
        "size": 1_024,
        "timestamp": {"from": begin, "to": format_timestamp(now)},
    }


def _hash_block(number: int) -> str:
    return "0x" + hashlib.sha384(str(number).encode()).hexdigest()
