"""
The sessions of guests, as far as they are files: a session's id becomes the name of its spool and of its folder.

The id is whatever a host says it is, so it may hold anything: separators, dots, controls, ten thousand letters. Other
programs find a session's spool by its id, so an ordinary one (a UUID, a word) is its own name.
"""

import re
from typing import Final

from gatepost.errors import Invalid

_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
#: bytes of a name; file systems take 255, and what is put beside a spool has an ending more
_MAX_LENGTH: Final = 180


def encode_filename(session: str) -> str:
    """
    The name of a session's files: one for each id, never a path, and the id itself where that is harmless. What is not
    is written `%XX`, and of an id that is too long the beginning and a hash.
    """
    if not session:
        raise Invalid("a session needs an id", hint="name it with --session")
    if len(session) <= _MAX_LENGTH and _PLAIN_ID.fullmatch(session):
        return session
    from urllib.parse import quote  # rare, and not light

    raw = session.encode(errors="surrogatepass")
    safe = quote(raw, safe="")
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    if len(safe) <= _MAX_LENGTH:
        return safe
    from hashlib import sha256

    # no other name has this form: a `%` is followed by two hexadecimal digits
    return f"{safe[: _MAX_LENGTH - 70]}%~{sha256(raw).hexdigest()}"


def decode_filename(name: str) -> str | None:
    """The id of the session whose files have this name; None if that cannot be told from it."""
    from urllib.parse import unquote_to_bytes

    try:
        id = unquote_to_bytes(name).decode(errors="surrogatepass")
    except UnicodeError:
        return None
    return id if id and encode_filename(id) == name else None
