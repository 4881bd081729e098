"""
Errors as RFC 9457 problems: `type` is stable and made from the class of the error, `detail` is its one sentence, `hint`
is the fix if it is known. An unexpected error is a 500 that says nothing about the inside.
"""

from collections.abc import Sequence
from typing import Any, Final

from gatepost.errors import GatepostError, Invalid, Late

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:gatepost:problem:"
#: the reason phrases of RFC 9110 and its relatives
TITLES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

#: for OpenAPI
SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "hint": {"type": "string"},
        "answer": {
            "type": "object",
            "description": "for a caller that came late: how it ended before, by whom and when",
            "properties": {
                "outcome": {"type": "string"},
                "option": {"type": ["string", "null"]},
                "text": {"type": ["string", "null"]},
                "by": {"type": ["string", "null"]},
                "at": {"type": "string", "format": "date-time"},
            },
        },
    },
    "example": {
        "type": f"{TYPE_PREFIX}unknown-address",
        "title": TITLES[404],
        "status": 404,
        "detail": "there is no entity 'analist'",
        "hint": "did you mean 'analyst'?",
    },
}


class MethodNotAllowed(GatepostError):
    """A path exists, but not with this method."""

    status = 405
    type = "not-that-method"

    def __init__(self, method: str, allowed: Sequence[str]) -> None:
        super().__init__(f"{method} is not possible here", hint=f"use {', '.join(allowed)}")
        self.allowed = allowed


class NotJson(Invalid):
    """A body has another media type than JSON."""

    status = 415
    type = "not-json"


class Misdirected(GatepostError):
    """A request names a host that is not one of this gateway."""

    status = 421
    type = "misdirected"


class Unexpected(GatepostError):
    """An unexpected error; its cause is logged."""

    type = "our-fault"


def build_problem(error: GatepostError) -> dict[str, Any]:
    """Return an error as a JSON document."""
    document = format_problem(error.status, error.type, error.message)
    if error.hint:
        document["hint"] = error.hint
    if isinstance(error, Late):
        document["answer"] = error.winner
    return document


def format_problem(status: int, type: str, detail: str) -> dict[str, Any]:
    return {"type": f"{TYPE_PREFIX}{type}", "title": TITLES[status], "status": status, "detail": detail}
