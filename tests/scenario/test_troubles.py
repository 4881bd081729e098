"""What a resident does when its model fails: whose fault it is, how long it waits, and that nothing is done twice."""

from dataclasses import replace

from gatepost.actions import inbox, maintenance, runs
from gatepost.core.agent import AgentConfig, ModelChoice
from gatepost.core.event import EventType, ItemState
from gatepost.core.mind import ModelReply, weigh
from gatepost.core.model import ChatRequest, ModelFailed, Trouble
from gatepost.core.run import RunStatus
from gatepost.core.times import HOUR, SECOND
from gatepost.ports import Model
from gatepost.runtime.cycle import CyclePaused
from gatepost.testing import Kit
from tests.rooms import Played, Room, done, quiet, use


async def test_one_poisoned_event_is_found_and_dies_alone(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if "poison" in str(ask.turns[-1]):
            raise ModelFailed(Trouble.CONTENT, "the request was rejected")
        return done()

    room = Room(kit, mind)
    for number in range(30):
        room.push("poison" if number == 17 else f"event {number}")
    await room.cycles()
    assert {content for content, state in room.states().items() if state is ItemState.DEAD} == {"poison"}
    assert list(room.states().values()).count(ItemState.DELIVERED) == 29
    [dead] = [item for item in kit.store.query(inbox.page, "ana", limit=1_000) if item.state is ItemState.DEAD]
    assert dead.attempts == 5
    failed = kit.store.query(runs.page, agent="ana", status=RunStatus.FAILED, limit=1_000)
    assert [run.events for run in failed].count(1) == 5, "alone it failed as often as it may"
    [alert] = kit.store.query(inbox.page, "admin")
    assert alert.event.type is EventType.ALERT
    assert all(account.is_balanced for account in kit.store.query(maintenance.list_accounts))


async def test_an_hour_of_outages_kills_nothing(kit: Kit) -> None:
    end = kit.clock.now() + HOUR
    troubles = [Trouble.RATE_LIMIT, Trouble.OVERLOAD, Trouble.OVERLOAD, Trouble.OTHER]

    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if kit.clock.now() < end:
            raise ModelFailed(troubles[len(room.model.asked) % 4], "away", retry_after=7)
        return done()

    room = Room(kit, mind)
    room.push("hello")
    await room.cycles()
    assert room.states() == {"hello": ItemState.DELIVERED}
    assert room.runs()[-1] is RunStatus.COMPLETED
    assert set(room.runs()[:-1]) == {RunStatus.FAILED}
    assert 5 < len(room.model.asked) < 60, "waits grow"
    [item] = kit.store.query(inbox.page, "ana")
    assert item.attempts == 0
    assert kit.store.query(inbox.page, "admin") == []


async def test_a_failure_after_a_message_never_sends_it_again(kit: Kit) -> None:
    failures = iter([Trouble.OVERLOAD, Trouble.RATE_LIMIT, Trouble.CONTENT, Trouble.AUTH])

    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(calls=(use("enter_space", spaceId="room"), use("send_message", text="once")))
        for trouble in failures:
            raise ModelFailed(trouble, "away")
        return done()

    room = Room(kit, mind)
    room.push("hello")
    await room.cycles()
    assert room.said() == ["once"]
    assert room.runs() == [RunStatus.COMPLETED]
    assert len(room.model.asked) == 6


async def test_what_was_begun_and_is_refused_for_good_is_given_up(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if replies:
            raise ModelFailed(Trouble.CONTENT, "the request was rejected")
        return ModelReply(calls=(use("set_memories", memories=[{"key": "k", "value": "v"}]),))

    room = Room(kit, mind)
    room.push("hello")
    await room.cycles()
    assert room.runs() == [RunStatus.FAILED]
    assert room.states() == {"hello": ItemState.DELIVERED}
    [alert] = kit.store.query(inbox.page, "admin")
    assert "could not be ended" in alert.event.content


async def test_outages_do_not_count_towards_giving_up(kit: Kit) -> None:
    troubles = iter([*[Trouble.OVERLOAD] * 9, *[Trouble.CONTENT] * 4, Trouble.RATE_LIMIT])

    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(calls=(use("set_memories", memories=[{"key": "k", "value": "v"}]),))
        for trouble in troubles:
            raise ModelFailed(trouble, "no")
        return done()

    room = Room(kit, mind)
    room.push("hello")
    await room.cycles()
    assert room.runs() == [RunStatus.COMPLETED]


async def test_the_fallback_is_asked_when_the_model_fails_again_and_again(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        raise ModelFailed(Trouble.OVERLOAD, "away")

    room = Room(kit, mind, AgentConfig(model=ModelChoice(name="openai:first", fallback="openai:second")))
    second = Played(quiet)

    async def model(choice: ModelChoice) -> Model:
        return second if choice.name == "openai:second" else room.model

    room.means = replace(room.means, get_model=model)
    room.push("hello")
    await room.cycles()
    assert (len(room.model.asked), len(second.asked)) == (3, 1)


async def test_a_model_that_cannot_read_so_much_is_shown_less_and_no_event_is_blamed(kit: Kit) -> None:
    """Its window is far smaller than the limit of the mind says."""
    window = 2_000

    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if sum(map(weigh, ask.turns)) > window:
            raise ModelFailed(Trouble.LENGTH, "it was shown more than it can read")
        shown.append(ask)
        return done(f"Summary {len(shown)}.")

    shown: list[ChatRequest] = []
    room = Room(kit, mind)
    for number in range(60):
        room.push(f"event {number} " + "y" * 600)
        await room.cycle()
    assert room.runs() == [RunStatus.COMPLETED] * 60
    assert set(room.states().values()) == {ItemState.DELIVERED}
    refused = len(room.model.asked) - len(shown)
    assert 0 < refused < 30, "what was found out is remembered: the mind is compacted to it"
    assert "- Summary 40." in str(shown[-1].turns), "the past is still there, in the agent's own words"
    assert kit.store.query(inbox.page, "admin") == []


async def test_an_event_that_alone_is_more_than_the_model_can_read_dies(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if "too long" in str(ask.turns):
            raise ModelFailed(Trouble.LENGTH, "it was shown more than it can read")
        return done()

    room = Room(kit, mind)
    room.push("short")
    room.push("too long")
    await room.cycles()
    assert room.states() == {"short": ItemState.DELIVERED, "too long": ItemState.DEAD}


async def test_what_nobody_foresaw_is_tried_again_with_growing_waits(kit: Kit) -> None:
    def mind(ask: ChatRequest, replies: int) -> ModelReply:
        if len(room.model.asked) < 8:
            raise ZeroDivisionError("a fault of ours")
        return done()

    room = Room(kit, mind)
    room.push("hello")
    waits = []
    while isinstance(outcome := await room.cycle(), CyclePaused):
        waits.append(outcome.seconds)
        kit.clock.advance(int(outcome.seconds * SECOND) + 1)
    assert waits[0] < 10
    assert waits[-1] > 60
    assert room.states() == {"hello": ItemState.DELIVERED}
    [error] = {run.error for run in kit.store.query(runs.page, agent="ana", status=RunStatus.FAILED)}
    assert error == "something went wrong inside: ZeroDivisionError"
