"""
The only way out for requests of tools and nudges. A connection goes to exactly the address that was resolved and
checked, so a name that resolves to another address the second time gains nothing. Proxies of the environment are not
used, because a proxy would resolve the name again.
"""

import asyncio
import socket
import ssl
from functools import cache

import httpx2

from gatepost.core.ip_policy import AddressScope, classify_address


class ForbiddenAddress(httpx2.ConnectError):
    """The address must not be called."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport for one host. Its pool knows connections by address only, so another host must not share it."""

    def __init__(self, *, allow_private: bool, setting: str = "tools.allow_private") -> None:
        """`setting` is the name of the setting that allows private addresses, for the error message."""
        self._allow_private = allow_private
        self._setting = setting
        self._inner = httpx2.AsyncHTTPTransport(verify=_create_ssl_context(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        addresses = await _resolve(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        for address in addresses:
            self._check(host, address)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pin_request(request, address))
            except httpx2.ConnectError:  # nothing was sent, so try the next address
                continue
        return await self._inner.handle_async_request(_pin_request(request, addresses[-1]))

    def _check(self, host: str, address: str) -> None:
        match classify_address(address):
            case AddressScope.PUBLIC:
                return
            case AddressScope.PRIVATE:
                if not self._allow_private:
                    raise ForbiddenAddress(
                        f"{host!r} is on a private network, which {self._setting} would have to allow"
                    )
            case AddressScope.NEVER:
                raise ForbiddenAddress(f"{host!r} is at an address that is never called")

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _resolve(host: str, port: int) -> list[str]:
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise httpx2.ConnectError(f"{host!r} cannot be found") from None
    return list(dict.fromkeys(str(info[4][0]) for info in infos))


def _pin_request(request: httpx2.Request, address: str) -> httpx2.Request:
    """Return the request to that address; the certificate must still be that of the host."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions=request.extensions | {"sni_hostname": request.url.host},
    )


@cache
def _create_ssl_context() -> ssl.SSLContext:
    """Return the trusted certificates, loaded once because that is slow."""
    return httpx2.create_ssl_context()
