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
from tests.acceptance.moving import lines_of, take_all
from tests.rooms import Room, done

TOOL = {
    "name": "crm",
    "execution": {"url": "https://crm.example.com/{id}", "headers": {"Authorization": "Bearer sk_1"}},
}


def mind(ask: ChatRequest, replies: int) -> ModelReply:
    return done(f"Summary of {ask.turns[-1].text.count('event ')} events.")  # type: ignore[union-attr]


@pytest.fixture
async def lived(kit: Kit) -> Store:
    """A resident that has thought three times, remembers something and wants something."""
    room = Room(kit, mind)
    room.store.call(agents.configure, "ana", {"instructions": "Be kind", "tools": [TOOL]})
    for number in range(3):
        room.push(f"event {number}")
        await room.cycles()
    room.store.call(memories.set_memories, "ana", {"tone": "brief", "name": "Ü\u2028"})
    room.store.call(goals.set_goals, "ana", [GoalSpec(description="Ship it", priority=3)])
    room.store.call(agents.pause, "ana")
    return room.store


@pytest.fixture
def elsewhere(kit: Kit) -> Iterator[Store]:
    with Kit(clock=kit.clock) as other:
        yield other.store


def known(store: Store) -> object:
    found = store.query(agents.show, "ana")
    assert isinstance(found, Resident)
    words = [(one.key, one.value) for one in store.query(memories.page, "ana")]
    wants = [(one.id, one.description, one.status, one.priority) for one in store.query(goals.page, "ana")]
    return found.config, found.paused_at, sorted(words), wants


def records_of(lines: list[bytes]) -> list[Record]:
    return [record.read(line) for line in lines]


def test_it_is_there_what_it_was_here(lived: Store, elsewhere: Store) -> None:
    lines = lines_of(lived, secrets=True)
    assert take_all(elsewhere, lines).residents == 1
    assert known(elsewhere) == known(lived)
    carried = elsewhere.query(runs.read_mind, "ana").past_cycles
    assert carried.summaries == ("Summary of 1 events.",) * 3
    assert render_summaries(carried) is not None
    assert take_all(elsewhere, lines).residents == 0, "once"
    assert known(elsewhere) == known(lived)
    assert take_all(lived, lines).residents == 0, "into itself"
    assert [each for each in records_of(lines_of(elsewhere, secrets=True)) if isinstance(each, ResidentRecord)] == [
        each for each in records_of(lines) if isinstance(each, ResidentRecord)
    ]


async def test_it_goes_on_there(lived: Store, kit: Kit) -> None:
    lines = lines_of(lived)
    with Kit(clock=kit.clock) as other:
        take_all(other.store, lines)
        other.store.call(agents.resume, "ana")
        room = Room(other, mind, furnished=True)
        room.push("event 4")
        assert await room.cycles() == 1
        assert "Summary of 1 events." in str(room.model.asked[0].turns[0])


def test_secrets_are_left_out_unasked(lived: Store, elsewhere: Store) -> None:
    lines = lines_of(lived)
    assert b"sk_1" not in b"".join(lines)
    assert "sk_1" not in str(records_of(lines_of(lived, secrets=True)))
    take_all(elsewhere, lines)
    found = elsewhere.query(agents.show, "ana")
    assert found is not None
    assert found.config.instructions == "Be kind"
    assert found.config.tools[0].request is not None
    assert found.config.tools[0].request.headers == {}


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
def test_what_is_wrong_is_said(lived: Store, old: bytes, new: bytes, message: str) -> None:
    [line] = [line for line in lines_of(lived) if b'"record":"resident"' in line]
    assert old in line
    with pytest.raises(Invalid, match=message):
        record.read(line.replace(old, new, 1))
