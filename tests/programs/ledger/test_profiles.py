"""Profiles (HCS-11) and ids (HCS-14): the SDK of the standards accepts ours, and computes the same."""

from typing import Any, Final

import pytest

from gatepost.directory.entity import EntityKind
from gatepost.ledger.hcs import hcs11_profiles as hcs11, hcs14_ids as hcs14
from gatepost.ledger.hcs.hcs14_ids import AgentIdentity
from gatepost.ledger.topic import LedgerId
from gatepost.residents.capability import Capability
from tests.programs.ledger.standards import SdkError, StandardsSdk

pytestmark = pytest.mark.nightly

ACCOUNT: Final = LedgerId(0, 0, 4)
INBOUND: Final = LedgerId(0, 0, 5)
OUTBOUND: Final = LedgerId(0, 0, 6)
FILE: Final = LedgerId(0, 0, 8768762)


def build_profile(kind: EntityKind = EntityKind.AGENT, **fields: Any) -> dict[str, Any]:
    return hcs11.build_profile(
        kind=kind,
        name="quinn",
        display="Quinn",
        network="testnet",
        account=ACCOUNT,
        inbound=INBOUND,
        outbound=OUTBOUND,
        **fields,
    )


PROFILES: Final = [
    pytest.param(build_profile(EntityKind.HUMAN), id="person"),
    pytest.param(build_profile(EntityKind.SERVICE), id="service"),
    pytest.param(build_profile(capabilities=list(Capability), model="demo", creator="husam"), id="agent"),
    pytest.param(build_profile(), id="agent-without-capabilities"),
]


@pytest.mark.parametrize("profile", PROFILES)
def test_our_profiles_are_valid(sdk: StandardsSdk, profile: dict[str, Any]) -> None:
    assert sdk.call("validateProfile", profile=profile) == {"valid": True, "errors": []}


@pytest.mark.parametrize("profile", PROFILES)
def test_an_agent_outside_finds_our_topics_by_the_memo_of_an_account(
    sdk: StandardsSdk, profile: dict[str, Any]
) -> None:
    memo = hcs11.build_account_memo(FILE)
    assert memo == sdk.call("buildAccountMemo", file=str(FILE))
    assert sdk.call("fetchProfile", memo=memo, profile=profile) == {
        "success": True,
        "profile": profile,
        "topicInfo": {"inboundTopic": str(INBOUND), "outboundTopic": str(OUTBOUND), "profileTopicId": str(FILE)},
    }


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"display_name": ...}, "display_name: Required"),
        ({"display_name": ""}, "display_name: String must contain at least 1 character(s)"),
        ({"aiAgent": ...}, "aiAgent: Required"),
        ({"uaid": 7}, "uaid: Expected string, received number"),
    ],
)
def test_a_profile_with_a_fault_is_refused(sdk: StandardsSdk, fields: dict[str, Any], error: str) -> None:
    changed_profile = {**build_profile(capabilities=(4,)), **fields}
    profile = {name: value for name, value in changed_profile.items() if value is not ...}
    assert sdk.call("validateProfile", profile=profile) == {"valid": False, "errors": [error]}
    answer = sdk.call("fetchProfile", memo=hcs11.build_account_memo(FILE), profile=profile)
    assert answer == {"success": False, "error": f"Invalid HCS-11 profile data for topic {FILE}"}


def test_the_sdk_knows_our_capabilities_and_no_others(sdk: StandardsSdk) -> None:
    for code in (*Capability, max(Capability) + 1, -1):
        profile = build_profile()
        profile["aiAgent"]["capabilities"] = [code]
        assert sdk.call("validateProfile", profile=profile)["valid"] == (code in list(Capability)), code


NATIVE_ID: Final = hcs14.build_native_id("testnet", ACCOUNT)
IDENTITIES: Final = [
    AgentIdentity(name="quinn", native_id=NATIVE_ID),
    AgentIdentity(name="quinn", native_id=NATIVE_ID, skills=tuple(Capability)),
    AgentIdentity(name="quinn", native_id=NATIVE_ID, skills=(100, 18, 4, 20)),
    AgentIdentity(name=' Zoë "Z" \\ / 日本 🚀\n\t\x01\x7f\u2028. ', native_id=NATIVE_ID, version=" 2.1.0 "),
    AgentIdentity(name="bot", native_id="salesforce-bot", registry=" Google", protocol="A2A ", skills=(17, 0)),
    AgentIdentity(name="bot", native_id=hcs14.build_native_id("mainnet", LedgerId(0, 0, 2**63 - 1))),
]


@pytest.mark.parametrize("identity", IDENTITIES)
def test_the_sdk_computes_the_same_id(sdk: StandardsSdk, identity: AgentIdentity) -> None:
    fields = {
        "registry": identity.registry,
        "name": identity.name,
        "version": identity.version,
        "protocol": identity.protocol,
        "nativeId": identity.native_id,
        "skills": identity.skills,
    }
    assert hcs14.build_canonical_json(identity).decode() == sdk.call("canonicalize", identity=fields)
    # The SDK adds the protocol to the id only if it is told so.
    parameters = {"uid": "0.0.5@0.0.4", "proto": identity.protocol.strip().lower()}
    uaid = hcs14.build_uaid(identity, "0.0.5@0.0.4")
    assert uaid == sdk.call("createUaid", identity=fields, parameters=parameters)
    assert hcs14.build_uaid(identity) == sdk.call(
        "createUaid", identity=fields, parameters={"proto": parameters["proto"]}
    )


def test_the_sdk_reads_the_id_in_a_profile(sdk: StandardsSdk) -> None:
    uaid = build_profile(capabilities=(4, 16))["uaid"]
    parts = hcs14.parse_uaid(uaid)
    assert sdk.call("parseUaid", uaid=uaid) == {
        "method": "aid",
        "id": parts.id,
        "params": {"uid": "0.0.5@0.0.4", "registry": "self", "proto": "hcs-10", "nativeId": NATIVE_ID},
    }
    with pytest.raises(SdkError, match="Invalid UAID"):
        sdk.call("parseUaid", uaid=uaid.replace("uaid:aid:", "uaid:xid:"))
