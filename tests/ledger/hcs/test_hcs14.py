"""Ids of agents: the vectors of the standard, one that others have published, and ids of others."""

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from gatepost.errors import Invalid
from gatepost.ledger.hcs.hcs10_messages import OperatorId
from gatepost.ledger.hcs.hcs14_ids import (
    AgentIdentity,
    Uaid,
    build_canonical_json,
    build_native_id,
    build_uaid,
    parse_uaid,
)
from gatepost.ledger.topic import LedgerId

SUPPORT = AgentIdentity(
    registry="hol",
    name="Support Agent",
    version="1.0.0",
    protocol="hcs-10",
    native_id="hedera:testnet:0.0.123456",
    skills=(0, 17),
)
#: of a program that compares itself with the reference implementation
WEATHER = AgentIdentity(
    registry="meterx402",
    name="weather",
    version="1",
    protocol="a2a",
    native_id="hedera:testnet:0.0.10454509",
    skills=(8,),
)
WEATHER_ID = "7JmaYYEJk7WfPKyQ1TjpgdvyAJnNE9ZZeAhs9q26UCLkrESLGLePtdWcuGqevPKJhe"

IDS = st.builds(LedgerId, *(st.integers(0, 2**63 - 1) for _ in range(3)))


def test_the_vectors_of_the_standard() -> None:
    assert build_canonical_json(SUPPORT) == (
        b'{"skills":[0,17],"name":"Support Agent","nativeId":"hedera:testnet:0.0.123456",'
        b'"protocol":"hcs-10","registry":"hol","version":"1.0.0"}'
    )
    bot = AgentIdentity(
        registry="google",
        name="Customer Bot",
        version="2.1.0",
        protocol="a2a",
        native_id="salesforce-support-agent",
        skills=(0, 17, 19),
    )
    assert build_canonical_json(bot) == (
        b'{"skills":[0,17,19],"name":"Customer Bot","nativeId":"salesforce-support-agent",'
        b'"protocol":"a2a","registry":"google","version":"2.1.0"}'
    )
    head, *parameters = build_uaid(SUPPORT).split(";")
    assert head.startswith("uaid:aid:")
    assert parameters == ["uid=0", "registry=hol", "proto=hcs-10", "nativeId=hedera:testnet:0.0.123456"]


def test_a_known_answer_of_others() -> None:
    assert build_uaid(WEATHER, "weather") == (
        f"uaid:aid:{WEATHER_ID};uid=weather;registry=meterx402;proto=a2a;nativeId=hedera:testnet:0.0.10454509"
    )


def test_values_are_trimmed_lowered_and_sorted_before_they_are_hashed() -> None:
    loose = replace(WEATHER, registry=" MeterX402 ", protocol="A2A", name="\tweather ", skills=(8,))
    assert build_uaid(loose) == build_uaid(WEATHER)
    assert build_canonical_json(replace(WEATHER, skills=(9, 0, 8))) == build_canonical_json(
        replace(WEATHER, skills=(0, 8, 9))
    )
    assert "é".encode() in build_canonical_json(replace(WEATHER, name="é")), "text is not escaped"


@pytest.mark.parametrize(
    ("identity", "sentence"),
    [
        (replace(WEATHER, name="  "), "an agent without name has no id"),
        (replace(WEATHER, skills=(40,)), "40 is not a skill of HCS-14"),
        (replace(WEATHER, skills=(-1,)), "-1 is not a skill of HCS-14"),
        (replace(WEATHER, registry="a;uid=b;uid=c"), "the id of the agent has 'uid' twice"),
    ],
)
def test_an_agent_that_can_have_no_id_is_refused(identity: AgentIdentity, sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        build_uaid(identity)
    assert caught.value.message == sentence


@given(IDS, IDS, st.sampled_from(["testnet", "mainnet", "local"]), st.sets(st.integers(0, 39)), st.text(min_size=1))
def test_an_id_is_read_as_it_was_built(
    inbound: LedgerId, account: LedgerId, network: str, skills: set[int], name: str
) -> None:
    identity = AgentIdentity(
        name=f"n{name.encode(errors='ignore').decode()}",
        native_id=build_native_id(network, account),
        skills=tuple(skills),
    )
    uaid = parse_uaid(build_uaid(identity, str(OperatorId(inbound, account))))
    assert (uaid.target, uaid.registry, uaid.protocol) == ("aid", "self", "hcs-10")
    assert (uaid.operator_id, uaid.account, uaid.network) == (OperatorId(inbound, account), account, network)
    assert 60 < len(uaid.id) < 70
    assert set(uaid.id) <= set("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")


def test_ids_of_others_are_read_whatever_the_order_of_their_parameters() -> None:
    sample = (
        "uaid:did:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK;uid=0;proto=hcs-10;nativeId=hedera:testnet:0.0.4"
    )
    assert parse_uaid(sample) == Uaid(
        target="did",
        id="z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
        protocol="hcs-10",
        native_id="hedera:testnet:0.0.4",
    )
    other = parse_uaid("uaid:aid:Qm7X;nativeId=microsoft.com;domain=foo.hbar;uid=0.0.5@0.0.4")
    assert (other.operator_id, other.network, other.account) == (
        OperatorId(LedgerId(0, 0, 5), LedgerId(0, 0, 4)),
        None,
        None,
    )
    bare = parse_uaid("uaid:aid:Qm7X")
    assert (bare.uid, bare.operator_id, bare.account) == ("0", None, None)
    assert parse_uaid("uaid:aid:x;nativeId=hedera:testnet:9.9").account is None


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "uaid:aid:", "uaid:xid:abc", "did:aid:abc", "uaid:aid:a b", "uaid:aid:a\n"),
        *("uaid:aid:a;", "uaid:aid:a;uid", "uaid:aid:a;uid=0;uid=1", f"uaid:aid:{'x' * 1_000}"),
    ],
)
def test_what_is_not_an_id_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_uaid(text)


@given(st.text(max_size=80) | st.text("uaid:;=@.0159 ", max_size=60).map("uaid:aid:{}".format))
def test_whatever_is_given_only_invalid_is_raised(text: str) -> None:
    try:
        uaid = parse_uaid(text)
    except Invalid:
        return
    assert uaid.id
    assert (uaid.account is None) or uaid.network
