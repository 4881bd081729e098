"""
Limit wrong secrets: after 20 in a minute the answer is 429, with the seconds to wait in `Retry-After`.

Two things are counted, each for one address of callers:

    wrong secrets for one target   at the limit, each further wrong one is answered with 429
    all failures together          at the limit, each further failure is answered with 429, whatever it was: a caller
                                   that tries names cannot tell one that exists from one that does not

A right secret always gets in. It is compared first, and it has 16 characters or more, so that more guesses are worth
nothing; if wrong ones shut out the right one, a stranger behind the same proxy could shut out the service. Only short
codes are guarded strictly: at the limit, whatever an address sends is refused before it is looked at.

Behind a proxy on this machine the address is what the proxy says in `X-Forwarded-For`. An IPv6 address stands for its
network of 64 bits, which one caller usually has to itself. The oldest counts are forgotten when there are too many, so
that they take little memory however many addresses there are.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address
from typing import Final

from gatepost.errors import NotFound, TooManyAttempts, Unauthorized
from gatepost.gateway.http_exchange import Scope

#: wrong secrets in an interval
MAX_FAILURES: Final = 20
#: seconds
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
    def watch(self, scope: Scope, target: str) -> Iterator[None]:
        """
        While entered, count the errors that a caller's guess at a secret may have: Unauthorized, and NotFound. Raise
        TooManyAttempts in their place when there are too many.
        """
        address = find_address(scope)
        try:
            yield
        except NotFound:  # the target is not kept: any number of names would be
            self._fail((address, None))
            raise
        except Unauthorized:
            self._raise_if_full((address, target))
            self._fail((address, None), (address, target))
            raise

    @contextmanager
    def watch_strictly(self, scope: Scope, target: str) -> Iterator[None]:
        """As `watch`, for a short code, which is not found if it is wrong. Raise at once if there were too many."""
        address = find_address(scope)
        self._raise_if_full((address, target))
        try:
            yield
        except NotFound:
            self._fail((address, None), (address, target))
            raise

    def _fail(self, total: _Key, *others: _Key) -> None:
        """Count a failure; raise TooManyAttempts if there were too many in total."""
        try:
            self._raise_if_full(total)
        finally:
            for key in (total, *others):
                self._count(key)

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
