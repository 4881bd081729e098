"""
The bytes that a ledger gets of what was sent.

A message has at most 1,024 bytes. A text that makes it longer is put into a file (HCS-1), and the message has a
reference to it; of a text over 64 KiB only the SHA-384 is posted, and the text stays in the store. The rest of a note
or an event, such as a long list of names, is posted in chunks.
"""

from collections.abc import Mapping
from hashlib import sha384
from typing import Any, Final

import msgspec
from msgspec import Struct

from gatepost.core import typed_json
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs10_messages as hcs10
from gatepost.ledger.topic import MAX_MESSAGE_SIZE

#: bytes of the text of a note or an event that is worth a file of its own
_MIN_FILE_SIZE: Final = 256
_DIGEST_PREFIX: Final = "sha384:"


class LedgerFile(Struct, frozen=True):
    content: bytes
    media_type: str


class LedgerMessage(Struct, frozen=True, kw_only=True):
    """A message before it is posted: of mail with the operator id of its sender, of notes and events without."""

    data: Mapping[str, Any]
    operator_id: str | None = None

    @property
    def _text_field(self) -> str:
        return "note" if "note" in self.data else "reason"

    @property
    def _text(self) -> bytes:
        """The text that can be left out: all of the data of mail, or the text of a note or an event."""
        return hcs10.encode(self.data) if self.operator_id else str(self.data[self._text_field]).encode()

    def find_file(self) -> LedgerFile | None:
        """Return the file that the message needs; None if it needs none."""
        if not self._is_long() or len(self._text) > hcs1.MAX_FILE_SIZE:
            return None
        return LedgerFile(self._text, hcs1.MEDIA_TYPE if self.operator_id else "text/markdown")

    def encode(self, reference: str | None = None) -> bytes:
        """Return the bytes to post; `reference` is that of the file, if there is one."""
        if reference is None and self._is_long():
            digest = sha384(self._text).hexdigest()
            reference = hcs10.build_digest(self.data, self._text) if self.operator_id else f"{_DIGEST_PREFIX}{digest}"
        if self.operator_id is not None:
            return hcs10.build_message(self.operator_id, reference or self._text.decode())
        return hcs10.encode(self.data if reference is None else {**self.data, self._text_field: reference})

    def _is_long(self) -> bool:
        if self.operator_id is not None:
            return len(hcs10.build_message(self.operator_id, self._text.decode())) > MAX_MESSAGE_SIZE
        return len(hcs10.encode(self.data)) > MAX_MESSAGE_SIZE and len(self._text) > _MIN_FILE_SIZE


def has_content(content: bytes, record: str) -> bool:
    """Return False if a message names the hash of a content, and the record in the store (JSON) has another."""
    try:
        document: dict[str, Any] = typed_json.decode(content, dict)
        data: dict[str, Any] = typed_json.decode(record, dict)
    except msgspec.MsgspecError:
        return True
    if isinstance(document.get("data"), str) and '"sha384"' in document["data"]:
        posted = typed_json.decode(document["data"], dict).get("sha384")
        return bool(posted == sha384(hcs10.encode(data)).hexdigest())
    for field in ("note", "reason"):
        posted = document.get(field)
        if isinstance(posted, str) and posted.startswith(_DIGEST_PREFIX):
            return posted == f"{_DIGEST_PREFIX}{sha384(str(data.get(field)).encode()).hexdigest()}"
    return True
