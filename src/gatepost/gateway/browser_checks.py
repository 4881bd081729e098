"""
What a browser may do here, with the page's cookie and without.

A browser sends a cookie with every request to its host, whoever's page has made the request: `SameSite=Strict` leaves
out other sites, but a page on another port of this machine is of the same site. And a page elsewhere can have its own
name resolved to this machine (DNS rebinding). So a request that a cookie authenticates is looked at first:

    Host               is a name of this gateway, for everything that a browser gets here     421
    Sec-Fetch-Site     is `same-origin`, or `none` for an address that a person has typed     403
    Origin             is this host and port; a change must have one                          403
    x-gatepost-page    is `1` for a change: no form can send it, and a script elsewhere       403
                       needs a permission (CORS) that this gateway gives nobody

An IP address is a name of every gateway: nobody can have an address resolved to another one. A request with a key or a
token is not looked at: no page of others can know one.

The cookie is `HttpOnly`, `SameSite=Strict`, and for this host alone. Over HTTPS it is `Secure` and has the prefix
`__Host-`. Cookies do not tell ports apart, so the port is in its name, and two gateways on one machine do not sign each
other's users out. A program on another port can set a cookie of the same name before it, so each of them is tried.

A proxy may send its own Host. Then the Origin is a name in `gateway.hosts`, on the port that its scheme has.
"""

import ipaddress
import re
from collections.abc import Collection, Sequence
from typing import Final
from urllib.parse import urlsplit

from gatepost.errors import Refused, quote_value
from gatepost.gateway.http_exchange import HttpExchange
from gatepost.operations.problems import Misdirected

#: the header that only the page itself can send
PAGE_HEADER: Final = "x-gatepost-page"
#: seconds that a browser keeps the cookie: as long as browsers allow. The store says when it ends.
_COOKIE_AGE: Final = 400 * 24 * 3600
_SAFE_METHODS: Final = ("GET", "HEAD")
_KEY_HEADERS: Final = ("x-secret-key", "x-public-key", "authorization")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
#: cookies of the page's name that are tried; a browser has one, unless another program has set more, and keeps fewer
_MAX_COOKIES: Final = 200
#: a name or an address, and a port: nothing that could be read in two ways
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?", re.ASCII)
_HOSTS_HINT: Final = "add the name to gateway.hosts"


def check_host(exchange: HttpExchange, hosts: Collection[str]) -> None:
    """Refuse a request whose Host is not a name of this gateway; `hosts` are those that are set."""
    host, *others = [value for name, value in exchange.list_headers() if name == "host"] or [""]
    if others or not _HOST.fullmatch(host) or not _is_own_name(f"//{host}", hosts):
        raise Misdirected(f"{quote_value(host, 100)} is not a name of this gateway", hint=_HOSTS_HINT)


def check_origin_name(exchange: HttpExchange, hosts: Collection[str]) -> None:
    """Refuse a request of a page on a name that is not one of this gateway; its port may be another."""
    origin = exchange.headers.get("origin")
    if origin and not _is_own_name(origin, hosts):
        raise Refused(f"pages of {quote_value(origin, 100)} may not call this gateway", hint=_HOSTS_HINT)


def check_page_request(exchange: HttpExchange, hosts: Collection[str]) -> None:
    """Refuse a request that a cookie must not authenticate, because another page may have made it."""
    check_host(exchange, hosts)
    site = exchange.headers.get("sec-fetch-site", "same-origin")
    if site not in ("same-origin", "none"):
        raise Refused("other pages may not call this gateway with the cookie of the page", hint="send a key")
    is_change = exchange.method not in _SAFE_METHODS
    origin = exchange.headers.get("origin")
    if (origin is not None or is_change) and not _is_own_origin(exchange, origin or "", hosts):
        raise Refused(
            f"a page of {quote_value(origin or 'nowhere', 100)} may not call this gateway with the cookie of the page",
            hint="send a key",
        )
    if is_change and exchange.headers.get(PAGE_HEADER) != "1":
        raise Refused(f"a change with the cookie of the page needs the header {PAGE_HEADER}: 1", hint="send a key")


def read_page_cookies(exchange: HttpExchange, hosts: Collection[str]) -> Sequence[str]:
    """Return the page's cookies if they are the credential of a request, and may be; none if there is a key."""
    if any(name in exchange.headers for name in _KEY_HEADERS):
        return ()
    cookies = find_cookies(exchange)
    if cookies:
        check_page_request(exchange, hosts)
    return cookies


def find_cookies(exchange: HttpExchange) -> Sequence[str]:
    """Return the values of the page's cookie, in the order of the browser."""
    cookie_name = _build_cookie_name(exchange)
    pairs = [pair.strip().partition("=") for pair in exchange.headers.get("cookie", "").split(";")]
    return [value for name, _, value in pairs if name == cookie_name and value][:_MAX_COOKIES]


def build_cookie(exchange: HttpExchange, value: str) -> str:
    """Return the header that sets the page's cookie; an empty value removes it."""
    attributes = ["Path=/", "HttpOnly", "SameSite=Strict", f"Max-Age={_COOKIE_AGE if value else 0}"]
    if _is_secure(exchange):
        attributes.append("Secure")
    return "; ".join([f"{_build_cookie_name(exchange)}={value}", *attributes])


def _build_cookie_name(exchange: HttpExchange) -> str:
    try:
        port = urlsplit(f"//{exchange.headers.get('host', '')}").port
    except ValueError:
        port = None
    return f"{'__Host-' if _is_secure(exchange) else ''}gatepost{f'-{port}' if port else ''}"


def _is_secure(exchange: HttpExchange) -> bool:
    """Whether the browser has come over HTTPS, as a proxy on this machine says."""
    return bool(exchange.scope.get("scheme") == "https")


def _is_own_origin(exchange: HttpExchange, origin: str, hosts: Collection[str]) -> bool:
    """Return True if a page came from here: from the Host of its request, or from a name that is set."""
    try:
        url, host = urlsplit(origin), urlsplit(f"//{exchange.headers.get('host', '')}")
        default_port = _DEFAULT_PORTS.get(url.scheme)
        if default_port is None or "@" in url.netloc or origin != f"{url.scheme}://{url.netloc}":
            return False
        port = url.port or default_port
        if url.hostname == host.hostname:
            return port == (host.port or default_port)
        return url.hostname in hosts and port == default_port
    except ValueError:
        return False


def _is_own_name(url: str, hosts: Collection[str]) -> bool:
    try:
        name = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or name in hosts or is_address(name)


def is_address(name: str) -> bool:
    """Return True for an IP address, which is a name of every gateway."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
