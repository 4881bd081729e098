"""Residents: how an agent becomes one, is told otherwise, pauses and goes on."""

from typing import Any, cast

import pytest

from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, NotFound, Refused, UnknownAddress
from gatepost.inbox import claim_actions as inbox
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config
from gatepost.residents.agent_config import AgentConfig, ModelChoice
from gatepost.residents.model_port import ToolCall
from gatepost.residents.runs import journal_actions as run_journal, resume_actions as run_resume
from gatepost.spaces import actions as spaces
from tests.residents.resident_runs import create_resident
from tests.support.store_context import StoreContext

TOOL = {"name": "crm", "execution": {"url": "https://crm.example.com/", "headers": {"Authorization": "Bearer sk_1"}}}


def make_resident(ctx: StoreContext, spec_or_name: Any = "ann", **document: Any) -> Any:
    return ctx.store.run_sync(agents.make_resident, spec_or_name, agent_config.parse(document))


def test_an_agent_is_registered_and_settles_in_one_go(ctx: StoreContext) -> None:
    newcomer = EntitySpec(name="cleo", kind=EntityKind.AGENT, display="Cleo")
    resident = make_resident(ctx, newcomer, model="openai:gpt-5", instructions="Be brief")
    assert (resident.name, resident.display, resident.version) == ("cleo", "Cleo", 1)
    assert (resident.cycles, resident.paused_at, resident.failures) == (0, None, 0)
    assert resident.config == AgentConfig(model=ModelChoice(name="openai:gpt-5"), instructions="Be brief")
    assert ctx.store.read_sync(agents.show, "cleo") == resident
    assert [signal.topic.recipient for signal in ctx.signal_sink.signals] == ["cleo"]
    with pytest.raises(Conflict, match="taken"):
        make_resident(ctx, newcomer)


def test_a_guest_settles_later_and_only_once(ctx: StoreContext) -> None:
    assert ctx.store.read_sync(agents.show, "ann") is None
    assert make_resident(ctx, "ann").config == AgentConfig()
    with pytest.raises(Conflict, match="resident already"):
        make_resident(ctx, "ann")
    assert ctx.store.run_sync(agents.configure, "bob", {"model": "demo"}).version == 1


def test_capabilities_alone_do_not_make_a_guest_a_resident(ctx: StoreContext) -> None:
    with pytest.raises(Invalid, match="capabilities: a guest has none of its own"):
        ctx.store.run_sync(agents.configure, "ann", {"capabilities": ["code-generation"]})
    assert ctx.store.read_sync(agents.show, "ann") is None
    make_resident(ctx, "ann")
    resident = ctx.store.run_sync(agents.configure, "ann", {"capabilities": ["code-generation", 16]})
    assert (resident.version, resident.config.capabilities) == (2, (4, 16))
    assert ctx.store.run_sync(agents.configure, "ann", {"capabilities": [16, "4"]}).version == 2
    assert ctx.store.run_sync(agents.configure, "ann", {"capabilities": None}).config.capabilities == ()


def test_a_change_is_of_what_is_given_and_counts(ctx: StoreContext) -> None:
    make_resident(ctx, tools=[TOOL], instructions="Be brief", loop={"maxSteps": 5})
    ctx.signal_sink.clear()
    changed_resident = ctx.store.run_sync(agents.configure, "ann", {"instructions": "Be kind", "loop": None})
    assert (changed_resident.version, changed_resident.config.instructions, changed_resident.config.loop.max_steps) == (
        2,
        "Be kind",
        20,
    )
    assert changed_resident.config.tools[0].name == "crm"
    assert [(signal.topic.recipient, signal.wakes) for signal in ctx.signal_sink.signals] == [("ann", True)]
    assert ctx.store.run_sync(agents.configure, "ann", {"instructions": "Be kind"}).version == 2
    assert ctx.store.read_sync(agents.show, "ann") == changed_resident


def test_a_secret_survives_being_shown_and_sent_back(ctx: StoreContext) -> None:
    resident = make_resident(ctx, tools=[TOOL])
    document = agent_config.build_document(agent_config.replace_secrets(resident.config, agent_config.mask_secrets))
    assert "sk_1" not in str(document)
    document["tools"][0]["description"] = "Customers"
    changed_resident = ctx.store.run_sync(agents.configure, "ann", {"tools": document["tools"]})
    [tool] = changed_resident.config.tools
    assert tool.description == "Customers"
    assert tool.request is not None
    assert tool.request.headers == {"Authorization": "Bearer sk_1"}
    with pytest.raises(Invalid, match="secret"):
        ctx.store.run_sync(agents.configure, "bob", {"tools": document["tools"]})


def test_a_secret_does_not_follow_a_tool_to_another_server(ctx: StoreContext) -> None:
    """Whoever may set an address, and not read the secret, would have it sent to themselves."""
    resident = make_resident(
        ctx, tools=[TOOL], mcp={"servers": [{"name": "local", "command": ["serve"], "env": {"K": "v"}}]}
    )
    document = agent_config.build_document(agent_config.replace_secrets(resident.config, agent_config.mask_secrets))
    url = document["tools"][0]["execution"]["url"]
    document["tools"][0]["execution"]["url"] = f"{url}/other"
    ctx.store.run_sync(agents.configure, "ann", {"tools": document["tools"]})
    document["tools"][0]["execution"]["url"] = "https://elsewhere.example/steal"
    with pytest.raises(Invalid, match="secret"):
        ctx.store.run_sync(agents.configure, "ann", {"tools": document["tools"]})
    document["mcp"]["servers"][0]["command"] = ["env"]
    with pytest.raises(Invalid, match="secret"):
        ctx.store.run_sync(agents.configure, "ann", {"mcp": document["mcp"]})


def test_what_is_refused_changes_nothing(ctx: StoreContext) -> None:
    before = make_resident(ctx, tools=[TOOL])
    ctx.signal_sink.clear()
    for changes in ({"model": "nonsense"}, {"instructions": "Be kind", "tools": [TOOL, TOOL]}, {"nonsense": 1}):
        with pytest.raises(Invalid):
            ctx.store.run_sync(agents.configure, "ann", changes)
    assert ctx.store.read_sync(agents.show, "ann") == before
    assert not ctx.signal_sink.signals


def test_pausing_twice_is_fine_and_resuming_signals(ctx: StoreContext) -> None:
    make_resident(ctx)
    paused_resident = ctx.store.run_sync(agents.pause, "ann")
    ctx.clock.advance(1_000_000)
    assert ctx.store.run_sync(agents.pause, "ann") == paused_resident
    assert paused_resident.paused_at is not None
    ctx.signal_sink.clear()
    assert ctx.store.run_sync(agents.resume, "ann").paused_at is None
    assert ctx.store.run_sync(agents.resume, "ann").paused_at is None
    assert {signal.topic.recipient for signal in ctx.signal_sink.signals} == {"ann"}


def test_a_page_of_them_costs_the_same_however_many_there_are(ctx: StoreContext) -> None:
    queries: list[str] = []

    class CountingReader:
        """A reader that notes what is asked of it."""

        def __init__(self, tx: Reader) -> None:
            self._reader = tx

        def __getattr__(self, name: str) -> Any:
            queries.append(name)
            return getattr(self._reader, name)

    def list_agents(tx: Reader) -> list[tuple[str, int]]:
        queries.clear()
        entries = agents.list_page(cast(Reader, CountingReader(tx)))
        return [(agent.name, resident.version if resident else 0) for agent, resident, _ in entries]

    make_resident(ctx, "bob")
    assert ctx.store.read_sync(list_agents) == [("ann", 0), ("bob", 1)]
    count_before = len(queries)
    for number in range(20):
        make_resident(ctx, EntitySpec(name=f"agent-{number:02}", kind=EntityKind.AGENT))
    assert ctx.store.read_sync(list_agents) == [
        ("ann", 0),
        ("bob", 1),
        *((f"agent-{number:02}", 1) for number in range(20)),
    ]
    assert len(queries) == count_before


def test_only_live_residents(ctx: StoreContext) -> None:
    for verb in (agents.pause, agents.resume):
        with pytest.raises(NotFound, match="guest"):
            ctx.store.run_sync(verb, "ann")
    make_resident(ctx)
    ctx.store.run_sync(directory.retire, "ann")
    for call in (
        lambda: ctx.store.run_sync(agents.pause, "ann"),
        lambda: ctx.store.run_sync(agents.resume, "ann"),
        lambda: ctx.store.run_sync(agents.configure, "ann", {"model": "demo"}),
        lambda: make_resident(ctx),
    ):
        with pytest.raises(Refused, match="retired"):
            call()
    assert ctx.store.read_sync(agents.show, "ann") is not None
    for name in ("husam", "nobody"):
        with pytest.raises(UnknownAddress):
            ctx.store.run_sync(agents.configure, name, {"model": "demo"})
        with pytest.raises(UnknownAddress):
            ctx.store.read_sync(agents.show, name)


def test_nothing_is_taken_for_one_who_is_retired(ctx: StoreContext) -> None:
    create_resident(ctx.store)
    ctx.push(to="thinker")
    ctx.store.run_sync(directory.retire, "thinker")
    assert ctx.store.run_sync(run_resume.take_run, "thinker", "here") is None


def test_in_mid_cycle_one_speaks_under_the_name_that_one_has_by_then(ctx: StoreContext) -> None:
    create_resident(ctx.store)
    ctx.store.run_sync(spaces.create, name="Tea", members=["thinker", "ann"])
    ctx.push(to="thinker")
    run_state = ctx.store.run_sync(run_resume.take_run, "thinker", "here")
    assert run_state is not None
    ctx.store.run_sync(directory.update, "thinker", display="After")
    ctx.store.run_sync(
        run_journal.run_tool, run_state.run_lease, 2, ToolCall("c", "send_message", ""), "1.0", {"text": "Hello"}, "tea"
    )
    [item] = ctx.store.read_sync(inbox.peek, "ann")
    assert item.event.sender is not None
    assert cast("dict[str, Any]", item.event.data)["senderName"] == item.event.sender.display == "After"
