"""
The tree of errors. The second level decides the HTTP status and the exit code.

    GatepostError
    |- NotFound           404, exit 1   the named thing does not exist
    |- Unauthorized       401, exit 1   no credential, or not a valid one
    |- Refused            403, exit 1   it exists, but the caller may not use it, or not any more
    |- Conflict           409, exit 1   another caller was first, or the state does not allow it
    |  |- Lost            409, exit 1   a lease or claim has gone to another holder; work under it does not count
    |  |- LimitReached    409, exit 1   an entity has as many of something as it may have
    |  `- Late            409, exit 1   it has ended, or was answered before; carries how
    |- Invalid            422, exit 2   the request itself is wrong; nothing was stored
    |  |- Malformed       400, exit 2   it cannot be parsed: not UTF-8, not JSON
    |  |- UnknownAddress  404, exit 2   no entity has that name; names similar ones
    |  |- Reused          422, exit 2   the idempotency key belongs to another request
    |  `- TooLarge        413, exit 2   over a limit of size
    `- Unavailable        503, exit 3   the store cannot be reached or cannot write now; try again
       |- Damaged         503, exit 3   part of the store cannot be read, now or later
       |- NoStore         503, exit 3   there is no store yet, and reading makes none
       |- TooManyAttempts 429, exit 3   too many wrong secrets or codes; wait before the next one
       `- TooManyStreams  429, exit 3   the caller reads as many streams as it may at the same time

A message is one sentence without a capital or a full stop. It quotes the value (`quote_value`); a message that is too
long all the same loses its middle. `hint` names the fix when it is known. Fields of the request are named as in JSON,
at the beginning (`ttl: '10' is not a duration`) or in backticks; the command line puts the names of its options there
(`operations/validation.py`). Foreign errors (of drivers, of the operating system) are translated into these at one
point each, in the adapters.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

#: characters of a message or a hint
MAX_LENGTH: Final = 1_000


class GatepostError(Exception):
    """An error that Gatepost can explain."""

    status: ClassVar[int] = 500
    exit: ClassVar[int] = 1
    type: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = _shorten(message)
        self.hint = _shorten(hint) if hint is not None else None
        super().__init__(self.message)

    @property
    def message_with_hint(self) -> str:
        """Return the message on one line, with the hint in brackets."""
        return f"{self.message} (hint: {self.hint})" if self.hint else self.message


def _shorten(text: str) -> str:
    """Return the beginning and the end of a long text: the problem is named before or after the quoted value."""
    if len(text) <= MAX_LENGTH:
        return text
    gap = f" ... ({len(text)} characters in all) ... "
    remaining = MAX_LENGTH - len(gap)
    return text[: remaining - remaining // 2] + gap + text[-(remaining // 2) :]


def quote_value(value: object, limit: int = 60, *, show_items: bool = True) -> str:
    """
    Return a value as a message quotes it. A long one is cut, with a mark inside its quotes. Without `show_items`, what
    has items is only named: they may be secrets.
    """
    match value:
        case str():
            return repr(value if len(value) <= limit else f"{value[: limit - 1]}…")
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case dict() | list() | tuple() if not show_items:
            return "an object" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class NotFound(GatepostError):
    status = 404
    type = "not-found"


class Unauthorized(GatepostError):
    status = 401
    type = "unauthorized"


class Refused(GatepostError):
    status = 403
    type = "refused"


class Conflict(GatepostError):
    status = 409
    type = "conflict"


class Lost(Conflict):
    type = "lost"


class LimitReached(Conflict):
    type = "limit-reached"


class Late(Conflict):
    type = "late"

    def __init__(self, message: str, *, hint: str | None = None, winner: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, hint=hint)
        #: how it ended, as a JSON document
        self.winner = dict(winner or {})


class Invalid(GatepostError):
    status = 422
    exit = 2
    type = "invalid"


class Malformed(Invalid):
    status = 400
    type = "malformed"


class UnknownAddress(Invalid):
    status = 404
    type = "unknown-address"


class Reused(Invalid):
    type = "idempotency-key-reused"


class TooLarge(Invalid):
    status = 413
    type = "too-large"


class Unavailable(GatepostError):
    status = 503
    exit = 3
    type = "unavailable"
    #: seconds after which the other side wants to be asked again; None if it has not said
    retry_after: float | None = None


class Damaged(Unavailable):
    pass


class NoStore(Unavailable):
    pass


class TooManyAttempts(Unavailable):
    status = 429
    type = "too-many-attempts"

    def __init__(self, message: str, *, hint: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, hint=hint or "wait a minute, and try again")
        self.retry_after = retry_after


class TooManyStreams(Unavailable):
    status = 429
    type = "too-many-streams"
