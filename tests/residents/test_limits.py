"""How far a cycle may go: what counts, what happens at a limit, and who is told (R5)."""

import pytest
from msgspec.structs import replace

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType, Priority
from gatepost.residents import agent_actions as agents, goal_and_memory_actions as memories
from gatepost.residents.agent_config import AgentConfig, LoopRules, Phase
from gatepost.residents.mind_compaction import estimate_tokens, weigh
from gatepost.residents.model_port import CallResult, ChatRequest, ModelReply, Prompt, Usage
from gatepost.residents.runs import (
    actions as runs,
    ending_actions as run_endings,
    journal_actions as run_journal,
    resume_actions as run_resume,
)
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.run import Run, RunStatus
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from tests.residents.scripted_agent import ScriptedAgent, build_call, build_final_reply, reply_done

POSTGRES_BY_NIGHT = True


def count_tokens(request: ChatRequest, reply: ModelReply) -> ModelReply:
    """Return the reply with the usage that a provider would report: the whole prompt counts every time."""
    return replace(reply, usage=Usage(sum(map(weigh, request.turns)), weigh(reply)))


def list_runs(agent: ScriptedAgent) -> list[Run]:
    """Return the runs of the agent, oldest first."""
    return agent.store.read_sync(runs.list_page, agent="ana", limit=1_000)[::-1]


def list_alerts(agent: ScriptedAgent) -> list[str]:
    return [
        item.event.content
        for item in agent.store.read_sync(inbox.list_page, "admin", type=EventType.ALERT, limit=1_000)
    ]


async def test_a_long_mind_does_not_count_against_a_cycle(kit: Kit) -> None:
    count = 70 if kit.url.startswith("sqlite") else 40

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if replies:
            return count_tokens(request, build_final_reply(f"Summary of cycle {len(list_runs(agent))}."))
        calls = (
            build_call("enter_space", spaceId="room"),
            build_call("send_message", text=f"Answer {len(list_runs(agent))}"),
        )
        return count_tokens(request, ModelReply(calls=calls))

    agent = ScriptedAgent(kit, respond)
    for number in range(1, count + 1):
        agent.push(f"Question {number}: " + "words of a long question. " * 160)
        await agent.run_cycle()
    contents = [message.content for message in kit.store.read_sync(spaces.read, "room", limit=200)]
    assert contents == [f"Answer {number}" for number in range(1, count + 1)]
    assert [run.summary for run in list_runs(agent)] == [f"Summary of cycle {n}." for n in range(1, count + 1)]
    assert {run.limit for run in list_runs(agent)} == {None}
    assert sum(run.prompt_tokens for run in list_runs(agent)[-1:]) > LoopRules().max_tokens


async def test_what_a_cycle_adds_counts_once(kit: Kit) -> None:
    """Two results of 250 tokens each, and a batch of 200, reach a limit of 600 after the second step."""

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return ModelReply("Looking.", calls=(build_call("get_memories"),), usage=Usage(90_000, 90_000))

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_tokens=600)))
    kit.store.run_sync(memories.set_memories, "ana", {"much": "y" * 1_000})
    agent.push("x" * 600)
    assert await agent.run_cycles() == 1
    [run] = list_runs(agent)
    assert (run.status, run.steps, run.limit) == (RunStatus.COMPLETED, 2, RunLimit.TOKENS)
    steps = kit.store.read_sync(runs.list_steps, run.id)
    assert sum(weigh(step.turn) for step in steps[:-2]) < 600 <= sum(weigh(step.turn) for step in steps[:-1])


async def test_a_cycle_asks_its_model_even_if_the_batch_alone_reaches_the_limit(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return build_final_reply("Read it.")

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_tokens=100)))
    agent.push("x" * 5_000)
    await agent.run_cycles()
    assert [(run.summary, run.limit) for run in list_runs(agent)] == [("Read it.", None)]


@pytest.mark.parametrize("letter", ["x", "\N{HIRAGANA LETTER A}"])
async def test_the_batch_takes_half_of_the_limit_at_most(kit: Kit, letter: str) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return build_final_reply()

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_tokens=4_000)))
    for _ in range(12):
        agent.push(letter * 1_200)
    await agent.run_cycle()
    batch = agent.model.requests[0].turns[-1]
    assert isinstance(batch, Prompt)
    assert 1_000 < weigh(batch) <= 2_000
    assert "more waiting" in batch.text


async def test_pulled_items_take_what_is_left_at_most_and_are_answered(kit: Kit) -> None:
    """The model is asked again after a pull, however much waited, and what did not fit comes in the next cycle."""

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            for _ in range(10):
                agent.push("\N{HIRAGANA LETTER A}" * 2_000)
            return ModelReply(calls=(build_call("peek_inbox", count=10),))
        return build_final_reply()

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_tokens=4_000)))
    agent.push("hello")
    await agent.run_cycle()
    assert len(agent.model.requests) == 2
    [run] = list_runs(agent)
    steps = [step.turn for step in kit.store.read_sync(runs.list_steps, run.id)]
    assert sum(map(weigh, steps)) <= 4_000
    assert isinstance(steps[2], CallResult)
    assert weigh(steps[2]) > 1_000
    await agent.run_cycles()
    assert sum(run.events for run in list_runs(agent)) == 11


async def test_critical_items_take_what_is_left_at_most(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if not replies:
            if len(agent.model.requests) == 1:
                for _ in range(8):
                    agent.push("fire " + "x" * 5_000, Priority.CRITICAL)
            return ModelReply(calls=(build_call("get_memories"),))
        return build_final_reply()

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_tokens=4_000)))
    agent.push("hello")
    await agent.run_cycle()
    [run] = list_runs(agent)
    steps = [step.turn for step in kit.store.read_sync(runs.list_steps, run.id)]
    second_prompt = [turn for turn in steps if isinstance(turn, Prompt)][1]
    assert 1_500 < weigh(second_prompt) <= 2_000, "half of what is left, so that the other half is for what comes of it"
    assert sum(map(weigh, steps)) <= 4_000
    assert (run.limit, run.summary) == (None, "Done."), "the model reads what was taken in, and ends the cycle itself"


async def test_the_last_words_are_kept_at_a_limit(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return ModelReply(f"Step {replies + 1}: I look it up.", calls=(build_call("get_memories"),))

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_steps=3)))
    agent.push("hello")
    await agent.run_cycles()
    [run] = list_runs(agent)
    assert (run.limit, run.steps) == (RunLimit.STEPS, 3)
    assert run.summary.startswith("Step 3: I look it up. (This cycle ended at its limit of 3 steps.")
    last = kit.store.read_sync(runs.read_mind, "ana").turns[-1]
    assert isinstance(last, Prompt)
    assert last.text.startswith("(This cycle ended at its limit of 3 steps.")


async def test_a_pause_ends_the_run_after_the_step_it_is_in(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        kit.store.run_sync(agents.pause, "ana")
        calls = (build_call("enter_space", spaceId="room"), build_call("send_message", text="One"))
        return ModelReply("I send three messages.", calls=calls)

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    assert await agent.run_cycles() == 1
    assert agent.list_messages() == ["One"], "the calls of its step are done"
    agent.push("more")
    assert await agent.run_cycles() == 0, "it begins no other run"
    [run] = list_runs(agent)
    assert (run.status, run.limit, run.steps) == (RunStatus.COMPLETED, RunLimit.PAUSE, 1)
    assert run.summary.startswith("I send three messages. (This cycle ended at the step in which its agent was paused.")
    assert list_alerts(agent) == []


async def test_a_closing_text_at_the_last_step_is_no_limit(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return build_final_reply("All done.") if replies == 2 else ModelReply(calls=(build_call("get_memories"),))

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_steps=3)))
    agent.push("hello")
    await agent.run_cycles()
    assert [(run.summary, run.limit, run.steps) for run in list_runs(agent)] == [("All done.", None, 3)]


async def test_a_reply_holds_at_most_so_many_calls(kit: Kit) -> None:
    """The first 32 of 2,000 are done, in order; then the cycle ends, and its note says how many were not."""

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        calls = [build_call("send_message", text=f"Message {number}") for number in range(1_999)]
        return ModelReply("Here they come.", calls=(build_call("enter_space", spaceId="room"), *calls))

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    assert await agent.run_cycles() == 1
    assert agent.list_messages() == [f"Message {number}" for number in range(31)]
    [run] = list_runs(agent)
    assert (run.limit, run.steps, run.effects) == (RunLimit.CALLS, 1, 31)
    assert "1968 calls were not done" in run.summary
    assert run.summary.startswith("Here they come.")
    assert len(kit.store.read_sync(runs.list_steps, run.id)) == 1 + 1 + 32 + 1


async def test_who_resumes_after_the_reply_knows_that_calls_were_dropped(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return ModelReply(calls=tuple(build_call("get_memories") for _ in range(5)))

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_calls=3)))
    agent.push("hello")
    run_state = kit.store.run_sync(run_resume.take_run, "ana", "here")
    assert run_state is not None
    reply = ModelReply(calls=tuple(build_call("get_memories") for _ in range(3)), dropped_calls=2)
    kit.store.run_sync(run_journal.record_step, run_state.run_lease, 2, reply)
    kit.store.run_sync(run_endings.hand_over, run_state.run_lease)
    await agent.run_cycles()
    assert agent.model.requests == [], "the cycle ends without another request"
    [run] = list_runs(agent)
    assert (run.limit, run.steps) == (RunLimit.CALLS, 1)


async def test_the_owner_is_told_the_third_time_in_a_row(kit: Kit) -> None:
    is_endless = True

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return ModelReply(calls=(build_call("get_memories"),)) if is_endless else build_final_reply()

    agent = ScriptedAgent(kit, respond, AgentConfig(loop=LoopRules(max_steps=1)))

    async def run_cycle() -> int:
        agent.push("hello")
        await agent.run_cycle()
        return len(list_alerts(agent))

    assert [await run_cycle() for _ in range(5)] == [0, 0, 1, 1, 1], "once for each row"
    assert "'ana'" in list_alerts(agent)[0]
    assert "3 times in a row" in list_alerts(agent)[0]
    is_endless = False
    assert await run_cycle() == 1
    is_endless = True
    assert [await run_cycle() for _ in range(3)] == [1, 1, 2]


async def test_settings_of_limits_are_read_and_shown(kit: Kit) -> None:
    ScriptedAgent(kit, reply_done)
    resident = kit.store.run_sync(agents.configure, "ana", {"loop": {"maxCalls": 5}})
    assert resident.config.loop == LoopRules(max_calls=5)


async def test_a_tool_outside_its_phase_is_refused_and_not_done(kit: Kit) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if replies == 2:
            return build_final_reply()
        calls = (build_call("enter_space", spaceId="room"), build_call("send_message", text=f"Step {replies + 1}"))
        return ModelReply(calls=calls)

    first = Phase(step=1, tools=("enter_space",))
    agent = ScriptedAgent(
        kit, respond, AgentConfig(loop=LoopRules(phases=(first, Phase(step=2, tools=("enter_space", "send_message")))))
    )
    agent.push("hello")
    await agent.run_cycles()
    assert agent.list_messages() == ["Step 2"]
    [run] = list_runs(agent)
    results = [step.turn for step in kit.store.read_sync(runs.list_steps, run.id) if isinstance(step.turn, CallResult)]
    assert [result.ok for result in results] == [True, False, True, True]
    assert "'send_message' cannot be used in step 1 of a cycle" in results[1].content


async def test_a_preview_shows_the_content_however_long_the_names_are(kit: Kit) -> None:
    long_name = "Department of Very Long Names and Other Matters"

    def respond(request: ChatRequest, replies: int) -> ModelReply:
        if replies:
            return build_final_reply()
        for number in range(7):
            kit.store.run_sync(
                spaces.post, "long", sender="talker", content=f"Message {number} " + "is quite long " * 9
            )
        return ModelReply(calls=(build_call("get_memories"),))

    agent = ScriptedAgent(kit, respond)
    kit.store.run_sync(
        directory.register, EntitySpec(name="talker", kind=EntityKind.HUMAN, display=f"Speaker of the {long_name}")
    )
    kit.store.run_sync(spaces.create, name=long_name, id="long", members=["talker", "ana"])
    agent.push("hello")
    await agent.run_cycle()
    prompt = agent.model.requests[1].turns[-1]
    assert isinstance(prompt, Prompt)
    lines = prompt.text.splitlines()
    assert lines[0] == "[INBOX PREVIEW: 7 new events waiting]"
    assert lines[1:-1] == [
        f'[Department of Very Long ...] Speaker of the Departmen... (human): "Message {number} is quite long is quite'
        ' long is quite lon"...'
        for number in range(5)
    ]
    steps = kit.store.read_sync(runs.list_steps, list_runs(agent)[0].id)
    assert "INBOX PREVIEW" not in str(steps), "a preview is never journalled"


@pytest.mark.parametrize("usage", [Usage(0, 0), Usage(0, 5), Usage(5, 0)])
async def test_usage_that_cannot_be_true_is_estimated(kit: Kit, usage: Usage) -> None:
    def respond(request: ChatRequest, replies: int) -> ModelReply:
        return ModelReply("Some words that weigh something.", usage=usage)

    agent = ScriptedAgent(kit, respond)
    agent.push("hello")
    await agent.run_cycle()
    [run] = list_runs(agent)
    model_request = agent.model.requests[0]
    weight = estimate_tokens(model_request.system) + sum(map(weigh, model_request.turns))
    assert run.prompt_tokens == (usage.prompt or weight)
    assert run.completion_tokens == (usage.completion or weigh(ModelReply("Some words that weigh something.")))
