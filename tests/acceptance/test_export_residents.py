"""Residents go along in an export: elsewhere they are who they were, and know what they knew."""

from collections.abc import Iterator

import pytest

from gatepost.actions import agents, goals, memories, runs
from gatepost.core import record
from gatepost.core.agent import Resident
from gatepost.core.goal import GoalSpec
from gatepost.core.mind import ModelReply, render_summaries
from gatepost.core.model import ChatRequest
from gatepost.core.record import Record
from gatepost.core.settled import ResidentRecord
from gatepost.errors import Invalid
from gatepost.ports import Store
from gatepost.testing import Kit
from tests.acceptance.transfer_helpers import export_lines, import_lines
from tests.scripted_agent import ScriptedAgent, build_final_reply

CRM_TOOL = {
    "name": "crm",
    "execution": {"url": "https://crm.example.com/{id}", "headers": {"Authorization": "Bearer sk_1"}},
}


def reply_with_summary(request: ChatRequest, replies: int) -> ModelReply:
    return build_final_reply(f"Summary of {request.turns[-1].text.count('event ')} events.")  # type: ignore[union-attr]


@pytest.fixture
async def resident_store(kit: Kit) -> Store:
    """A resident that has thought three times, remembers something and wants something."""
    agent = ScriptedAgent(kit, reply_with_summary)
    agent.store.call(agents.configure, "ana", {"instructions": "Be kind", "tools": [CRM_TOOL]})
    for number in range(3):
        agent.push(f"event {number}")
        await agent.run_cycles()
    agent.store.call(memories.set_memories, "ana", {"tone": "brief", "name": "Ü\u2028"})
    agent.store.call(goals.set_goals, "ana", [GoalSpec(description="Ship it", priority=3)])
    agent.store.call(agents.pause, "ana")
    return agent.store


@pytest.fixture
def other_store(kit: Kit) -> Iterator[Store]:
    with Kit(clock=kit.clock) as other_kit:
        yield other_kit.store


def read_resident(store: Store) -> object:
    resident = store.query(agents.show, "ana")
    assert isinstance(resident, Resident)
    memory_pairs = [(row.key, row.value) for row in store.query(memories.page, "ana")]
    goal_rows = [(row.id, row.description, row.status, row.priority) for row in store.query(goals.page, "ana")]
    return resident.config, resident.paused_at, sorted(memory_pairs), goal_rows


def parse_records(lines: list[bytes]) -> list[Record]:
    return [record.read(line) for line in lines]


def test_it_is_there_what_it_was_here(resident_store: Store, other_store: Store) -> None:
    lines = export_lines(resident_store, secrets=True)
    assert import_lines(other_store, lines).residents == 1
    assert read_resident(other_store) == read_resident(resident_store)
    past_cycles = other_store.query(runs.read_mind, "ana").past_cycles
    assert past_cycles.summaries == ("Summary of 1 events.",) * 3
    assert render_summaries(past_cycles) is not None
    assert import_lines(other_store, lines).residents == 0, "once"
    assert read_resident(other_store) == read_resident(resident_store)
    assert import_lines(resident_store, lines).residents == 0, "into itself"
    assert [
        entry for entry in parse_records(export_lines(other_store, secrets=True)) if isinstance(entry, ResidentRecord)
    ] == [entry for entry in parse_records(lines) if isinstance(entry, ResidentRecord)]


async def test_it_goes_on_there(resident_store: Store, kit: Kit) -> None:
    lines = export_lines(resident_store)
    with Kit(clock=kit.clock) as other_kit:
        import_lines(other_kit.store, lines)
        other_kit.store.call(agents.resume, "ana")
        agent = ScriptedAgent(other_kit, reply_with_summary, is_prepared=True)
        agent.push("event 4")
        assert await agent.run_cycles() == 1
        assert "Summary of 1 events." in str(agent.model.requests[0].turns[0])


def test_secrets_are_left_out_unasked(resident_store: Store, other_store: Store) -> None:
    lines = export_lines(resident_store)
    assert b"sk_1" not in b"".join(lines)
    assert "sk_1" not in str(parse_records(export_lines(resident_store, secrets=True)))
    import_lines(other_store, lines)
    resident = other_store.query(agents.show, "ana")
    assert resident is not None
    assert resident.config.instructions == "Be kind"
    assert resident.config.tools[0].request is not None
    assert resident.config.tools[0].request.headers == {}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"model":', b'"modle":', "'modle' is not a field"),
        (b'"tone":"brief"', b'"tone":7', "'tone' must be a string"),
        (b'"status":"active"', b'"status":"lost"', "'lost' is not a status of a goal"),
        (b'"priority":3', b'"priority":true', "True is not a priority of a goal"),
        (b'"summaries":[', b'"summaries":[7,', "'summaries' must be a string"),
    ],
)
def test_what_is_wrong_is_said(resident_store: Store, old: bytes, new: bytes, message: str) -> None:
    [line] = [line for line in export_lines(resident_store) if b'"record":"resident"' in line]
    assert old in line
    with pytest.raises(Invalid, match=message):
        record.read(line.replace(old, new, 1))
