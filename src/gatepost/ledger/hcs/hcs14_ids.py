"""
Ids of agents that hold everywhere, after HCS-14.

    uaid:aid:ID;uid=INBOUND@ACCOUNT;registry=self;proto=hcs-10;nativeId=hedera:testnet:ACCOUNT

ID is Base58 of the SHA-384 of six fields in JSON. The standard orders their keys by the alphabet in its text, but puts
`skills` first in its test vectors, and so does its reference implementation; an id is of use only if others compute the
same one, so we follow these. What comes after ID says where the agent is, and is not in the hash. An agent that has a
DID has its id there instead: `uaid:did:ID;...`.
"""

import re
from collections.abc import Sequence
from hashlib import sha384
from typing import Final, Literal

from msgspec import Struct

from gatepost.errors import Invalid, quote_value
from gatepost.ledger.hcs.hcs10_messages import OperatorId, encode, parse_operator_id
from gatepost.ledger.topic import LedgerId

#: the protocol of agents on Hedera
PROTOCOL: Final = "hcs-10"
#: the registry of an agent that is in none
SELF: Final = "self"
#: the uid of an agent that has none
NO_UID: Final = "0"
MAX_LENGTH: Final = 1_000

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_UAID: Final = re.compile(r"uaid:(aid|did):([!-:<-~]+)((?:;[A-Za-z]+=[!-:<-~]+)*)")
_NATIVE_ID: Final = re.compile(r"hedera:([a-zA-Z0-9_-]{1,32}):([0-9.]+)")
#: skills from 40 to 99 are reserved
_RESERVED_SKILLS: Final = range(40, 100)
_HINT: Final = "it is written as uaid:aid:ID;uid=0.0.5@0.0.4;...;nativeId=hedera:testnet:0.0.4"


class AgentIdentity(Struct, frozen=True, kw_only=True):
    """What the id of an agent is computed from. Another value of any field makes another id."""

    name: str
    #: see `build_native_id`
    native_id: str
    skills: Sequence[int] = ()
    version: str = "1.0.0"
    registry: str = SELF
    protocol: str = PROTOCOL


class Uaid(Struct, frozen=True, kw_only=True):
    target: Literal["aid", "did"]
    id: str
    uid: str = NO_UID
    registry: str | None = None
    protocol: str | None = None
    native_id: str | None = None

    @property
    def operator_id(self) -> OperatorId | None:
        """The inbound topic and the account of the agent; None if the id does not say them."""
        try:
            return parse_operator_id(self.uid)
        except Invalid:
            return None

    @property
    def network(self) -> str | None:
        """The network of Hedera on which the agent is; None if it is elsewhere."""
        match = _NATIVE_ID.fullmatch(self.native_id or "")
        return match[1] if match else None

    @property
    def account(self) -> LedgerId | None:
        """The account of the agent on its network; None if it is elsewhere."""
        match = _NATIVE_ID.fullmatch(self.native_id or "")
        try:
            return LedgerId.parse(match[2]) if match else None
        except Invalid:
            return None


def build_native_id(network: str, account: LedgerId) -> str:
    return f"hedera:{network}:{account}"


def build_uaid(identity: AgentIdentity, uid: str = NO_UID) -> str:
    """Return the id of an agent; `uid` is its operator id or, if it has no topics, its account."""
    parameters = (
        ("uid", uid),
        ("registry", identity.registry.strip().lower()),
        ("proto", identity.protocol.strip().lower()),
        ("nativeId", identity.native_id.strip()),
    )
    tail = "".join(f";{name}={value}" for name, value in parameters)
    uaid = f"uaid:aid:{_encode_base58(sha384(build_canonical_json(identity)).digest())}{tail}"
    parse_uaid(uaid)
    return uaid


def build_canonical_json(identity: AgentIdentity) -> bytes:
    """Return the bytes whose hash the id is."""
    fields = {
        "name": identity.name.strip(),
        "nativeId": identity.native_id.strip(),
        "protocol": identity.protocol.strip().lower(),
        "registry": identity.registry.strip().lower(),
        "version": identity.version.strip(),
    }
    for name, value in fields.items():
        if not value:
            raise Invalid(f"an agent without {name} has no id")
    for skill in identity.skills:
        if skill < 0 or skill in _RESERVED_SKILLS:
            raise Invalid(f"{skill} is not a skill of HCS-14", hint="use 0 to 39, or 100 and more")
    return encode({"skills": sorted(identity.skills), **fields})


def parse_uaid(text: str) -> Uaid:
    """Return the parts of an id. Its parameters may be in any order, and there may be others."""
    match = _UAID.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        raise Invalid(f"{quote_value(text)} is not the id of an agent", hint=_HINT)
    parameters: dict[str, str] = {}
    for parameter in match[3].split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name in parameters:
            raise Invalid(f"the id of the agent has {name!r} twice", hint=_HINT)
        parameters[name] = value
    return Uaid(
        target="aid" if match[1] == "aid" else "did",
        id=match[2],
        uid=parameters.get("uid", NO_UID),
        registry=parameters.get("registry"),
        protocol=parameters.get("proto"),
        native_id=parameters.get("nativeId"),
    )


def _encode_base58(content: bytes) -> str:
    """Return bytes in the alphabet of Bitcoin; each zero at the beginning is a `1`."""
    number, digits = int.from_bytes(content), ""
    while number:
        number, digit = divmod(number, len(_ALPHABET))
        digits = _ALPHABET[digit] + digits
    return _ALPHABET[0] * (len(content) - len(content.lstrip(b"\0"))) + digits
