"""Errors again out of the problems that a gateway answers with: whoever calls need not know where a verb ran."""

from typing import Any, Final

import httpx2

from gatepost import errors
from gatepost.errors import GatepostError, Unavailable

_KINDS: Final = {
    kind.type: kind
    for kind in (
        errors.NotFound,
        errors.Unauthorized,
        errors.Refused,
        errors.Conflict,
        errors.Late,
        errors.LimitReached,
        errors.Invalid,
        errors.Malformed,
        errors.UnknownAddress,
        errors.Reused,
        errors.TooLarge,
        errors.Unavailable,
    )
}
#: for answers of whatever stands before a gateway; of kinds that share a status the first counts
_BY_STATUS: Final[dict[int, type[GatepostError]]] = {
    **{kind.status: kind for kind in reversed(_KINDS.values())},
    **dict.fromkeys((429, 502, 504), Unavailable),
}


def error(answer: httpx2.Response) -> GatepostError:
    return of(_document(answer), answer.status_code)


def of(problem: dict[str, Any], status: int) -> GatepostError:
    """The error that a problem was made of."""
    kind = _KINDS.get(str(problem.get("type", "")).rpartition(":")[2]) or _BY_STATUS.get(status, GatepostError)
    detail, hint = str(problem.get("detail", f"the gateway answered {status}")), problem.get("hint")
    if kind is errors.Late:
        return errors.Late(detail, hint=hint, winner=problem.get("answer"))
    return kind(detail, hint=hint)


def lost(reason: Exception | None) -> Unavailable:
    words = str(reason) or type(reason).__name__ if reason is not None else "it closes the connection"
    return Unavailable(f"the gateway cannot be reached: {words}", hint="`gatepost up` starts one")


def _document(answer: httpx2.Response) -> dict[str, Any]:
    try:
        document = answer.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
