"""
What can go wrong, as a tree. The second level decides how every door answers.

    GatepostError
    |- NotFound           404, exit 1   what was named is not there
    |- Unauthorized       401, exit 1   no credential, or not a good one
    |- Refused            403, exit 1   it is there, and not for you, or not any more
    |- Conflict           409, exit 1   somebody else was first, or it is not in that state
    |  |- Lost            409, exit 1   what one held has gone to another; nothing one does under it counts
    |  |- LimitReached    409, exit 1   an entity has as many of something as it may have
    |  `- Late            409, exit 1   it has ended, or somebody has answered before; carries how
    |- Invalid            422, exit 2   the request itself is wrong; nothing was stored
    |  |- Malformed       400, exit 2   it cannot even be read: not UTF-8, not JSON
    |  |- UnknownAddress  404, exit 2   no entity of that name; says which names are near
    |  |- Reused          422, exit 2   the idempotency key belongs to another request
    |  `- TooLarge        413, exit 2   over a limit of size
    `- Unavailable        503, exit 3   the store cannot be reached or cannot write now; try again
       `- Damaged         503, exit 3   part of the store cannot be read, now or later

A message is one sentence without a capital or a full stop. It quotes the value, and one that is very long for it loses
its middle; `hint` names the fix when it is known. Foreign errors (of drivers, of the operating system) are turned into
these at one point each, in the adapters.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final

#: characters of a message or a hint
MAX_LENGTH: Final = 1_000


class GatepostError(Exception):
    """Something that Gatepost can explain."""

    status: ClassVar[int] = 500
    exit: ClassVar[int] = 1
    type: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = _shorten(message)
        self.hint = _shorten(hint) if hint is not None else None
        super().__init__(self.message)


def _shorten(text: str) -> str:
    """The beginning and the end: what is wrong is said before or after the value that is quoted."""
    if len(text) <= MAX_LENGTH:
        return text
    gap = f" ... ({len(text)} characters in all) ... "
    remaining = MAX_LENGTH - len(gap)
    return text[: remaining - remaining // 2] + gap + text[-(remaining // 2) :]


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
        #: how it ended, as JSON has it
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


class Damaged(Unavailable):
    pass
