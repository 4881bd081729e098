"""
Replay a past run with another model and without effects.

The model sees what the agent saw then: the mind of that time, the same batch, and the items that came during the run,
at the same step. A call with the same tool and arguments as then gets the recorded result; any other call gets a
failure that says nothing is done in a replay. Only the system prompt is the one of today, because it is not in the
journal.
"""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from gatepost.core.ports import Reader, Store
from gatepost.directory import entity_actions as directory
from gatepost.errors import Unavailable
from gatepost.residents import agent_actions as agents, agent_config_json as agent_config
from gatepost.residents.agent_config import ModelChoice, Resident
from gatepost.residents.background.toolkit import build_built_in_tools, build_failure
from gatepost.residents.mind_compaction import render_summaries, trim_turns
from gatepost.residents.model_failures import ModelFailed
from gatepost.residents.model_port import CallResult, ChatRequest, Model, ModelReply, Prompt, ToolCall, ToolSpec, Turn
from gatepost.residents.runs import actions as runs
from gatepost.residents.runs.api import ReplayRun, ReplayView
from gatepost.residents.runs.run import Run, Step
from gatepost.residents.system_prompt_actions import read_facts, render_system_prompt


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The steps of the past run, and the turns of the replay."""

    original: tuple[Step, ...]
    turns: tuple[Turn, ...]
    #: whether both have the same texts and calls
    is_same: bool


@dataclass(frozen=True, slots=True)
class _PastRun:
    resident: Resident
    system: str
    mind: runs.AgentMind
    steps: tuple[Step, ...]


async def answer_request(
    store: Store, request: ReplayRun, get_model: Callable[[ModelChoice], Awaitable[Model]]
) -> ReplayView:
    """Answer the request to replay a run, in a gateway or in a command that has no gateway."""
    model = await get_model(agent_config.parse({"model": request.model}).model)
    run = await store.read(runs.show, request.id)
    result = await replay(store, run.id, model)
    return ReplayView.of(run.id, model.name, steps=result.original, turns=result.turns, is_same=result.is_same)


async def replay(store: Store, run_id: str, model: Model) -> ReplayResult:
    """Replay a past run with a model; raise Unavailable if the model fails."""
    past_run = await store.read(_read_past_run, run_id)
    summary_turn = render_summaries(past_run.mind.past_cycles)
    past_turns: list[Turn] = [*([summary_turn] if summary_turn else ()), *past_run.mind.turns]
    prompt_groups = _group_prompts(past_run.steps)
    recorded_results = _RecordedResults(past_run.steps)
    turns: list[Turn] = list(next(prompt_groups, ()))
    for _ in range(past_run.resident.config.loop.max_steps):
        config = past_run.resident.config
        built_in = build_built_in_tools(frozenset(past_run.resident.skills)).values()
        request = ChatRequest(
            system=past_run.system,
            turns=trim_turns([*past_turns, *turns], past_run.resident.config.mind.max_tokens),
            tools=[
                *(tool.spec for tool in built_in),
                *(ToolSpec(tool.name, tool.description, tool.schema) for tool in config.tools),
            ],
            temperature=past_run.resident.config.model.temperature,
            max_tokens=past_run.resident.config.model.max_tokens,
        )
        reply = await _request_reply(model, request)
        turns.append(reply)
        if not reply.calls or any(call.tool == "skip" for call in reply.calls):
            break
        turns += [recorded_results.take(call) for call in reply.calls]
        turns += next(prompt_groups, ())
    return ReplayResult(
        past_run.steps,
        tuple(turns),
        _extract_replies([step.turn for step in past_run.steps]) == _extract_replies(turns),
    )


def _read_past_run(tx: Reader, id: str) -> _PastRun:
    run: Run = runs.show(tx, id)
    resident = agents.show(tx, run.agent)
    assert resident is not None, "an agent with a run is a resident"
    facts = read_facts(tx, directory.find(tx, run.agent), resident.config)
    mind = runs.read_mind_before(tx, run, resident.number)
    return _PastRun(resident, render_system_prompt(facts, tx.now), mind, tuple(runs.list_steps(tx, id)))


async def _request_reply(model: Model, request: ChatRequest) -> ModelReply:
    try:
        async with aclosing(model.respond(request)) as stream:
            async for part in stream:
                if isinstance(part, ModelReply):
                    return part
    except ModelFailed as model_failure:
        raise Unavailable(f"the model {model.name!r} failed: {model_failure.reason}") from None
    raise Unavailable(f"the model {model.name!r} ended without a reply")


def _group_prompts(steps: Sequence[Step]) -> Iterator[list[Turn]]:
    """Yield the prompts that the agent saw before its first reply, then those before its second, and so on."""
    prompts: list[Turn] = []
    for step in steps:
        match step.turn:
            case Prompt():
                prompts.append(step.turn)
            case ModelReply():
                yield prompts
                prompts = []
            case CallResult():
                pass
    yield prompts


class _RecordedResults:
    """The results of the calls of a past run; `take` gives each of them once."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._remaining: list[tuple[str, Any, CallResult]] = []
        open_calls: list[ToolCall] = []
        for step in steps:
            match step.turn:
                case ModelReply(calls=calls):
                    open_calls = list(calls)
                case CallResult() as result if open_calls:
                    call = open_calls.pop(0)
                    self._remaining.append((call.tool, _read_arguments(call), result))
                case _:
                    pass

    def take(self, call: ToolCall) -> CallResult:
        for index, (tool, arguments, result) in enumerate(self._remaining):
            if tool == call.tool and arguments == _read_arguments(call):
                del self._remaining[index]
                return CallResult(call.id, call.tool, result.content, ok=result.ok)
        return build_failure(call, "nothing is done in a replay, and this was not done then")


def _extract_replies(turns: Sequence[Turn]) -> list[Any]:
    """Return what is compared: the texts, and the calls with their arguments, however the JSON is written."""
    replies = [turn for turn in turns if isinstance(turn, ModelReply)]
    return [(reply.text.strip(), [(call.tool, _read_arguments(call)) for call in reply.calls]) for reply in replies]


def _read_arguments(call: ToolCall) -> Any:
    try:
        return json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return call.arguments
