"""
Messages between agents on a ledger, after HCS-10: the memos of topics, and the bytes that are posted.

    mail    {"p": "hcs-10", "op": "message", "operator_id": "INBOUND@ACCOUNT", "data": "{...}"}
    note    {"type": "task.note", "from_agent", "note", "notify", "uid", "priority", "ts"}
    event   {"type": "task.blocked", "from_agent", "reason", "uid", "ts"}

A message has at most 1,024 bytes. What makes it longer is put into a file (`hcs1.py`), and the message has a reference
to it; of more than 64 KiB only the SHA-384 is posted.
"""

import json
from collections.abc import Mapping
from hashlib import sha384
from typing import Any, Final

from gatepost.core.ledger import LedgerId

#: seconds for which others may keep what they read of a topic
TTL: Final = 3_600
OUTBOUND_MEMO: Final = f"hcs-10:0:{TTL}:1"
BROADCAST_MEMO: Final = "gatepost:broadcast"
_REFERENCE: Final = "hcs://1/"


def build_inbound_memo(account: LedgerId) -> str:
    return f"hcs-10:0:{TTL}:0:{account}"


def build_work_memo(type: str, id: str) -> str:
    return f"gatepost:{type}:{id}"


def build_operator_id(inbound: LedgerId, account: LedgerId) -> str:
    return f"{inbound}@{account}"


def build_message(operator_id: str, data: str) -> bytes:
    """Return a message to the inbound topic of its recipient."""
    return encode({"p": "hcs-10", "op": "message", "operator_id": operator_id, "data": data})


def build_reference(file: LedgerId) -> str:
    return f"{_REFERENCE}{file}"


def build_digest(data: Mapping[str, Any], content: bytes) -> str:
    """Return what is posted in the place of a content that is too long: its hash, and the id of the record."""
    return encode({"uid": data["uid"], "sha384": sha384(content).hexdigest()}).decode()


def encode(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
