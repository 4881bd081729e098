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
from typing import Any, Final

from gatepost.core.json_node import JsonFields, JsonNode
from gatepost.core.text import parse_field
from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid, quote_value
from gatepost.ledger.hcs import hcs10_messages as hcs10, hcs14_ids as hcs14
from gatepost.ledger.hcs.hcs14_ids import AgentIdentity
from gatepost.ledger.topic import LedgerId
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
_MAX_TEXT: Final = 8 * 1024
_MAX_ITEMS: Final = 100
_MAX_MCP_SERVICE: Final = 15
_TRANSPORTS: Final = ("stdio", "sse")
_VERIFICATIONS: Final = ("dns", "signature", "challenge", "vp")


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


def validate_profile(profile: Any, *, requires_uaid: bool = True) -> None:
    """
    Raise Invalid, which names the field, if a profile has not what the standard asks for. It may have more. Many older
    profiles of others have no `uaid`.
    """
    JsonNode(profile, "the profile").json(MAX_SIZE)
    if not isinstance(profile, dict):
        raise Invalid("the profile is not an object")
    fields = JsonFields(JsonNode(profile), profile)
    for name in ("version", "display_name"):
        _require_text(fields[name])
    if requires_uaid or not fields["uaid"].is_absent:
        parse_field("uaid", _require_text(fields["uaid"]), hcs14.parse_uaid)
    _validate_optional_fields(fields)
    match _require_number(fields["type"], max(ProfileType)):
        case ProfileType.AI_AGENT:
            _validate_agent(_require_fields(fields["aiAgent"]))
        case ProfileType.MCP_SERVER:
            _validate_server(_require_fields(fields["mcpServer"]))
        case ProfileType.FLORA:
            _validate_flora(fields)
        case _:
            pass


def _validate_optional_fields(fields: JsonFields) -> None:
    for name in ("alias", "bio", "profileImage", "appnet"):
        fields[name].text(_MAX_TEXT)
    for name in ("base_account", "inboundTopicId", "outboundTopicId"):
        if not fields[name].is_absent:
            _require_id(fields[name])
    for name in ("properties", "privacy_compliance"):
        if not isinstance(fields[name].value, dict | None):
            fields[name].reject_value("is not an object")
    for node in fields["socials"].items(_MAX_ITEMS):
        social = _require_fields(node)
        _require_text(social["platform"])
        _require_text(social["handle"])


def _validate_agent(agent: JsonFields) -> None:
    _require_number(agent["type"], max(AgentType))
    for node in _require_items(agent["capabilities"]):
        _require_number(node, max(Capability))
    _require_text(agent["model"])
    agent["creator"].text(_MAX_TEXT)


def _validate_server(server: JsonFields) -> None:
    _require_text(server["version"])
    connection = _require_fields(server["connectionInfo"])
    _require_text(connection["url"])
    _require_text(connection["transport"])
    connection["transport"].choice(*_TRANSPORTS, default="")
    for node in _require_items(server["services"]):
        _require_number(node, _MAX_MCP_SERVICE)
    _require_text(server["description"])
    if not server["verification"].is_absent:
        verification = _require_fields(server["verification"])
        _require_text(verification["type"])
        if verification["type"].choice(*_VERIFICATIONS, default="") != "challenge":
            _require_text(verification["value"])


def _validate_flora(fields: JsonFields) -> None:
    members = _require_items(fields["members"])
    if not members:
        fields["members"].reject("it is empty")
    for node in members:
        _require_id(_require_fields(node)["accountId"])
    _require_number(fields["threshold"], len(members), minimum=1)
    topics = _require_fields(fields["topics"])
    for name in ("communication", "transaction", "state"):
        _require_id(topics[name])
    for name in ("inboundTopicId", "outboundTopicId"):
        _require_id(fields[name])


def _require(node: JsonNode) -> JsonNode:
    if node.is_absent:
        node.reject("it is missing")
    return node


def _require_text(node: JsonNode) -> str:
    text = _require(node).text(_MAX_TEXT)
    if not text.strip():
        node.reject("it is empty")
    return text


def _require_id(node: JsonNode) -> LedgerId:
    return parse_field(node.path, _require_text(node), LedgerId.parse)


def _require_number(node: JsonNode, maximum: int, *, minimum: int = 0) -> int:
    return _require(node).whole(minimum, maximum)


def _require_items(node: JsonNode) -> list[JsonNode]:
    return list(_require(node).items(_MAX_ITEMS))


def _require_fields(node: JsonNode) -> JsonFields:
    """Return the fields of an object, which may have others too."""
    value = _require(node).value
    if not isinstance(value, dict):
        node.reject_value("is not an object")
    return JsonFields(node, value)
