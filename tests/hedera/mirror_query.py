"""Parameters of requests to the mirror node: filters, limits, orders and the link to the next page."""

import re
from urllib.parse import urlencode

from starlette.requests import Request

from tests.hedera.state import SECOND, format_timestamp

DEFAULT_LIMIT, MAX_LIMIT = 25, 100

_ID = re.compile(r"(?:([0-9]{1,4})\.([0-9]{1,5})\.)?([0-9]{1,12})")
_TIMESTAMP = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,9}))?")
_TRANSACTION = re.compile(r"([0-9]+\.[0-9]+\.[0-9]+)-([0-9]{1,10})-([0-9]{1,9})")
_FILTER = re.compile(r"(?:(eq|gte|gt|lte|lt):)?(.+)")


class WrongParameter(Exception):
    """The answer is 400, with this sentence."""


class NotFound(Exception):
    """The answer is 404."""


class MirrorQuery:
    """The parameters of one request."""

    def __init__(self, request: Request, names: tuple[str, ...]) -> None:
        """`names` are the parameters that are allowed."""
        self._request = request
        self._pairs = request.query_params.multi_items()
        for name, _ in self._pairs:
            if name not in names:
                raise WrongParameter(f"Unknown query parameter: {name}")
        self.limit = self._read_limit()
        self.encoding = self._read_choice("encoding", "base64", "utf-8", "utf8")
        self._order = self._read_choice("order", "", "asc", "desc")
        self._sequences = self._read_filters("sequencenumber")
        self._timestamps = self._read_filters("timestamp")

    @property
    def is_descending(self) -> bool:
        return self._order == "desc"

    @property
    def is_descending_by_default(self) -> bool:
        return self._order != "asc"

    def matches(self, sequence: int, timestamp: int) -> bool:
        return all(_compare(operator, sequence, bound) for operator, bound in self._sequences) and all(
            _compare(operator, timestamp, bound) for operator, bound in self._timestamps
        )

    def build_next_link(self, last_timestamp: int) -> str:
        """Return the path of the next page: the same parameters, after the last message of this one."""
        operators = ("lt:", "lte:") if self.is_descending else ("gt:", "gte:")
        pairs = [(name, value) for name, value in self._pairs if name != "timestamp" or not value.startswith(operators)]
        pairs.append(("timestamp", operators[0] + format_timestamp(last_timestamp)))
        return f"{self._request.url.path}?{urlencode(pairs, safe=':')}"

    def read_id(self, name: str) -> str:
        """Return an id of the path; it may be a number alone."""
        match = _ID.fullmatch(self._request.path_params[name])
        if match is None:
            raise WrongParameter(f"Invalid parameter: {name}")
        return f"{match[1] or 0}.{match[2] or 0}.{int(match[3])}"

    def read_number(self, name: str) -> int:
        value: str = self._request.path_params[name]
        if not value.isascii() or not value.isdigit() or int(value) == 0:
            raise WrongParameter(f"Invalid parameter: {name}")
        return int(value)

    def read_timestamp(self, name: str) -> int:
        return _parse_timestamp(name, self._request.path_params[name])

    def _read_limit(self) -> int:
        value = self._request.query_params.get("limit", str(DEFAULT_LIMIT))
        if not value.isascii() or not value.isdigit() or int(value) == 0:
            raise WrongParameter("Invalid parameter: limit")
        return min(int(value), MAX_LIMIT)

    def _read_choice(self, name: str, *choices: str) -> str:
        """The first one is the default."""
        value = self._request.query_params.get(name, choices[0])
        if value not in choices:
            raise WrongParameter(f"Invalid parameter: {name}")
        return value

    def _read_filters(self, name: str) -> list[tuple[str, int]]:
        filters = []
        for text in self._request.query_params.getlist(name):
            match = _FILTER.fullmatch(text)
            if match is None:
                raise WrongParameter(f"Invalid parameter: {name}")
            operator, value = match[1] or "eq", match[2]
            if name == "timestamp":
                filters.append((operator, _parse_timestamp(name, value)))
            elif value.isascii() and value.isdigit():
                filters.append((operator, int(value)))
            else:
                raise WrongParameter(f"Invalid parameter: {name}")
        return filters


def _compare(operator: str, value: int, bound: int) -> bool:
    match operator:
        case "gt":
            return value > bound
        case "gte":
            return value >= bound
        case "lt":
            return value < bound
        case "lte":
            return value <= bound
        case _:
            return value == bound


def _parse_timestamp(name: str, text: str) -> int:
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise WrongParameter(f"Invalid parameter: {name}")
    return int(match[1]) * SECOND + int((match[2] or "").ljust(9, "0"))


def parse_transaction_id(text: str) -> str:
    """Return the id of `0.0.2-1700000000-000000001` as `0.0.2@1700000000.000000001`."""
    match = _TRANSACTION.fullmatch(text)
    if match is None:
        raise WrongParameter("Invalid parameter: transactionId")
    return f"{match[1]}@{int(match[2])}.{int(match[3]):09}"
