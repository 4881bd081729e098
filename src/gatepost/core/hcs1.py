"""
Files on a ledger, after HCS-1: a topic of its own for each file, with the hash of the file in its memo.

    memo       SHA256:zstd:base64
    message    {"o": 0, "c": "data:application/json;base64,..."}     the parts in the order of `o`

The content is a frame of Zstandard, as the standard asks for; it is not compressed, so nothing has to be installed.
"""

import json
from base64 import b64encode
from hashlib import sha256
from typing import Final

from gatepost.core.ledger import MAX_MESSAGE_SIZE

MEDIA_TYPE: Final = "application/json"
#: bytes of a file that are posted; of a longer one only the hash is
MAX_FILE_SIZE: Final = 64 * 1024

_ENCODING: Final = "base64"
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
#: one segment, and four bytes for its size
_DESCRIPTOR: Final = 0b1010_0000
_LAST_BLOCK: Final = 1
#: characters of a part beside its text
_FRAME_LENGTH: Final = len('{"o":99999,"c":""}')


def build_file(content: bytes, media_type: str = MEDIA_TYPE) -> tuple[str, list[bytes]]:
    """Return the memo of a file's topic and the messages on it."""
    assert len(content) <= MAX_FILE_SIZE
    text = f"data:{media_type};base64,{b64encode(_frame(content)).decode()}"
    length = MAX_MESSAGE_SIZE - _FRAME_LENGTH
    parts = [text[start : start + length] for start in range(0, len(text), length)]
    messages = [json.dumps({"o": place, "c": part}, separators=(",", ":")).encode() for place, part in enumerate(parts)]
    return f"{sha256(content).hexdigest()}:zstd:{_ENCODING}", messages


def _frame(content: bytes) -> bytes:
    """Return a frame of Zstandard with one block that is not compressed."""
    header = len(content) << 3 | _LAST_BLOCK
    return b"".join(
        (_MAGIC, bytes([_DESCRIPTOR]), len(content).to_bytes(4, "little"), header.to_bytes(3, "little"), content)
    )
