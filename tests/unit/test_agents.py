"""Residents: how an agent becomes one, is told otherwise, pauses and goes on."""

from typing import Any, cast

import pytest

from gatepost.actions import agents, directory, inbox, run_journal, spaces
from gatepost.actions.directory import EntitySpec
from gatepost.core import agent_config
from gatepost.core.agent import AgentConfig, ModelChoice
from gatepost.core.entity import EntityKind
from gatepost.core.mind import ToolCall
from gatepost.errors import Conflict, Invalid, NotFound, Refused, UnknownAddress
from gatepost.ports import Reader
from tests.residents import resident
from tests.unit.conftest import House

TOOL = {"name": "crm", "execution": {"url": "https://crm.example.com/", "headers": {"Authorization": "Bearer sk_1"}}}


def settle(house: House, who: Any = "ann", **document: Any) -> Any:
    return house.store.call(agents.make_resident, who, agent_config.parse(document))


def test_an_agent_is_registered_and_settles_in_one_go(house: House) -> None:
    newcomer = EntitySpec(name="cleo", kind=EntityKind.AGENT, display="Cleo")
    resident = settle(house, newcomer, model="openai:gpt-5", instructions="Be brief")
    assert (resident.name, resident.display, resident.version) == ("cleo", "Cleo", 1)
    assert (resident.cycles, resident.paused_at, resident.failures) == (0, None, 0)
    assert resident.config == AgentConfig(model=ModelChoice(name="openai:gpt-5"), instructions="Be brief")
    assert house.store.query(agents.show, "cleo") == resident
    assert [ring.recipient for ring in house.bell.signals] == ["cleo"]
    with pytest.raises(Conflict, match="taken"):
        settle(house, newcomer)


def test_a_guest_settles_later_and_only_once(house: House) -> None:
    assert house.store.query(agents.show, "ann") is None
    assert settle(house, "ann").config == AgentConfig()
    with pytest.raises(Conflict, match="resident already"):
        settle(house, "ann")
    assert house.store.call(agents.configure, "bob", {"model": "demo"}).version == 1


def test_a_change_is_of_what_is_given_and_counts(house: House) -> None:
    settle(house, tools=[TOOL], instructions="Be brief", loop={"maxSteps": 5})
    house.bell.clear()
    changed = house.store.call(agents.configure, "ann", {"instructions": "Be kind", "loop": None})
    assert (changed.version, changed.config.instructions, changed.config.loop.max_steps) == (2, "Be kind", 20)
    assert changed.config.tools[0].name == "crm"
    assert [(ring.recipient, ring.wakes) for ring in house.bell.signals] == [("ann", True)]
    assert house.store.call(agents.configure, "ann", {"instructions": "Be kind"}).version == 2
    assert house.store.query(agents.show, "ann") == changed


def test_a_secret_survives_being_shown_and_sent_back(house: House) -> None:
    resident = settle(house, tools=[TOOL])
    shown = agent_config.build_document(resident.config, mask_secrets=True)
    assert "sk_1" not in str(shown)
    shown["tools"][0]["description"] = "Customers"
    changed = house.store.call(agents.configure, "ann", {"tools": shown["tools"]})
    [tool] = changed.config.tools
    assert tool.description == "Customers"
    assert tool.request is not None
    assert tool.request.headers == {"Authorization": "Bearer sk_1"}
    with pytest.raises(Invalid, match="secret"):
        house.store.call(agents.configure, "bob", {"tools": shown["tools"]})


def test_a_secret_does_not_follow_a_tool_to_another_server(house: House) -> None:
    """Whoever may set an address, and not read the secret, would have it sent to themselves."""
    resident = settle(
        house, tools=[TOOL], mcp={"servers": [{"name": "local", "command": ["serve"], "env": {"K": "v"}}]}
    )
    shown = agent_config.build_document(resident.config, mask_secrets=True)
    url = shown["tools"][0]["execution"]["url"]
    shown["tools"][0]["execution"]["url"] = f"{url}/other"
    house.store.call(agents.configure, "ann", {"tools": shown["tools"]})
    shown["tools"][0]["execution"]["url"] = "https://elsewhere.example/steal"
    with pytest.raises(Invalid, match="secret"):
        house.store.call(agents.configure, "ann", {"tools": shown["tools"]})
    shown["mcp"]["servers"][0]["command"] = ["env"]
    with pytest.raises(Invalid, match="secret"):
        house.store.call(agents.configure, "ann", {"mcp": shown["mcp"]})


def test_what_is_refused_changes_nothing(house: House) -> None:
    before = settle(house, tools=[TOOL])
    house.bell.clear()
    for changes in ({"model": "nonsense"}, {"instructions": "Be kind", "tools": [TOOL, TOOL]}, {"nonsense": 1}):
        with pytest.raises(Invalid):
            house.store.call(agents.configure, "ann", changes)
    assert house.store.query(agents.show, "ann") == before
    assert not house.bell.signals


def test_pausing_twice_is_fine_and_resuming_rings(house: House) -> None:
    settle(house)
    paused = house.store.call(agents.pause, "ann")
    house.clock.advance(1_000_000)
    assert house.store.call(agents.pause, "ann") == paused
    assert paused.paused_at is not None
    house.bell.clear()
    assert house.store.call(agents.resume, "ann").paused_at is None
    assert house.store.call(agents.resume, "ann").paused_at is None
    assert {ring.recipient for ring in house.bell.signals} == {"ann"}


def test_a_page_of_them_costs_the_same_however_many_there_are(house: House) -> None:
    asked: list[str] = []

    class Asked:
        """A reader that notes what is asked of it."""

        def __init__(self, tx: Reader) -> None:
            self._reader = tx

        def __getattr__(self, name: str) -> Any:
            asked.append(name)
            return getattr(self._reader, name)

    def page(tx: Reader) -> list[tuple[str, int]]:
        asked.clear()
        found = agents.page(cast(Reader, Asked(tx)))
        return [(agent.name, resident.version if resident else 0) for agent, resident in found]

    settle(house, "bob")
    assert house.store.query(page) == [("ann", 0), ("bob", 1)]
    before = len(asked)
    for number in range(20):
        settle(house, EntitySpec(name=f"agent-{number:02}", kind=EntityKind.AGENT))
    assert house.store.query(page) == [("ann", 0), ("bob", 1), *((f"agent-{number:02}", 1) for number in range(20))]
    assert len(asked) == before


def test_only_live_residents(house: House) -> None:
    for verb in (agents.pause, agents.resume):
        with pytest.raises(NotFound, match="guest"):
            house.store.call(verb, "ann")
    settle(house)
    house.store.call(directory.retire, "ann")
    for call in (
        lambda: house.store.call(agents.pause, "ann"),
        lambda: house.store.call(agents.resume, "ann"),
        lambda: house.store.call(agents.configure, "ann", {"model": "demo"}),
        lambda: settle(house),
    ):
        with pytest.raises(Refused, match="retired"):
            call()
    assert house.store.query(agents.show, "ann") is not None
    for nobody in ("husam", "nobody"):
        with pytest.raises(UnknownAddress):
            house.store.call(agents.configure, nobody, {"model": "demo"})
        with pytest.raises(UnknownAddress):
            house.store.query(agents.show, nobody)


def test_nothing_is_taken_for_one_who_is_retired(house: House) -> None:
    resident(house.store)
    house.push(to="thinker")
    house.store.call(directory.retire, "thinker")
    assert house.store.call(run_journal.take_run, "thinker", "here") is None


def test_in_mid_cycle_one_speaks_under_the_name_that_one_has_by_then(house: House) -> None:
    resident(house.store)
    house.store.call(spaces.create, name="Tea", members=["thinker", "ann"])
    house.push(to="thinker")
    taken = house.store.call(run_journal.take_run, "thinker", "here")
    assert taken is not None
    house.store.call(directory.update, "thinker", display="After")
    house.store.call(
        run_journal.run_tool, taken.run_lease, 2, ToolCall("c", "send_message", ""), "1.0", {"text": "Hello"}, "tea"
    )
    [item] = house.store.query(inbox.peek, "ann")
    assert item.event.sender is not None
    assert cast("dict[str, Any]", item.event.data)["senderName"] == item.event.sender.display == "After"
