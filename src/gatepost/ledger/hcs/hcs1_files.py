"""
Files on a ledger, after HCS-1: a topic of its own for each file, with the hash of the file in its memo.

    memo       SHA256:zstd:base64
    message    {"o": 0, "c": "data:application/json;base64,..."}     the parts in the order of `o`

A file of the local ledger is a frame of Zstandard, as the standard asks for, that is not compressed: nothing has to be
installed to write it or to read it. Other files are compressed, and decompressed, by a function that the caller gives.

What is read was written by others. Parts may come in any order, and more than once; whatever else is wrong with them
is Invalid.
"""

import json
import re
from base64 import b64decode, b64encode
from binascii import Error as BinasciiError
from collections.abc import Iterable
from hashlib import sha256
from typing import Final, Protocol

from msgspec import Struct

from gatepost.core.json_limits import parse_json
from gatepost.errors import Invalid, TooLarge, quote_value
from gatepost.ledger.topic import MAX_MESSAGE_SIZE

MEDIA_TYPE: Final = "application/json"
#: bytes of a file that are posted; of a longer one only the hash is
MAX_FILE_SIZE: Final = 64 * 1024
#: bytes of a file of others, and the number of its parts
MAX_FOREIGN_SIZE: Final = 1024 * 1024
MAX_PARTS: Final = 1_500

#: bytes of all messages of a file, repeated ones included
_MAX_TOTAL: Final = 4 * 1024 * 1024
_METHODS: Final = ("zstd", "brotli")
_ENCODING: Final = "base64"
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
#: one segment, and four bytes for its size
_DESCRIPTOR: Final = 0b1010_0000
_LAST_BLOCK: Final = 1
#: the bytes of a frame before its content: the magic number, the descriptor, the size, the header of the block
_FRAME_HEAD: Final = 12
#: characters of a part beside its text
_FRAME_LENGTH: Final = len('{"o":99999,"c":""}')

_MEMO: Final = re.compile(r"([0-9a-fA-F]{64}):([A-Za-z0-9-]{1,20}):([A-Za-z0-9-]{1,20})")
_HEAD: Final = re.compile(r"data:([!-+\--~]{1,200});base64,")


class FileMemo(Struct, frozen=True):
    #: SHA-256 of the content, in lower-case hexadecimal digits
    digest: str
    #: `zstd` or `brotli`
    method: str

    def __str__(self) -> str:
        return f"{self.digest}:{self.method}:{_ENCODING}"


class Decompress(Protocol):
    def __call__(self, content: bytes, method: str, *, max_size: int) -> bytes:
        """Return what was compressed by `zstd` or `brotli`; raise Invalid if it is wrong, or over the size."""


def build_file(
    content: bytes, media_type: str = MEDIA_TYPE, compressed: tuple[str, bytes] | None = None
) -> tuple[str, list[bytes]]:
    """
    Return the memo of a file's topic and the messages on it. `compressed` is how the content was compressed, and the
    result; without it, the content is in a frame that is not compressed.
    """
    assert len(content) <= MAX_FILE_SIZE
    method, stored_content = compressed or ("zstd", _build_frame(content))
    assert method in _METHODS
    text = f"data:{media_type};base64,{b64encode(stored_content).decode()}"
    length = MAX_MESSAGE_SIZE - _FRAME_LENGTH
    parts = [text[start : start + length] for start in range(0, len(text), length)]
    messages = [json.dumps({"o": place, "c": part}, separators=(",", ":")).encode() for place, part in enumerate(parts)]
    return str(FileMemo(sha256(content).hexdigest(), method)), messages


def parse_memo(text: str) -> FileMemo:
    match = _MEMO.fullmatch(text)
    if match is None:
        raise Invalid(f"{quote_value(text)} is not the memo of a file", hint="it is SHA256:zstd:base64")
    digest, method, encoding = match.groups()
    if method not in _METHODS or encoding != _ENCODING:
        raise Invalid(f"a file with {method!r} and {encoding!r} cannot be read", hint="use zstd or brotli, and base64")
    return FileMemo(digest.lower(), method)


def read_file(memo: str, messages: Iterable[bytes], decompress: Decompress | None = None) -> tuple[str, bytes]:
    """Return the media type and the content of a file. Without `decompress`, it must be a file of `build_file`."""
    file_memo = parse_memo(memo)
    media_type, stored_content = join_parts(messages)
    content = _read_frame(stored_content) if file_memo.method == "zstd" else None
    if content is None:
        if decompress is None:
            raise Invalid("the file is compressed, and cannot be read here")
        content = decompress(stored_content, file_memo.method, max_size=MAX_FOREIGN_SIZE)
    return media_type, check_content(file_memo, content)


def join_parts(messages: Iterable[bytes]) -> tuple[str, bytes]:
    """Return the media type of a file and its content as it is stored: compressed."""
    parts: dict[int, str] = {}
    size = 0
    for message in messages:
        size += len(message)
        if size > _MAX_TOTAL:
            raise TooLarge(f"the messages of the file have over {_MAX_TOTAL} bytes")
        place, text = _parse_part(message)
        if parts.setdefault(place, text) != text:
            raise Invalid(f"part {place} of the file is there twice, with different texts")
    for place in range(max(parts, default=0) + 1):
        if place not in parts:
            raise Invalid(f"part {place} of the file is missing")
    text = "".join(parts[place] for place in range(len(parts)))
    head = _HEAD.match(text)
    if head is None:
        raise Invalid("the file does not begin with `data:TYPE;base64,`")
    try:
        return head[1], b64decode(text[head.end() :], validate=True)
    except (BinasciiError, ValueError):
        raise Invalid("the file is not base64") from None


def check_content(memo: FileMemo, content: bytes) -> bytes:
    """Return the content if it is the one that the memo names."""
    if sha256(content).hexdigest() != memo.digest:
        raise Invalid("the content of the file does not have the hash of its memo")
    return content


def _parse_part(message: bytes) -> tuple[int, str]:
    document = parse_json(message, "a part of the file", hint='a part is {"o": 0, "c": "..."}')
    if not isinstance(document, dict):
        raise Invalid("a part of the file is not an object")
    place, text = document.get("o"), document.get("c")
    if not isinstance(place, int) or isinstance(place, bool) or place < 0:
        raise Invalid(f"the place of a part of the file is {quote_value(place)}, not a number from 0")
    if place >= MAX_PARTS:
        raise TooLarge(f"the file has over {MAX_PARTS} parts")
    if not isinstance(text, str):
        raise Invalid(f"part {place} of the file is not text")
    return place, text


def _build_frame(content: bytes) -> bytes:
    """Return a frame of Zstandard with one block that is not compressed."""
    header = len(content) << 3 | _LAST_BLOCK
    return b"".join(
        (_MAGIC, bytes([_DESCRIPTOR]), len(content).to_bytes(4, "little"), header.to_bytes(3, "little"), content)
    )


def _read_frame(frame: bytes) -> bytes | None:
    """Return the content of a frame of `_build_frame`; None if it is another."""
    content = frame[_FRAME_HEAD:]
    return content if frame == _build_frame(content) else None
