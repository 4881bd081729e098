"""What a resident does when its model fails: whose fault it is, how long it waits, and that nothing is done twice."""

from dataclasses import replace

from gatepost.core.times import HOUR, SECOND
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import EventType, ItemState
from gatepost.residents.agent_config import AgentConfig, ModelChoice
from gatepost.residents.background.cycle_outcome import CyclePaused
from gatepost.residents.mind_compaction import weigh
from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import ChatRequest, Model, ModelReply
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.run import RunStatus
from gatepost.testing import Kit
from tests.residents.scripted_agent import CallbackModel, ScriptedAgent, build_call, build_final_reply, reply_done

POSTGRES_BY_NIGHT = True


async def test_one_poisoned_event_is_found_and_dies_alone(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if "poison" in str(request.turns[-1]):
            raise ModelFailed(Trouble.CONTENT, "the request was rejected")
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    for number in range(30):
        agent.push("poison" if number == 17 else f"event {number}")
    await agent.run_cycles()
    assert {content for content, state in agent.list_item_states().items() if state is ItemState.DEAD} == {"poison"}
    assert list(agent.list_item_states().values()).count(ItemState.DELIVERED) == 29
    [dead_item] = [
        item for item in kit.store.read_sync(inbox.list_page, "ana", limit=1_000) if item.state is ItemState.DEAD
    ]
    assert dead_item.attempts == 5
    failed_runs = kit.store.read_sync(runs.list_page, agent="ana", status=RunStatus.FAILED, limit=1_000)
    assert [run.events for run in failed_runs].count(1) == 5, "alone it failed as often as it may"
    [alert] = kit.store.read_sync(inbox.list_page, "admin")
    assert alert.event.type is EventType.ALERT
    assert all(account.is_balanced for account in kit.store.read_sync(account_actions.list_accounts))


async def test_an_hour_of_outages_kills_nothing(kit: Kit) -> None:
    end = kit.clock.now() + HOUR
    troubles = [Trouble.RATE_LIMIT, Trouble.OVERLOAD, Trouble.OVERLOAD, Trouble.OTHER]

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if kit.clock.now() < end:
            raise ModelFailed(troubles[len(agent.model.requests) % 4], "away", retry_after=7)
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    await agent.run_cycles()
    assert agent.list_item_states() == {"hello": ItemState.DELIVERED}
    assert agent.list_run_statuses()[-1] is RunStatus.COMPLETED
    assert set(agent.list_run_statuses()[:-1]) == {RunStatus.FAILED}
    assert 5 < len(agent.model.requests) < 60, "waits grow"
    [item] = kit.store.read_sync(inbox.list_page, "ana")
    assert item.attempts == 0
    assert kit.store.read_sync(inbox.list_page, "admin") == []


async def test_a_failure_after_a_message_never_sends_it_again(kit: Kit) -> None:
    failures = iter([Trouble.OVERLOAD, Trouble.RATE_LIMIT, Trouble.CONTENT, Trouble.AUTH])

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(
                calls=(build_call("enter_space", spaceId="room"), build_call("send_message", text="once"))
            )
        for trouble in failures:
            raise ModelFailed(trouble, "away")
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    await agent.run_cycles()
    assert agent.list_messages() == ["once"]
    assert agent.list_run_statuses() == [RunStatus.COMPLETED]
    assert len(agent.model.requests) == 6


async def test_what_was_begun_and_is_refused_for_good_is_given_up(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if replies:
            raise ModelFailed(Trouble.CONTENT, "the request was rejected")
        return ModelReply(calls=(build_call("set_memories", memories=[{"key": "k", "value": "v"}]),))

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    await agent.run_cycles()
    assert agent.list_run_statuses() == [RunStatus.FAILED]
    assert agent.list_item_states() == {"hello": ItemState.DELIVERED}
    [alert] = kit.store.read_sync(inbox.list_page, "admin")
    assert "could not be ended" in alert.event.content


async def test_outages_do_not_count_towards_giving_up(kit: Kit) -> None:
    troubles = iter([*[Trouble.OVERLOAD] * 9, *[Trouble.CONTENT] * 4, Trouble.RATE_LIMIT])

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            return ModelReply(calls=(build_call("set_memories", memories=[{"key": "k", "value": "v"}]),))
        for trouble in troubles:
            raise ModelFailed(trouble, "no")
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    await agent.run_cycles()
    assert agent.list_run_statuses() == [RunStatus.COMPLETED]


async def test_the_fallback_is_asked_when_the_model_fails_again_and_again(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        raise ModelFailed(Trouble.OVERLOAD, "away")

    agent = ScriptedAgent(kit, respond, AgentConfig(model=ModelChoice(name="openai:first", fallback="openai:second")))
    second = CallbackModel(reply_done)

    async def model(choice: ModelChoice) -> Model:
        return second if choice.name == "openai:second" else agent.model

    agent.deps = replace(agent.deps, get_model=model)
    agent.push("hello")
    await agent.run_cycles()
    assert (len(agent.model.requests), len(second.requests)) == (3, 1)


async def test_a_model_that_cannot_read_so_much_is_shown_less_and_no_event_is_blamed(kit: Kit) -> None:
    """Its window is far smaller than the limit of the mind says."""
    window = 2_000

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if sum(map(weigh, request.turns)) > window:
            raise ModelFailed(Trouble.LENGTH, "it was shown more than it can read")
        read_requests.append(request)
        return build_final_reply(f"Summary {len(read_requests)}.")

    read_requests: list[ChatRequest] = []
    agent = ScriptedAgent(kit, respond)
    for number in range(60):
        agent.push(f"event {number} " + "y" * 600)
        await agent.run_cycle()
    assert agent.list_run_statuses() == [RunStatus.COMPLETED] * 60
    assert set(agent.list_item_states().values()) == {ItemState.DELIVERED}
    refusal_count = len(agent.model.requests) - len(read_requests)
    assert 0 < refusal_count < 30, "what was found out is remembered: the mind is compacted to it"
    assert "- Summary 40." in str(read_requests[-1].turns), "the past is still there, in the agent's own words"
    assert kit.store.read_sync(inbox.list_page, "admin") == []


async def test_an_event_that_alone_is_more_than_the_model_can_read_dies(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if "too long" in str(request.turns):
            raise ModelFailed(Trouble.LENGTH, "it was shown more than it can read")
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    agent.push("short")
    agent.push("too long")
    await agent.run_cycles()
    assert agent.list_item_states() == {"short": ItemState.DELIVERED, "too long": ItemState.DEAD}


async def test_what_nobody_foresaw_is_tried_again_with_growing_waits(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if len(agent.model.requests) < 8:
            raise ZeroDivisionError("a fault of ours")
        return build_final_reply()

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    waits = []
    while isinstance(outcome := await agent.run_cycle(), CyclePaused):
        waits.append(outcome.seconds)
        kit.clock.advance(int(outcome.seconds * SECOND) + 1)
    assert waits[0] < 10
    assert waits[-1] > 60
    assert agent.list_item_states() == {"hello": ItemState.DELIVERED}
    [error] = {run.error for run in kit.store.read_sync(runs.list_page, agent="ana", status=RunStatus.FAILED)}
    assert error == "something went wrong inside: ZeroDivisionError"
