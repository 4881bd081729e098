"""
Parameters of requests to the mirror node.

It takes those that Gatepost sends. Every other one, and every other value, is refused, so a client that begins to use
one shows it.
"""

import re
from collections.abc import Mapping
from re import Pattern
from typing import Final

from starlette.requests import Request

from tests.ledger.hedera.network.state import SECOND

MAX_LIMIT: Final = 100
#: what is allowed, by the kind of the request
PARAMETERS: Final[Mapping[str, Mapping[str, Pattern[str]]]] = {
    "messages": {
        "sequencenumber": re.compile(r"gt:(0|[1-9][0-9]*)"),
        "order": re.compile("asc"),
        "limit": re.compile("[1-9][0-9]*"),
    },
    "account": {"transactions": re.compile("false")},
    "blocks": {"order": re.compile("desc"), "limit": re.compile("1")},
}

_ID: Final = re.compile(r"[0-9]{1,4}\.[0-9]{1,5}\.[0-9]{1,12}")
_TIMESTAMP: Final = re.compile(r"([0-9]{1,10})\.([0-9]{9})")
_TRANSACTION: Final = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)-([0-9]{1,10})-([0-9]{9})")


class WrongParameter(Exception):
    """The answer is 400, with this sentence."""


class NotFound(Exception):
    """The answer is 404."""


def read_parameters(request: Request, kind: str) -> dict[str, str]:
    """Return the parameters of a request, all of which are needed."""
    patterns = PARAMETERS.get(kind, {})
    pairs = request.query_params.multi_items()
    for name, value in pairs:
        if name not in patterns:
            raise WrongParameter(f"Unknown query parameter: {name}")
        if not patterns[name].fullmatch(value):
            raise WrongParameter(f"Invalid parameter: {name}")
    if sorted(name for name, _ in pairs) != sorted(patterns):
        raise WrongParameter(f"the test mirror needs each of {', '.join(patterns)} once")
    return dict(pairs)


def read_id(request: Request) -> str:
    """Return the id in the path."""
    id: str = request.path_params["id"]
    if not _ID.fullmatch(id):
        raise WrongParameter("Invalid parameter: id")
    return id


def read_timestamp(request: Request) -> int:
    """Return the time in the path."""
    match = _TIMESTAMP.fullmatch(request.path_params["timestamp"])
    if match is None:
        raise WrongParameter("Invalid parameter: timestamp")
    return int(match[1]) * SECOND + int(match[2])


def read_transaction_id(request: Request) -> str:
    """Return the id `0.0.2-1700000000-000000001` in the path as `0.0.2@1700000000.000000001`."""
    match = _TRANSACTION.fullmatch(request.path_params["id"])
    if match is None:
        raise WrongParameter("Invalid parameter: transactionId")
    return f"{match[1]}@{int(match[2])}.{match[3]}"
