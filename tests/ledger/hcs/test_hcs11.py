"""Profiles: ours have what the standard asks for, what is missing in others is named, and capabilities have names."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid
from gatepost.ledger.hcs.hcs11_profiles import (
    build_account_memo,
    build_definition,
    build_profile,
    parse_account_memo,
    validate_profile,
)
from gatepost.ledger.hcs.hcs14_ids import parse_uaid
from gatepost.ledger.topic import LedgerId
from gatepost.residents.capability import Capability, parse_capability

TOPICS: dict[str, Any] = {"account": LedgerId(0, 0, 4), "inbound": LedgerId(0, 0, 5), "outbound": LedgerId(0, 0, 6)}
UAID = "uaid:did:QmX4fB9XpS3yKqP8MHTbcQW7R6wN4PrGHz;uid=helper-bot;registry=hol;nativeId=hedera:testnet:0.0.2656337"
#: the example of an agent in the standard
AGENT = {
    "version": "1.0",
    "type": 1,
    "display_name": "AI Assistant Bot",
    "uaid": UAID,
    "alias": "helper_bot",
    "bio": "I'm an AI assistant",
    "socials": [{"platform": "x", "handle": "@helper"}],
    "profileImage": "hcs://1/0.0.12345",
    "inboundTopicId": "0.0.789101",
    "outboundTopicId": "0.0.789102",
    "privacy_compliance": {"standards": ["gdpr"]},
    "properties": {"uptime_percentage": 99.9},
    "aiAgent": {"type": 0, "capabilities": [0, 1], "model": "gpt-4", "creator": "Hashgraph Online"},
}
SERVER = {
    "version": "1.0",
    "type": 2,
    "display_name": "Hedera Consensus MCP",
    "uaid": UAID,
    "mcpServer": {
        "version": "2025-03-26",
        "connectionInfo": {"url": "https://mcp.example.com", "transport": "sse"},
        "services": [0, 1, 5, 11, 14],
        "description": "Reads topics",
        "verification": {"type": "dns", "value": "example.com"},
    },
}
FLORA = {
    "version": "1.0",
    "type": 3,
    "display_name": "Escrow",
    "uaid": UAID,
    "inboundTopicId": "0.0.1",
    "outboundTopicId": "0.0.2",
    "members": [{"accountId": "0.0.1234"}, {"accountId": "0.0.2345"}],
    "threshold": 2,
    "topics": {"communication": "0.0.3", "transaction": "0.0.4", "state": "0.0.5"},
}
PERSON = {"version": "1.0", "type": 0, "display_name": "Husam", "uaid": UAID}


def build(kind: EntityKind = EntityKind.AGENT, **fields: Any) -> dict[str, Any]:
    return build_profile(kind=kind, name="quinn", display="Quinn", network="testnet", **TOPICS, **fields)


def test_the_profile_of_an_agent() -> None:
    profile = build(capabilities=(18, 4, 16, 4), model="claude-sonnet-4-6")
    validate_profile(profile)
    uaid = parse_uaid(profile.pop("uaid"))
    assert (uaid.uid, uaid.native_id) == ("0.0.5@0.0.4", "hedera:testnet:0.0.4")
    assert profile == {
        "version": "1.0",
        "type": 1,
        "display_name": "Quinn",
        "alias": "quinn",
        "inboundTopicId": "0.0.5",
        "outboundTopicId": "0.0.6",
        "properties": {"kind": "agent"},
        "aiAgent": {"type": 1, "capabilities": [4, 16, 18], "model": "claude-sonnet-4-6"},
    }
    assert build(creator="husam")["aiAgent"] == {
        "type": 1,
        "capabilities": [0],
        "model": "unknown",
        "creator": "husam",
    }


@pytest.mark.parametrize("kind", [EntityKind.HUMAN, EntityKind.SERVICE])
def test_the_profile_of_a_person_or_a_service_says_nothing_of_a_model(kind: EntityKind) -> None:
    profile = build(kind, capabilities=(4,), model="demo")
    validate_profile(profile)
    assert (profile["type"], profile["properties"]) == (0, {"kind": kind.value})
    assert "aiAgent" not in profile
    assert profile["uaid"] == build(kind)["uaid"]


def test_the_id_changes_with_the_capabilities_and_not_with_the_display_name() -> None:
    assert build(capabilities=(4,))["uaid"] != build(capabilities=(5,))["uaid"]
    assert build(capabilities=(5, 4))["uaid"] == build(capabilities=(4, 5), model="x")["uaid"]


def test_a_definition_is_as_the_source_document_has_it() -> None:
    profile = build(capabilities=(4,))
    assert json.loads(build_definition("quinn", "Quinn", profile)) == {
        "type": "agent_definition",
        "agent": {"slug": "quinn", "name": "Quinn", "hcs11_profile": profile},
    }


def test_the_memo_of_an_account_says_where_its_profile_is() -> None:
    assert build_account_memo(LedgerId(0, 0, 8768762)) == "hcs-11:hcs://1/0.0.8768762"
    for memo in ("hcs-11:hcs://1/0.0.8768762", "hcs-11:0.0.8768762"):
        assert parse_account_memo(memo) == LedgerId(0, 0, 8768762)


@pytest.mark.parametrize(
    ("memo", "sentence"),
    [
        ("", "the memo '' does not say where the profile of the account is"),
        ("hcs://1/0.0.1", "the memo 'hcs://1/0.0.1' does not say where the profile of the account is"),
        ("hcs-11:", "a profile at '' cannot be read"),
        ("hcs-11:hcs://2/0.0.1", "a profile at 'hcs://2/0.0.1' cannot be read"),
        ("hcs-11:ipfs://QmT5", "a profile at 'ipfs://QmT5' cannot be read"),
    ],
)
def test_other_memos_of_accounts_are_refused(memo: str, sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_account_memo(memo)
    assert caught.value.message == sentence


@pytest.mark.parametrize("profile", [PERSON, AGENT, SERVER, FLORA, {**AGENT, "later": {"more": 1}}])
def test_profiles_of_the_standard_are_valid(profile: dict[str, Any]) -> None:
    validate_profile(profile)


def change(profile: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a profile with one value changed; `...` removes it."""
    copy: dict[str, Any] = json.loads(json.dumps(profile))
    *parents, name = path.split(".")
    place = copy
    for parent in parents:
        place = place[parent]
    if value is ...:
        del place[name]
    else:
        place[name] = value
    return copy


@pytest.mark.parametrize(
    ("profile", "path", "value", "sentence"),
    [
        *((PERSON, name, ..., f"'{name}' is missing") for name in PERSON),
        (PERSON, "version", 1, "version: 1 is not text"),
        (PERSON, "type", 4, "type: 4 is not one of 0, 1, 2, 3"),
        (PERSON, "type", "0", "type: '0' is not one of 0, 1, 2, 3"),
        (PERSON, "type", True, "type: true is not one of 0, 1, 2, 3"),
        (PERSON, "display_name", " ", "display_name: ' ' is not a name that can be read"),
        (PERSON, "uaid", "did:key:z6", "uaid: 'did:key:z6' is not the id of an agent"),
        (PERSON, "alias", 7, "alias: 7 is not text"),
        (PERSON, "base_account", "0.0", "base_account: '0.0' is not the id of a topic or an account"),
        (PERSON, "inboundTopicId", 5, "inboundTopicId: 5 is not text"),
        (PERSON, "properties", [], "properties: a list is not an object"),
        (PERSON, "socials", [{"platform": "x"}], "'socials[0].handle' is missing"),
        (PERSON, "bio", "x" * 70_000, "bio: 'xxx"),
        (PERSON, "properties", {"x": "x" * 70_000}, "the profile is 70"),
        (AGENT, "aiAgent", ..., "'aiAgent' is missing"),
        (AGENT, "aiAgent", [], "aiAgent: a list is not an object"),
        *((AGENT, f"aiAgent.{name}", ..., f"'aiAgent.{name}' is missing") for name in ("type", "capabilities")),
        (AGENT, "aiAgent.model", ..., "'aiAgent.model' is missing"),
        (AGENT, "aiAgent.type", 2, "aiAgent.type: 2 is not one of 0, 1"),
        (AGENT, "aiAgent.capabilities", [4, 19], "aiAgent.capabilities[1]: 19 is not one of 0, 1"),
        (AGENT, "aiAgent.capabilities", ["4"], "aiAgent.capabilities[0]: '4' is not one of 0, 1"),
        (AGENT, "aiAgent.creator", 7, "aiAgent.creator: 7 is not text"),
        (SERVER, "mcpServer", ..., "'mcpServer' is missing"),
        (SERVER, "mcpServer.version", ..., "'mcpServer.version' is missing"),
        (SERVER, "mcpServer.connectionInfo.url", ..., "'mcpServer.connectionInfo.url' is missing"),
        (SERVER, "mcpServer.connectionInfo.transport", "tcp", "mcpServer.connectionInfo.transport: 'tcp' is not one"),
        (SERVER, "mcpServer.services", [16], "mcpServer.services[0]: 16 is more than 15"),
        (SERVER, "mcpServer.description", ..., "'mcpServer.description' is missing"),
        (SERVER, "mcpServer.verification.type", "x", "mcpServer.verification.type: 'x' is not one of challenge, dns"),
        (SERVER, "mcpServer.verification.value", ..., "'mcpServer.verification.value' is missing"),
        (FLORA, "members", [], "members: a list has fewer than 1 member"),
        (FLORA, "members", [{}], "'members[0].accountId' is missing"),
        (FLORA, "threshold", 3, "threshold: 3 is more than 2, the number of members"),
        (FLORA, "topics.state", ..., "'topics.state' is missing"),
        (FLORA, "outboundTopicId", ..., "'outboundTopicId' is missing"),
    ],
)
def test_what_is_wrong_in_a_profile_is_named(profile: dict[str, Any], path: str, value: Any, sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        validate_profile(change(profile, path, value))
    assert caught.value.message.startswith(sentence)


def test_an_older_profile_of_others_may_have_no_uaid_but_no_wrong_one() -> None:
    validate_profile(change(AGENT, "uaid", ...), requires_uaid=False)
    with pytest.raises(Invalid, match="'x' is not the id of an agent"):
        validate_profile(change(AGENT, "uaid", "x"), requires_uaid=False)


def test_a_challenge_needs_no_value() -> None:
    validate_profile(change(SERVER, "mcpServer.verification", {"type": "challenge", "value": None}))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
CHANGES = st.dictionaries(
    st.sampled_from(["type", "uaid", "aiAgent", "mcpServer", "members", "topics", "socials", "threshold"]), VALUES
)


@given(VALUES, st.sampled_from([PERSON, AGENT, SERVER, FLORA]), CHANGES)
def test_whatever_a_profile_is_only_invalid_is_raised(value: Any, profile: dict[str, Any], changes: Any) -> None:
    for candidate in (value, {**profile, **changes}):
        with suppress(Invalid):
            validate_profile(candidate)


def test_the_codes_of_the_standard() -> None:
    assert [capability.value for capability in Capability] == list(range(19))
    labels = {code: Capability(code).label for code in (0, 4, 7, 16, 17, 18)}
    assert labels == {
        0: "text-generation",
        4: "code-generation",
        7: "knowledge-retrieval",
        16: "multi-agent-coordination",
        17: "api-integration",
        18: "workflow-automation",
    }


@pytest.mark.parametrize("capability", Capability)
def test_a_capability_is_a_code_or_a_name(capability: Capability) -> None:
    forms = (capability.value, str(capability.value), capability.label, capability.name, capability.label.upper())
    assert {parse_capability(form) for form in forms} == {capability.value}


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("code-generatoin", "did you mean 'code-generation'?"),
        ("workflow", "did you mean 'workflow-automation'?"),
        ("19", "use a code from 0 to 18, or a name such as code-generation"),
        (19, "use a code from 0 to 18, or a name such as code-generation"),
        (-1, "use a code from 0 to 18, or a name such as code-generation"),
        (True, "use a code from 0 to 18, or a name such as code-generation"),
        ("", "use a code from 0 to 18, or a name such as code-generation"),
        ("x" * 100_000, "use a code from 0 to 18, or a name such as code-generation"),
    ],
)
def test_what_is_not_a_capability_is_refused_with_a_suggestion(value: str | int, hint: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_capability(value)
    assert caught.value.hint == hint
