"""
Profiles of entities on a ledger, after HCS-11: who they are, what they can do, and the topics that reach them.

    profile        {"version": "1.0", "type": 1, "display_name", "uaid", "alias", "inboundTopicId", "outboundTopicId",
                    "properties", "aiAgent": {"type": 1, "capabilities": [4, 16], "model"}}
    account memo   hcs-11:hcs://1/TOPIC        the topic of the file (`hcs1.py`) that has the profile
    definition     {"type": "agent_definition", "agent": {"slug", "name", "hcs11_profile"}}

The definitions are on a topic of ours that has those of all entities.
"""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct, field

from gatepost.core.text import parse_field
from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid, quote_value
from gatepost.ledger.hcs import hcs10_messages as hcs10, hcs14_ids as hcs14
from gatepost.ledger.hcs.hcs14_ids import AgentIdentity
from gatepost.ledger.topic import LedgerId
from gatepost.operations import validation
from gatepost.residents.capability import Capability, parse_capability

__all__ = [
    "Capability",
    "build_account_memo",
    "build_definition",
    "build_profile",
    "parse_account_memo",
    "parse_capability",
    "validate_profile",
]

VERSION: Final = "1.0"
#: the model of an agent that Gatepost does not know the model of
UNKNOWN_MODEL: Final = "unknown"
#: bytes of a profile
MAX_SIZE: Final = 64 * 1024

_ACCOUNT_MEMO: Final = "hcs-11:"


class ProfileType(IntEnum):
    PERSONAL = 0
    AI_AGENT = 1
    MCP_SERVER = 2
    FLORA = 3


class AgentType(IntEnum):
    """Whether an agent only answers, or acts on its own."""

    MANUAL = 0
    AUTONOMOUS = 1


def build_profile(
    *,
    kind: EntityKind,
    name: str,
    display: str,
    network: str,
    account: LedgerId,
    inbound: LedgerId,
    outbound: LedgerId,
    capabilities: Sequence[int] = (),
    model: str | None = None,
    creator: str | None = None,
) -> dict[str, Any]:
    """
    Return the profile of an entity. Its id (`uaid`) has its name and its capabilities in it: others make another id.
    Capabilities, model and creator are of agents only.
    """
    is_agent = kind is EntityKind.AGENT
    codes = sorted(set(capabilities)) if is_agent else []
    identity = AgentIdentity(name=name, native_id=hcs14.build_native_id(network, account), skills=codes)
    profile = {
        "version": VERSION,
        "type": (ProfileType.AI_AGENT if is_agent else ProfileType.PERSONAL).value,
        "display_name": display,
        "uaid": hcs14.build_uaid(identity, hcs10.build_operator_id(inbound, account)),
        "alias": name,
        "inboundTopicId": str(inbound),
        "outboundTopicId": str(outbound),
        "properties": {"kind": kind.value},
    }
    if not is_agent:
        return profile
    agent = {
        "type": AgentType.AUTONOMOUS.value,
        "capabilities": codes or [Capability.TEXT_GENERATION.value],  # readers refuse an empty list
        "model": model or UNKNOWN_MODEL,
    }
    return {**profile, "aiAgent": agent if creator is None else {**agent, "creator": creator}}


def build_definition(name: str, display: str, profile: Mapping[str, Any]) -> bytes:
    """Return what is posted to the topic of definitions."""
    return hcs10.encode(
        {"type": "agent_definition", "agent": {"slug": name, "name": display, "hcs11_profile": profile}}
    )


def build_account_memo(file: LedgerId) -> str:
    return f"{_ACCOUNT_MEMO}{hcs10.build_reference(file)}"


def parse_account_memo(text: str) -> LedgerId:
    """Return the topic of the file with the profile of an account; older memos have only the topic."""
    reference = text.removeprefix(_ACCOUNT_MEMO)
    if reference == text:
        raise Invalid(f"the memo {quote_value(text)} does not say where the profile of the account is")
    try:
        return LedgerId.parse(reference.removeprefix("hcs://1/"))
    except Invalid:
        raise Invalid(
            f"a profile at {quote_value(reference)} cannot be read", hint="only files of HCS-1 can: hcs://1/TOPIC"
        ) from None


_Text = Annotated[str, Meta(max_length=8 * 1024)]
_Name = Annotated[
    str,
    Meta(max_length=8 * 1024, pattern=r"\S", title="a name that can be read", description="write at least a letter"),
]
_Id = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9]{1,19}\.[0-9]{1,19}\.[0-9]{1,19}\Z",
        title="the id of a topic or an account",
        description="write it as 0.0.123",
    ),
]
_MAX_ITEMS: Final = 100


class _Social(Struct, frozen=True):
    platform: _Name
    handle: _Name


class _Profile(Struct, frozen=True, kw_only=True):
    """What every profile has. It may have more."""

    version: _Name
    type: ProfileType
    display_name: _Name
    uaid: _Name | None = None
    alias: _Text | None = None
    bio: _Text | None = None
    profile_image: _Text | None = field(default=None, name="profileImage")
    appnet: _Text | None = None
    base_account: _Id | None = None
    inbound: _Id | None = field(default=None, name="inboundTopicId")
    outbound: _Id | None = field(default=None, name="outboundTopicId")
    properties: dict[str, Any] = {}
    privacy_compliance: dict[str, Any] = {}
    socials: Annotated[tuple[_Social, ...], Meta(max_length=_MAX_ITEMS)] = ()


class _Agent(Struct, frozen=True):
    type: AgentType
    capabilities: Annotated[tuple[Capability, ...], Meta(max_length=_MAX_ITEMS)]
    model: _Name
    creator: _Text | None = None


class _AgentProfile(_Profile, frozen=True, kw_only=True):
    agent: _Agent = field(name="aiAgent")


class _ServerConnection(Struct, frozen=True):
    url: _Name
    transport: Literal["stdio", "sse"]


class _ServerVerification(Struct, frozen=True):
    type: Literal["dns", "signature", "challenge", "vp"]
    value: _Name | None = None


class _McpServer(Struct, frozen=True, kw_only=True):
    version: _Name
    connection: _ServerConnection = field(name="connectionInfo")
    services: Annotated[tuple[Annotated[int, Meta(ge=0, le=15)], ...], Meta(max_length=_MAX_ITEMS)]
    description: _Name
    verification: _ServerVerification | None = None


class _ServerProfile(_Profile, frozen=True, kw_only=True):
    server: _McpServer = field(name="mcpServer")


class _Member(Struct, frozen=True):
    account: _Id = field(name="accountId")


class _FloraTopics(Struct, frozen=True):
    communication: _Id
    transaction: _Id
    state: _Id


class _FloraProfile(_Profile, frozen=True, kw_only=True):
    members: Annotated[tuple[_Member, ...], Meta(min_length=1, max_length=_MAX_ITEMS)]
    threshold: Annotated[int, Meta(ge=1)]
    topics: _FloraTopics
    inbound: _Id = field(name="inboundTopicId")
    outbound: _Id = field(name="outboundTopicId")


_KINDS: Final[Mapping[int, type[_Profile]]] = {
    ProfileType.AI_AGENT: _AgentProfile,
    ProfileType.MCP_SERVER: _ServerProfile,
    ProfileType.FLORA: _FloraProfile,
}


def validate_profile(profile: Any, *, requires_uaid: bool = True) -> None:
    """
    Raise Invalid, which names the field, if a profile has not what the standard asks for. It may have more. Many older
    profiles of others have no `uaid`.
    """
    type_code = profile.get("type") if isinstance(profile, dict) else None
    kind = _KINDS.get(type_code, _Profile) if isinstance(type_code, int) else _Profile
    parsed = validation.convert(kind, profile, labels={validation.WHOLE: "the profile"}, limit=MAX_SIZE)
    if requires_uaid and parsed.uaid is None:
        raise Invalid("'uaid' is missing")
    parse_field("uaid", parsed.uaid, hcs14.parse_uaid)
    if isinstance(parsed, _FloraProfile) and parsed.threshold > len(parsed.members):
        raise Invalid(f"threshold: {parsed.threshold} is more than {len(parsed.members)}, the number of members")
    verification = parsed.server.verification if isinstance(parsed, _ServerProfile) else None
    if verification is not None and verification.value is None and verification.type != "challenge":
        raise Invalid("'mcpServer.verification.value' is missing")
