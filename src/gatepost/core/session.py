"""
Sessions of guests. A guest is an agent that lives in another program, and visits in sessions of that program.

The id of a session becomes the name of its spool and of its folder. The id is whatever the program says, so it may hold
anything: separators, dots, controls, ten thousand letters. Other programs find the spool of a session by its id, so an
ordinary id (a UUID, a word) is its own name.

Named tuples are made ten times faster than dataclasses, and a person waits for a hook.
"""

import re
from typing import Final, NamedTuple

from gatepost.core.times import Instant
from gatepost.errors import Invalid

#: the state of a session: its agent works, waits for its person, or is gone
WORKING: Final = "working"
IDLE: Final = "idle"
ENDED: Final = "ended"

_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
#: bytes of a name; file systems take 255, and files beside a spool have a longer ending
_MAX_LENGTH: Final = 180


class GuestSession(NamedTuple):
    """A session as the store knows it."""

    #: the id that its program gave it
    session: str
    agent: str
    #: the program: `claude`, `codex`, `gemini`, `cursor`
    host: str
    state: str
    started_at: Instant
    seen_at: Instant


class Guest(NamedTuple):
    """A session on this machine, as its hooks recorded it."""

    session: str
    agent: str
    #: whether it has nothing to do; a session without a recorded state is not idle
    is_idle: bool = False
    #: another number whenever its hooks have recorded something
    revision: int = 0


def encode_filename(session: str) -> str:
    """
    Return the name of a session's files: one for each id, never a path, and the id itself if that is harmless. Other
    characters are written as `%XX`; an id that is too long becomes its beginning and a hash.
    """
    if not session:
        raise Invalid("a session needs an id", hint="name it with --session")
    if len(session) <= _MAX_LENGTH and _PLAIN_ID.fullmatch(session):
        return session
    from urllib.parse import quote  # rarely needed, and slow to import

    raw = session.encode(errors="surrogatepass")
    safe = quote(raw, safe="")
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    if len(safe) <= _MAX_LENGTH:
        return safe
    from hashlib import sha256

    # no other name has this form: a `%` is followed by two hexadecimal digits
    return f"{safe[: _MAX_LENGTH - 70]}%~{sha256(raw).hexdigest()}"


def decode_filename(name: str) -> str | None:
    """Return the id of the session whose files have this name; None if the name does not say it."""
    from urllib.parse import unquote_to_bytes

    try:
        id = unquote_to_bytes(name).decode(errors="surrogatepass")
    except UnicodeError:
        return None
    return id if id and encode_filename(id) == name else None
