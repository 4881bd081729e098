"""A sync puts everybody on the ledger, with a profile after HCS-11, and does nothing the second time."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.ledger import profile_actions as ledger_profiles
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.hcs import hcs1_files as hcs1, hcs11_profiles as hcs11
from gatepost.ledger.hedera import import_key
from gatepost.ledger.topic import LedgerId, TopicKind
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config
from tests.ledger.hedera.ledger_setup import TASK, LedgerSetup
from tests.ledger.hedera.posters import create_poster

POSTGRES_BY_NIGHT = True

NAMES = ("admin", "ann", "bob", "husam")


def read_definitions(setup: LedgerSetup) -> dict[str, list[dict[str, Any]]]:
    """Return the profiles on the topic of the definitions, by name, in their order."""
    profiles: dict[str, list[dict[str, Any]]] = {}
    for message in setup.read_ledger(TopicKind.DEFINITIONS):
        assert message["type"] == "agent_definition"
        profiles.setdefault(message["agent"]["slug"], []).append(message["agent"]["hcs11_profile"])
    return profiles


def read_public_profile(setup: LedgerSetup, name: str) -> dict[str, Any]:
    """Return the profile that the memo of an account leads to."""
    memo = setup.network.accounts[str(setup.find_account(name))].memo
    assert memo.startswith("hcs-11:hcs://1/")
    file = setup.network.topics[memo.removeprefix("hcs-11:hcs://1/")]
    assert (file.admin_key, file.submit_key is None) == (None, False)
    parts = [message.content for message in file.messages]
    media_type, content = hcs1.read_file(file.memo, parts, setup.ledger.decompress)
    assert media_type == "application/json"
    profile: dict[str, Any] = json.loads(content)
    return profile


def count_things(setup: LedgerSetup) -> Mapping[str, int]:
    """Return how much there is on the ledger."""
    if setup.is_public:
        return {"transactions": len(setup.network.transactions)}
    return {topic.id: topic.last_sequence for topic in setup.list_topics()}


async def test_a_sync_puts_everybody_on_the_ledger(any_setup: LedgerSetup) -> None:
    setup = any_setup
    result = await setup.sync()
    assert result.checked == 4
    assert (result.accounts, result.topics, result.profiles) == ((0, 0, 0) if setup.is_public else (4, 10, 4))
    kinds = [topic.kind for topic in setup.list_topics() if topic.kind is not TopicKind.FILE]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        TopicKind.INBOUND: 4,
        TopicKind.OUTBOUND: 4,
        TopicKind.BROADCAST: 1,
        TopicKind.DEFINITIONS: 1,
    }
    definitions = read_definitions(setup)
    assert set(definitions) == set(NAMES)
    for name, [profile] in definitions.items():
        hcs11.validate_profile(profile)
        inbound, outbound = (setup.find_topic(kind, name) for kind in (TopicKind.INBOUND, TopicKind.OUTBOUND))
        assert (profile["inboundTopicId"], profile["outboundTopicId"]) == (inbound.id, outbound.id)
        assert (inbound.memo, outbound.memo) == (f"hcs-10:0:3600:0:{setup.find_account(name)}", "hcs-10:0:3600:1")
        assert profile["type"] == (1 if name in ("ann", "bob") else 0)
        assert ("aiAgent" in profile) == (name in ("ann", "bob"))
        assert profile["uaid"].startswith("uaid:aid:")
        assert setup.find_operator_id(name) in profile["uaid"]
        view = setup.store.read_sync(ledger_profiles.show, name)
        assert (view.profile, view.is_published) == (profile, True)
        if setup.is_public:
            assert read_public_profile(setup, name) == profile
            assert setup.network.topics[inbound.id].submit_key is None
            assert setup.network.topics[outbound.id].submit_key is not None
    if setup.is_public:
        assert setup.count_orphans() == (0, 0)


async def test_a_second_sync_does_nothing(setup: LedgerSetup) -> None:
    await setup.sync()
    things = count_things(setup)
    result = await setup.sync()
    assert (result.accounts, result.topics, result.profiles, result.jobs) == (0, 0, 0, 0)
    await setup.sync(name="ann")
    assert count_things(setup) == things


async def test_two_syncs_at_once_do_everything_once(public_setup: LedgerSetup) -> None:
    setup = public_setup
    for _ in range(3):
        setup.store.run_sync(ledger_profiles.sync_entities)
    await setup.settle()
    assert {name: len(profiles) for name, profiles in read_definitions(setup).items()} == dict.fromkeys(NAMES, 1)
    assert setup.count_orphans() == (0, 0)


async def test_a_profile_is_published_again_when_it_has_changed(any_setup: LedgerSetup) -> None:
    setup = any_setup
    await setup.sync()
    setup.store.run_sync(directory.update, "husam", display="Husam the Great")
    assert not setup.store.read_sync(ledger_profiles.show, "husam").is_published
    await setup.sync()
    setup.store.run_sync(directory.update, "husam", display="Husam")
    await setup.sync()
    definitions = read_definitions(setup)
    assert [profile["display_name"] for profile in definitions["husam"]] == ["Husam", "Husam the Great", "Husam"]
    assert [len(definitions[name]) for name in NAMES] == [1, 1, 1, 3]
    if setup.is_public:
        assert read_public_profile(setup, "husam") == definitions["husam"][-1]


async def test_capabilities_come_from_the_configuration_or_from_the_role(setup: LedgerSetup) -> None:
    setup.set_policy(ledger_capabilities=(("coder", (4, 18)), ("tester", (13,))))
    setup.register("carl", team="red", role="coder")
    setup.register("dora", team="red", role="tester")
    setup.register("emil", team="red", role="cook")
    config = agent_config.parse_new({"model": "demo", "capabilities": [16, "0"]})
    setup.store.run_sync(agents.make_resident, "dora", config)
    await setup.sync()
    profiles = {name: profile for name, [profile] in read_definitions(setup).items()}
    agents_by_name = {name: profiles[name]["aiAgent"] for name in ("carl", "dora", "emil")}
    assert agents_by_name == {
        "carl": {"type": 1, "capabilities": [4, 18], "model": "unknown"},
        "dora": {"type": 1, "capabilities": [0, 16], "model": "demo"},
        "emil": {"type": 1, "capabilities": [0], "model": "unknown"},
    }


async def test_one_entity_and_the_work_items_are_synced_alone(setup: LedgerSetup) -> None:
    setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.PHASE, id="p1"), by="ann")
    await setup.sync(name="bob")
    assert {topic.entity for topic in setup.list_topics(TopicKind.INBOUND)} == {"bob"}
    result = setup.store.run_sync(ledger_profiles.sync_work_items)
    await setup.settle()
    assert (result.checked, result.topics + result.jobs) == (2, 2)
    assert {topic.memo for topic in setup.list_topics(TopicKind.WORK)} == {"gatepost:task:7", "gatepost:phase:p1"}
    assert setup.store.run_sync(ledger_profiles.sync_work_items).checked == 2
    await setup.settle()
    assert len(setup.list_topics(TopicKind.WORK)) == 2
    setup.post_note("hello")
    await setup.settle()
    assert setup.store.read_sync(work.find, TASK).topic in [topic.id for topic in setup.list_topics(TopicKind.WORK)]


async def test_a_sync_goes_page_by_page(setup: LedgerSetup) -> None:
    after: int | None = 0
    pages = []
    while after is not None:
        result = await setup.sync(after=after, limit=3)
        pages.append(result.checked)
        after = result.next
    assert pages == [3, 1]
    assert set(read_definitions(setup)) == set(NAMES)


async def test_services_have_no_profile_and_retired_entities_are_left_out(setup: LedgerSetup) -> None:
    setup.register("cron", EntityKind.SERVICE)
    setup.register("old")
    setup.store.run_sync(directory.retire, "old")
    await setup.sync()
    assert set(read_definitions(setup)) == set(NAMES)
    with pytest.raises(NotFound, match="'cron' is not on the ledger yet"):
        setup.store.read_sync(ledger_profiles.show, "cron")


async def test_peers_get_no_account_of_ours(hedera: LedgerSetup) -> None:
    await hedera.make_topics("ann")
    peer = create_poster(hedera.network)
    peer.ask(hedera.find_topic(TopicKind.INBOUND, "ann").id)
    await hedera.settle()
    hedera.store.run_sync(connections.accept, hedera.list_connections()[0].id)
    await hedera.sync()
    assert {topic.entity for topic in hedera.list_topics(TopicKind.INBOUND)} == set(NAMES)


async def test_an_account_that_exists_is_taken(public_setup: LedgerSetup) -> None:
    setup = public_setup
    account, key = setup.network.create_account()
    source = setup.folder / "husam.txt"
    source.touch(0o600)
    source.write_text(key)
    import_key(setup.folder / "keys", "husam", source)
    await setup.sync(name="husam", account=LedgerId.parse(account))
    assert str(setup.find_account("husam")) == account
    [profile] = read_definitions(setup)["husam"]
    assert read_public_profile(setup, "husam") == profile
    setup.send("bob", "from my own account", sender="husam")
    await setup.settle()
    [message] = setup.network.messages(setup.find_topic(TopicKind.INBOUND, "bob").id)
    assert message.payer == account
    assert setup.list_inbox("bob") == ["from my own account"]
    assert "CRYPTOCREATEACCOUNT" in {entry.name for entry in setup.network.transactions}, "that of bob"
    await setup.sync(name="husam", account=LedgerId.parse(account))
    with pytest.raises(Conflict, match="'husam' has the account"):
        await setup.sync(name="husam", account=LedgerId(0, 0, 999))
    with pytest.raises(Conflict, match=f"the account {account} belongs to 'husam'"):
        await setup.sync(name="ann", account=LedgerId.parse(account))


async def test_the_local_ledger_takes_no_account(local: LedgerSetup) -> None:
    with pytest.raises(Refused, match="the local ledger makes its accounts itself"):
        await local.sync(name="ann", account=LedgerId(0, 0, 7))


@pytest.mark.parametrize("fault", ["drop", "busy", "lost", "down"])
async def test_whatever_the_nodes_do_everybody_is_on_the_ledger_once(hedera: LedgerSetup, fault: str) -> None:
    match fault:
        case "drop":
            hedera.network.drop_replies(40)
        case "busy":
            hedera.network.answer_busy(40)
        case "lost":
            hedera.network.lose_transactions(8)
        case _:
            hedera.network.stop_nodes()
    hedera.store.run_sync(ledger_profiles.sync_entities)
    await hedera.run_jobs()
    if fault == "down":
        hedera.kit.clock.advance("1 hour")
        hedera.network.start_nodes()
    await hedera.settle()
    assert {name: len(profiles) for name, profiles in read_definitions(hedera).items()} == dict.fromkeys(NAMES, 1)
    assert [read_public_profile(hedera, name)["alias"] for name in NAMES] == list(NAMES)
    assert hedera.count_orphans() == (0, 0)
    assert hedera.list_alerts() == []


async def test_a_stranger_on_the_topic_of_the_definitions_changes_nothing(hedera: LedgerSetup) -> None:
    await hedera.sync()
    stranger, topic = create_poster(hedera.network), hedera.find_topic(TopicKind.DEFINITIONS)
    stranger.submit(topic.id, json.dumps({"type": "agent_definition", "agent": {"slug": "ann"}}))
    stranger.submit(topic.id, b"\x00\xff")
    await hedera.settle()
    assert hedera.store.read_sync(ledger_profiles.show, "ann").is_published
    assert hedera.find_topic(TopicKind.DEFINITIONS).last_sequence == len(hedera.network.messages(topic.id))
