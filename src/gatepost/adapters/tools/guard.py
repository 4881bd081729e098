"""
The only way out: connections go to the very address that was looked up and found harmless, so that a name which
resolves differently the second time gains nothing. No proxy of the environment is used, because it would look the name
up again.
"""

import asyncio
import socket
import ssl
from functools import cache

import httpx2

from gatepost.core.reach import Verdict, judge


class Forbidden(httpx2.ConnectError):
    """The address is one that must not be reached."""


class Guarded(httpx2.AsyncBaseTransport):
    """A transport for one server: whatever it has connected to, it has connected to in the name of one host."""

    def __init__(self, *, allow_private: bool, setting: str = "tools.allow_private") -> None:
        """`setting` is what would have to be set to reach what is not allowed."""
        self._allow_private = allow_private
        self._setting = setting
        self._inner = httpx2.AsyncHTTPTransport(verify=_trusted(), trust_env=False)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        host = request.url.host
        addresses = await _resolved(host, request.url.port or (443 if request.url.scheme == "https" else 80))
        for address in addresses:
            self._check(host, address)
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_pinned(request, address))
            except httpx2.ConnectError:  # nothing was sent: the next address may do
                continue
        return await self._inner.handle_async_request(_pinned(request, addresses[-1]))

    def _check(self, host: str, address: str) -> None:
        match judge(address):
            case Verdict.PUBLIC:
                return
            case Verdict.PRIVATE:
                if not self._allow_private:
                    raise Forbidden(f"{host!r} is on a private network, which {self._setting} would have to allow")
            case Verdict.NEVER:
                raise Forbidden(f"{host!r} is at an address that is never called")

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _resolved(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise httpx2.ConnectError(f"{host!r} cannot be found") from None
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """The same request to that address; the certificate must still be the host's."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions=request.extensions | {"sni_hostname": request.url.host},
    )


@cache
def _trusted() -> ssl.SSLContext:
    """Whom to trust; reading that takes a while, so once."""
    return httpx2.create_ssl_context()
