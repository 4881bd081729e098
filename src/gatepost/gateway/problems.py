"""
Errors as RFC 9457 problems: `type` is stable and made from the error's class, `detail` is its one sentence, `hint` is
the fix where it is known. Whatever nobody foresaw is a 500 that says nothing of the inside.
"""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gatepost.errors import GatepostError, Late, Unavailable
from gatepost.gateway.misread import said

log = structlog.get_logger("gatepost.gateway")

MEDIA: Final = "application/problem+json"
_TYPE: Final = "urn:gatepost:problem:"
_TITLES: Final = {
    400: "Not understood",
    401: "Who are you",
    403: "Not for you",
    404: "Not found",
    405: "Not that method",
    408: "Request Timeout",
    409: "Conflict",
    413: "Too large",
    415: "Not that media type",
    422: "Invalid",
    429: "Too many",
    431: "Request Header Fields Too Large",
    500: "Our fault",
    503: "Not now",
}

#: for the OpenAPI of every route
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
            "description": "of one who came late: how it ended before, by whom and when",
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
        "type": f"{_TYPE}unknown-address",
        "title": "Not found",
        "status": 404,
        "detail": "nobody is called 'analist'",
        "hint": "did you mean 'analyst'?",
    },
}


def problem(
    status: int,
    type: str,
    detail: str,
    *,
    hint: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Response:
    body: dict[str, Any] = {
        "type": f"{_TYPE}{type}",
        "title": _TITLES.get(status, "Problem"),
        "status": status,
        "detail": detail,
    }
    if hint:
        body["hint"] = hint
    return Response(msgspec.json.encode(body | more), status, headers, MEDIA)


def of_error(error: GatepostError) -> Response:
    headers = {}
    if error.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="gatepost"'
        headers["Connection"] = "close"  # whoever guesses gets no second guess on the same connection
    if isinstance(error, Unavailable):
        headers["Retry-After"] = "1"
    more = {"answer": error.winner} if isinstance(error, Late) else {}
    return problem(error.status, error.type, error.message, hint=error.hint, headers=headers, **more)


def install(app: FastAPI) -> None:
    """Answer every error with a problem."""

    @app.exception_handler(GatepostError)
    async def ours(_: Request, error: GatepostError) -> Response:
        return of_error(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if first["loc"][:1] == ("body",) and media and not media.endswith(("/json", "+json")):
            return problem(415, "not-json", f"{media!r} is not JSON", hint="send Content-Type: application/json")
        if first["type"] == "json_invalid":
            return problem(400, "malformed", "the body is not JSON")
        return problem(422, "invalid", said(first))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        kind = _TITLES.get(error.status_code, "problem").lower().replace(" ", "-")
        return problem(error.status_code, kind, str(error.detail).lower(), headers=error.headers)

    @app.exception_handler(Exception)
    async def unforeseen(request: Request, error: Exception) -> Response:
        log.error("unforeseen", path=request.url.path, error=repr(error), exc_info=error)
        return problem(500, "our-fault", "something went wrong here; it was logged", hint="try again")


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The problems a route may answer with, for its OpenAPI."""
    return {
        status: {
            "description": _TITLES[status],
            "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }
