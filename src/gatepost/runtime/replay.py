"""
A past run once more, with another model and without effects.

The model is shown what the agent was shown then: the mind of that time, the same batch, and whatever came meanwhile at
the same step. A call it makes again, with the same arguments, is answered by what came of it then; any other is told
that nothing is done in a replay. Only the system prompt is of today, because it is not in the journal.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from gatepost.actions import agents, directory, journal, prompt
from gatepost.actions.tools import BUILT_IN
from gatepost.core import prompt as words
from gatepost.core.agent import Config, Resident
from gatepost.core.mind import Call, Prompt, Reply, Result, Turn, fitted, recalled
from gatepost.core.model import ChatRequest, ModelFailed, ToolSpec
from gatepost.core.run import Run, Step
from gatepost.errors import Unavailable
from gatepost.ports import Model, Reader, Store
from gatepost.runtime import schema
from gatepost.runtime.results import failure


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run as it was, and as it would be."""

    original: tuple[Step, ...]
    replayed: tuple[Turn, ...]
    #: whether the same was said and called for
    same: bool


@dataclass(frozen=True, slots=True)
class _Past:
    resident: Resident
    system: str
    mind: journal.Mind
    steps: tuple[Step, ...]


async def replay(store: Store, run: str, model: Model) -> Replayed:
    """Have a model go through a past run."""
    past = await store.read(_read, run)
    carried = recalled(past.mind.carried)
    before: list[Turn] = [*([carried] if carried else ()), *past.mind.turns]
    shown = _shown_after(past.steps)
    answers = _Answers(past.steps)
    turns: list[Turn] = list(next(shown, ()))
    for _ in range(past.resident.config.loop.max_steps):
        ask = ChatRequest(
            system=past.system,
            turns=fitted([*before, *turns], past.resident.config.mind.max_tokens),
            tools=_offered(past.resident.config),
            temperature=past.resident.config.model.temperature,
            max_tokens=past.resident.config.model.max_tokens,
        )
        reply = await _reply(model, ask)
        turns.append(reply)
        if not reply.calls or any(call.tool == "skip" for call in reply.calls):
            break
        turns += [answers.of(call) for call in reply.calls]
        turns += next(shown, ())
    return Replayed(past.steps, tuple(turns), _said([step.turn for step in past.steps]) == _said(turns))


def _read(tx: Reader, id: str) -> _Past:
    run: Run = journal.show(tx, id)
    resident = agents.show(tx, run.agent)
    assert resident is not None, "what has run is a resident"
    facts = prompt.facts(tx, directory.find(tx, run.agent), resident.config)
    mind = journal.mind_before(tx, run, resident.number)
    return _Past(resident, words.system(facts, tx.now), mind, tuple(journal.steps(tx, id)))


async def _reply(model: Model, ask: ChatRequest) -> Reply:
    try:
        async with aclosing(model.respond(ask)) as hearing:
            async for heard in hearing:
                if isinstance(heard, Reply):
                    return heard
    except ModelFailed as failed:
        raise Unavailable(f"the model {model.name!r} failed: {failed.reason}") from None
    raise Unavailable(f"the model {model.name!r} ended without a reply")


def _shown_after(steps: Sequence[Step]) -> Iterator[list[Turn]]:
    """What the agent was shown before its first reply, before its second, and so on."""
    shown: list[Turn] = []
    for step in steps:
        match step.turn:
            case Prompt():
                shown.append(step.turn)
            case Reply():
                yield shown
                shown = []
            case Result():
                pass
    yield shown


class _Answers:
    """What came of calls then, each to be given once."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._left: list[tuple[str, Any, Result]] = []
        waiting: list[Call] = []
        for step in steps:
            match step.turn:
                case Reply(calls=calls):
                    waiting = list(calls)
                case Result() as result if waiting:
                    call = waiting.pop(0)
                    self._left.append((call.tool, _read_arguments(call), result))
                case _:
                    pass

    def of(self, call: Call) -> Result:
        for place, (tool, arguments, result) in enumerate(self._left):
            if tool == call.tool and arguments == _read_arguments(call):
                del self._left[place]
                return Result(call.id, call.tool, result.content, ok=result.ok)
        return failure(call, "nothing is done in a replay, and this was not done then")


def _offered(config: Config) -> list[ToolSpec]:
    built_in = [schema.spec(name, tool.function) for name, tool in BUILT_IN.items()]
    return [*built_in, *(ToolSpec(tool.name, tool.description, tool.schema) for tool in config.tools)]


def _said(turns: Sequence[Turn]) -> list[Any]:
    """What is compared: words and calls, however they were written."""
    replies = [turn for turn in turns if isinstance(turn, Reply)]
    return [(reply.text.strip(), [(call.tool, _read_arguments(call)) for call in reply.calls]) for reply in replies]


def _read_arguments(call: Call) -> Any:
    try:
        return json.loads(call.arguments) if call.arguments.strip() else {}
    except ValueError:
        return call.arguments
