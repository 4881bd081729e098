"""
The addresses that an outgoing call may reach.

The author of a URL decides where the gateway connects to, and the gateway runs inside the network: it can reach the
metadata service of its cloud, the database beside it, and itself. So link-local and metadata addresses are always
refused, and other addresses that are not public are refused unless the settings allow them. An IPv6 address that stands
for an IPv4 address is classified as that IPv4 address.
"""

from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

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
    if address.is_reserved or (isinstance(address, IPv4Address) and address == IPv4Address("255.255.255.255")):
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
