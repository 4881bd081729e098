"""
The only way out for requests of tools and nudges, and the addresses that it may reach.

The author of a URL decides where the gateway connects to, and the gateway runs inside the network: it can reach the
metadata service of its cloud, the database beside it, and itself. So link-local and metadata addresses are always
refused, and other addresses that are not public are refused unless the settings allow them. An IPv6 address that stands
for an IPv4 address is classified as that IPv4 address.

A connection goes to exactly the address that was resolved and checked, so a name that resolves to another address the
second time gains nothing. Proxies of the environment are not used, because a proxy would resolve the name again.
"""

import asyncio
import socket
import ssl
from enum import StrEnum
from functools import cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

import httpx2

#: metadata services of clouds that are not at a link-local address
_METADATA_ADDRESSES: Final = frozenset(
    map(
        ip_address,
        (
            "100.100.100.200",  # Alibaba
            "192.0.0.192",  # Oracle
            "168.63.129.16",  # Azure
            "fd00:ec2::254",  # AWS
            "fd00:ec2::23",  # the pods of EKS
            "fd20:ce::254",  # Google
        ),
    )
)
_NAT64_NETWORKS: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class AddressScope(StrEnum):
    PUBLIC = "public"
    #: of this machine or its network: allowed by a setting only
    PRIVATE = "private"
    NEVER = "never"


def classify_address(text: str) -> AddressScope:
    """Return the scope of a resolved address. Never pass the text of a URL: it has to be resolved first."""
    address = _unwrap_ipv4(ip_address(text.partition("%")[0]))
    if address in _METADATA_ADDRESSES or address.is_link_local or address.is_multicast or address.is_unspecified:
        return AddressScope.NEVER
    if isinstance(address, IPv6Address) and address.is_site_local:
        return AddressScope.PRIVATE
    if address.is_loopback or (address.is_private and not address.is_reserved):
        return AddressScope.PRIVATE
    if address.is_reserved:
        return AddressScope.NEVER
    return AddressScope.PUBLIC if address.is_global else AddressScope.PRIVATE


def _unwrap_ipv4(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """Return the IPv4 address that an IPv6 address stands for: mapped, compatible, 6to4, Teredo or NAT64."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    low = int(address) & 0xFFFF_FFFF
    if any(address in network for network in _NAT64_NETWORKS) or (int(address) >> 32 == 0 and low > 1):
        return IPv4Address(low)
    return address


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
