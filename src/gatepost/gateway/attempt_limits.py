"""
Limit wrong secrets: after 20 in a minute the answer is 429, with the seconds to wait in `Retry-After`.

Two things are counted, each for one address of callers:

    wrong secrets for one target   at the limit, whatever the address sends to that target is refused before its secret
                                   is looked at: more guesses are worth nothing
    all failures together          at the limit, each further failure is answered with 429, whatever it was: a caller
                                   that tries names cannot tell one that exists from one that does not

A right secret is accepted from every other address, and for every other target. Behind a proxy on this machine the
address is what the proxy says in `X-Forwarded-For`. An IPv6 address stands for its network of 64 bits, which one caller
usually has to itself. The oldest counts are forgotten when there are too many, so that they take little memory however
many addresses there are.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final

from starlette.types import Scope

from gatepost.errors import GatepostError, NotFound, TooManyAttempts, Unauthorized

#: wrong secrets in so many seconds
MAX_FAILURES: Final = 20
INTERVAL: Final = 60.0
#: counts that are kept
_MAX_COUNTS: Final = 10_000
_NETWORK_BITS: Final = 64

#: an address, and what was tried; None for everything together
_Key = tuple[str, str | None]


class AttemptLimits:
    """Counts the failures of the last minute. It is for one gateway, and not stored."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: when the last failures were; the key that failed last is at the end
        self._failures: OrderedDict[_Key, deque[float]] = OrderedDict()

    @contextmanager
    def watch(self, scope: Scope, target: str, *, wrong: type[GatepostError] = Unauthorized) -> Iterator[None]:
        """
        While entered, count the errors that a caller's guess at a target may have: `wrong` ones, and NotFound. Raise
        TooManyAttempts in their place when there are too many, and at once if there were.
        """
        address = find_address(scope)
        self._raise_if_full((address, target))
        try:
            yield
        except (NotFound, wrong) as error:
            try:
                self._raise_if_full((address, None))
            finally:
                self._count((address, None))
                if isinstance(error, wrong):  # other targets do not exist: any number of names would be kept
                    self._count((address, target))
            raise

    def _raise_if_full(self, key: _Key) -> None:
        times = self._failures.get(key)
        if times is None or len(times) < MAX_FAILURES:
            return
        wait = times[0] + INTERVAL - self._clock()
        if wait > 0:
            raise TooManyAttempts("too many wrong attempts", retry_after=wait)

    def _count(self, key: _Key) -> None:
        times = self._failures.setdefault(key, deque(maxlen=MAX_FAILURES))
        times.append(self._clock())
        self._failures.move_to_end(key)
        if len(self._failures) > _MAX_COUNTS:
            self._failures.popitem(last=False)


def find_address(scope: Scope) -> str:
    """Return the address of a caller, or its network."""
    client = scope.get("client")
    if not client:
        return ""
    host: str = client[0]
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return f"{IPv6Address(int(address) >> _NETWORK_BITS << _NETWORK_BITS)}/{_NETWORK_BITS}"
    return str(getattr(address, "ipv4_mapped", None) or address)
