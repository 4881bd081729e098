"""
Messages of topics in the JSON of a mirror node, and in exports of a ledger, which have the same fields.

    {"messages": [{"topic_id", "sequence_number", "consensus_timestamp", "payer_account_id", "message", "running_hash",
                   "running_hash_version", "chunk_info"}, ...], "links": {...}}

Fields that are not named here are ignored, as a newer mirror node may have more.
"""

import json
import re
from base64 import b64decode
from binascii import Error as BinasciiError
from collections.abc import Mapping
from typing import Any, Final

from gatepost.errors import Invalid, quote_value
from gatepost.ledger.running_hash import HASH_LENGTH
from gatepost.ledger.topic import MAX_NUMBER, NANOSECONDS, Chunk, LedgerId, TopicMessage

_HINT: Final = "give the JSON of a mirror node, or an export of `gatepost ledger export`"
_TIMESTAMP: Final = re.compile(r"([0-9]{1,10})\.([0-9]{9})")


def parse_messages(text: str | bytes, label: str = "this") -> list[TopicMessage]:
    """Return the messages of a document, in its order; raise Invalid with the first thing that is wrong in `label`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid(f"{label} is not JSON", hint=_HINT) from None
    entries = document.get("messages") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise Invalid(f"{label} has no list of messages", hint=_HINT)
    return [_parse_entry(number, entry) for number, entry in enumerate(entries, start=1)]


def _parse_entry(number: int, entry: Any) -> TopicMessage:
    if not isinstance(entry, dict):
        raise Invalid(f"message {number} of the file is not an object", hint=_HINT)
    try:
        return parse_message(entry)
    except Invalid as error:
        raise Invalid(f"message {number} of the file: {error.message}", hint=error.hint) from None


def parse_message(entry: Mapping[str, Any]) -> TopicMessage:
    running_hash = _read_bytes(entry, "running_hash")
    if len(running_hash) != HASH_LENGTH:
        raise Invalid(f"running_hash has {len(running_hash)} bytes, not {HASH_LENGTH}")
    return TopicMessage(
        topic=LedgerId.parse(_read_text(entry, "topic_id")),
        sequence=_read_number(entry, "sequence_number"),
        timestamp=parse_timestamp(_read_text(entry, "consensus_timestamp")),
        payer=LedgerId.parse(_read_text(entry, "payer_account_id")),
        content=_read_bytes(entry, "message"),
        running_hash=running_hash,
        version=_read_number(entry, "running_hash_version"),
        chunk=_parse_chunk(entry.get("chunk_info")),
    )


def parse_timestamp(text: str) -> int:
    """Return the nanoseconds of `1640995200.252365821`."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise Invalid(f"{quote_value(text)} is not a time of a ledger", hint="write it as 1640995200.252365821")
    return int(match[1]) * NANOSECONDS + int(match[2])


def format_timestamp(timestamp: int) -> str:
    seconds, nanoseconds = divmod(timestamp, NANOSECONDS)
    return f"{seconds}.{nanoseconds:09}"


def _parse_chunk(value: Any) -> Chunk | None:
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("initial_transaction_id"), dict):
        raise Invalid("chunk_info is not an object with an initial_transaction_id")
    transaction = value["initial_transaction_id"]
    account, valid_start = _read_text(transaction, "account_id"), _read_text(transaction, "transaction_valid_start")
    number, total = _read_number(value, "number"), _read_number(value, "total")
    if not 1 <= number <= total:
        raise Invalid(f"chunk_info has the number {number} of {total}")
    return Chunk(f"{account}@{valid_start}", number, total)


def _read_text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    if not isinstance(value, str):
        raise Invalid(f"{name} is {'missing' if value is None else 'not text'}")
    return value


def _read_number(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_NUMBER:
        raise Invalid(f"{name} is {'missing' if value is None else 'not a whole number'}")
    return value


def _read_bytes(entry: Mapping[str, Any], name: str) -> bytes:
    try:
        return b64decode(_read_text(entry, name), validate=True)
    except (BinasciiError, ValueError):
        raise Invalid(f"{name} is not base64") from None
