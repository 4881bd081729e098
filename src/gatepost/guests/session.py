"""
Sessions of guests. A guest is an agent that lives in another program, and visits in sessions of that program.

The id of a session becomes the name of its spool and of its folder. The id is whatever the program says, so it may hold
anything: separators, dots, controls, ten thousand letters. Other programs find the spool of a session by its id, so an
ordinary id (a UUID, a word) is its own name.

Hooks with nothing to do import this module, so it imports nothing that takes time. Named tuples are made ten times
faster than dataclasses, and a person waits for a hook.
"""

from contextlib import suppress
from typing import Any, Final, NamedTuple

from gatepost.core import light_json
from gatepost.core.times import Duration, Instant
from gatepost.errors import Invalid

#: the state of a session: its agent works, waits for its person, or is gone
WORKING: Final = "working"
IDLE: Final = "idle"
ENDED: Final = "ended"
#: the outcome of a printed batch, until it is recorded in the store
PROVED: Final = "proved"
RELEASED: Final = "released"

#: instead of a hook event, in a batch that the program shows by itself because it follows a decision: got while the
#: session was idle, and got during a turn
FOLLOWED: Final = "followed"
FOLLOWED_IN_TURN: Final = "followed in a turn"

#: a set, because a hook would compile a pattern each time
_PLAIN_CHARACTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
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
    #: the process of its program (`guests/hooks/host_process.py`), if it is known
    program: str | None = None
    #: how it is woken (`guests/reachability.py`); None if nothing has ever wanted to
    wake_method: str | None = None
    #: the process that wakes it when an item comes, or did last; None if there was none, or if it has no name here
    waker: str | None = None
    #: since when it is there; None if it has gone
    armed_at: Instant | None = None
    #: when it was last seen to be there
    checked_at: Instant | None = None
    #: when the session was woken, while nothing has proved that the model has read what it was woken for
    woken_at: Instant | None = None
    #: when the last wake was proved, and how long it took from when the item could be shown until it was shown
    proved_at: Instant | None = None
    latency: Duration | None = None


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
        raise Invalid("a guest session needs an id", hint="name it with --session")
    if len(session) <= _MAX_LENGTH and session[0] != "." and _PLAIN_CHARACTERS.issuperset(session):
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


class PrintedBatch(NamedTuple):
    """
    A batch that a hook of a session has printed, while it is not known whether a model has read it. It holds what is
    needed to mark it as delivered when a reply proves that it was read, and to show it again if no reply comes (the
    rule is in `guests/hooks/delivery_proof.py`). It is stored as a line of JSON beside the spool of its session.
    """

    #: the hook event that printed it, or `followed`
    event: str
    printed_at: Instant
    #: when it counts as not read, if no proof comes before
    expires_at: Instant
    #: prompts in the session when it was printed
    prompts: int
    #: the id of the turn, if the host has one
    turn: str | None = None
    #: characters of replies that the host had reported by then, if it reports them
    replies: int = 0
    #: the claim on the items that are in the store: its id, owner and fence
    claim: tuple[str, str, int] | None = None
    #: the keys by which a repeat is recognised
    keys: tuple[str, ...] = ()
    #: lines that are only in the spool, without their line ends
    lines: tuple[bytes, ...] = ()
    #: `proved` or `released`
    outcome: str | None = None
    #: printed with a wake: since when the item could have been shown
    woken_for: Instant | None = None


def encode_batch(batch: PrintedBatch) -> bytes:
    """Return the batch as one line, with its line end."""
    lines = [line.decode(errors="surrogateescape") for line in batch.lines]
    return light_json.encode(batch._asdict() | {"lines": lines}).encode() + b"\n"


def decode_batches(content: bytes) -> list[PrintedBatch]:
    """Return the batches of a file; an incomplete line is ignored."""
    batches: list[PrintedBatch] = []
    for line in content.splitlines():
        with suppress(ValueError, TypeError, AttributeError, LookupError, RecursionError):
            batches.append(_build_batch(light_json.parse(line.decode())))
    return batches


def _build_batch(document: dict[str, Any]) -> PrintedBatch:
    turn, claim, outcome, woken_for = (document.get(name) for name in ("turn", "claim", "outcome", "woken_for"))
    return PrintedBatch(
        event=str(document["event"]),
        printed_at=int(document["printed_at"]),
        expires_at=int(document["expires_at"]),
        prompts=int(document["prompts"]),
        turn=str(turn) if turn else None,
        replies=int(document.get("replies", 0)),
        claim=(str(claim[0]), str(claim[1]), int(claim[2])) if claim else None,
        keys=tuple(map(str, document["keys"])),
        lines=tuple(str(line).encode(errors="surrogateescape") for line in document["lines"]),
        outcome=str(outcome) if outcome else None,
        woken_for=int(woken_for) if woken_for is not None else None,
    )
