"""
The think cycle of a resident.

    batch -> [ask the model -> do what it calls for -> look at the inbox]* -> closing words

What it is shown is the system prompt, rebuilt each time; what it carries of old cycles; the later cycles; this one.
Every step is in the journal before the next begins (`actions/cycle.py` argues why that is enough), so a cycle that is
taken up again after a crash goes on from the last one: `Cycle` is made from the journal alone, also at the beginning.

Between steps the inbox is looked at. What is critical is taken into the cycle in full, and journalled. Of the rest a
preview is shown, which is not.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, Final, assert_never

import structlog

from gatepost.actions import agents, budgets, spaces
from gatepost.actions import cycle as journal
from gatepost.actions import journal as runs
from gatepost.actions.budgets import Exhausted
from gatepost.actions.cycle import Held, Taken
from gatepost.core import line, rest
from gatepost.core.agent import ModelChoice, Resident
from gatepost.core.errand import Errand
from gatepost.core.event import Item, Priority
from gatepost.core.frame import Frame
from gatepost.core.instants import SECOND
from gatepost.core.mind import Call, Prompt, Reply, Result, Turn, estimate_usage, fitted, recalled, recent, weigh
from gatepost.core.model import CallDelta, ChatRequest, ModelFailed, TextDelta, Trouble
from gatepost.core.run import Limit, find_limit
from gatepost.errors import Conflict, GatepostError, Invalid, Lost, Unavailable
from gatepost.ports import Model, Store, Transaction
from gatepost.runtime.results import failure, succeeded
from gatepost.runtime.streaming import Streams, key
from gatepost.runtime.toolkit import BuiltInTool, Outside, Tool, Toolkit, Waiting

log = structlog.get_logger("gatepost.cycle")

SKIP: Final = "skip"
PULL: Final = "peek_inbox"
#: items of a preview
_PREVIEWED: Final = 5
#: characters of a tool's result that live readers are shown
_SHOWN_RESULT: Final = 1_000
#: characters of a summary
_SUMMARY: Final = 1_000


@dataclass(frozen=True, slots=True)
class Slept:
    """The cycle is over; there may be more to think about."""

    more: bool


@dataclass(frozen=True, slots=True)
class Resting:
    """The model failed, or the budget is used up; to be tried again in so many seconds."""

    seconds: float


Outcome = Slept | Resting


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What thinking takes."""

    store: Store
    #: an open model; who asked does not close it
    model: Callable[[ModelChoice], Awaitable[Model]]
    #: the tools of a resident, for as long as a cycle lasts
    toolkit: Callable[[Resident], AbstractAsyncContextManager[Toolkit]]
    #: to live readers
    send: Callable[[Sequence[Frame]], None]
    #: between 0 and 1
    chance: Callable[[], float]


async def think(means: Means, taken: Taken) -> Outcome:
    """Go through a cycle from its last step to its end."""
    async with means.toolkit(taken.held.resident) as toolkit:
        cycle = Cycle(means, taken, toolkit)
        cycle.announce("agent.active")
        try:
            return await cycle.run()
        except ModelFailed as failed:
            return await cycle.failed(failed)
        except GatepostError:
            raise
        except Exception as error:
            log.exception("cycle broke", run=taken.held.run.id, error=repr(error))
            broke = ModelFailed(Trouble.OTHER, f"something went wrong inside: {type(error).__name__}")
            return await cycle.failed(broke)
        finally:
            cycle.hush("the cycle ended before it was sent")
            cycle.announce("agent.inactive")


class Cycle:
    def __init__(self, means: Means, taken: Taken, toolkit: Toolkit) -> None:
        self._means = means
        self._store = means.store
        self._held: Held = taken.held
        self._toolkit = toolkit
        self._turns: list[Turn] = [step.turn for step in taken.steps]
        self._effects = taken.held.run.effects
        self._active = entered(self._turns)
        #: while a poisoned item is being looked for, nothing is taken in beside the batch
        self._alone = taken.held.resident.cap is not None
        assert taken.remembered is not None, "whoever thinks has a mind"
        self._system = _told(taken.remembered.system, toolkit)
        #: what is left of old cycles, and the cycles that are whole
        mind = taken.remembered.mind
        self._carried: list[Turn] = [carried] if (carried := recalled(mind.carried)) else []
        self._before: list[Turn] = list(mind.turns)
        #: tokens that the model is shown at most
        self._room = taken.held.resident.config.mind.max_tokens
        self._places = taken.remembered.places
        self._streams: Streams | None = None
        #: what waits in the inbox, if the last step has seen it
        self._waiting: list[Item] | None = None

    async def run(self) -> Outcome:
        while True:
            for index, call in self._unanswered():
                if (ended := await self._do(index, call)) is not None:
                    return ended
            if (limit := find_limit(self._turns, self._held.resident.config.loop)) is not None:
                return await self._stop(limit)
            if (exhausted := await self._find_exhausted()) is not None:
                return await self._stop(Limit.BUDGET, exhausted)
            preview = await self._look() if self._replies() and not self._alone else None
            reply = self._cut(await self._ask(preview))
            if reply.calls:
                await self._write(journal.replied, len(self._turns) + 1, reply)
                self._turns.append(reply)
                continue
            at, summary = len(self._turns) + 1, flat(reply.text)
            last = find_limit([*self._turns, reply], self._held.resident.config.loop) is not None
            more = await self._write(journal.finish, at, reply, summary=summary, room=self._room, gated=not last)
            if not isinstance(more, Prompt):
                return Slept(more)
            self._turns += [reply, more]  # a gate has something to say first

    async def failed(self, failed: ModelFailed) -> Outcome:
        """Whatever was shown of the reply is void."""
        if self._streams is not None:
            await self._streams.settled()
        self.hush(failed.reason)
        return await refused(self._means, self._held, failed, effects=self._effects)

    def hush(self, reason: str) -> None:
        """Whatever is still being shown will not be said."""
        if self._streams is not None:
            self._streams.failed(reason)

    def announce(self, event: str) -> None:
        """Tell the readers of every space the agent was in when it began."""
        run = self._held.run
        data = {"agent": run.agent, "agentName": self._held.resident.display, "runId": run.id}
        topics = [f"agent:{run.agent}", *(f"space:{space.id}" for space in self._places)]
        self._means.send([Frame(topic, event, data) for topic in topics])

    def _unanswered(self) -> list[tuple[int, Call]]:
        """The calls of the last reply that have no result yet, each with its place in the reply."""
        results = 0
        for turn in reversed(self._turns):
            if isinstance(turn, Reply):
                return list(enumerate(turn.calls))[results:]
            results += isinstance(turn, Result)
        return []

    def _replies(self) -> int:
        return sum(isinstance(turn, Reply) for turn in self._turns)

    def _cut(self, reply: Reply) -> Reply:
        """Return the reply with as many calls as one may hold."""
        most = self._held.resident.config.loop.max_calls
        if len(reply.calls) <= most:
            return reply
        return replace(reply, calls=reply.calls[:most], dropped_calls=len(reply.calls) - most, raw=None)

    async def _find_exhausted(self) -> Exhausted | None:
        """Return until when there is nothing left to spend. A cycle that was begun asks its model at least once."""
        resident = self._held.resident
        if resident.config.budget is None or not self._replies():
            return None
        return await self._store.read(budgets.find_exhausted, resident)

    async def _stop(self, limit: Limit, exhausted: Exhausted | None = None) -> Outcome:
        """End the cycle at a limit; its summary keeps what the model said last."""
        rules = self._held.resident.config.loop
        replies = [turn for turn in self._turns if isinstance(turn, Reply)]
        match limit:
            case Limit.STEPS:
                reason = f"its limit of {rules.max_steps} steps"
            case Limit.TOKENS:
                reason = f"its limit of {rules.max_tokens} tokens"
            case Limit.CALLS:
                dropped = replies[-1].dropped_calls
                reason = f"its limit of {rules.max_calls} calls in one reply, and {dropped} calls were not done"
            case Limit.BUDGET:
                reason = f"the budget of {self._held.resident.config.budget}, which is used up"
            case other:
                assert_never(other)
        note = f"(This cycle ended at {reason}. What it was about may be unfinished.)"
        said = next((flat(reply.text) for reply in reversed(replies) if reply.text.strip()), "")
        summary = f"{said[: _SUMMARY - len(note) - 1]} {note}".strip()
        at, until = len(self._turns) + 1, exhausted.until if exhausted is not None else None
        more = await self._write(journal.stop, at, limit, note, summary=summary, room=self._room, rest_until=until)
        return Resting(exhausted.seconds) if exhausted is not None else Slept(more)

    async def _look(self) -> Prompt | None:
        """Take what is critical into the cycle; return a preview of the rest."""
        waiting, self._waiting = self._waiting, None
        if waiting is None:
            waiting = await self._store.read(journal.waiting, self._held.resident.number)
        critical = any(item.event.priority is Priority.CRITICAL for item in waiting)
        if critical and (room := journal.room_to_pull(self._held, sum(map(weigh, self._turns)))):
            taken: Prompt | None = await self._write(journal.urgent, len(self._turns) + 1, room)
            if taken is not None:
                self._turns.append(taken)
            waiting = [item for item in waiting if item.event.priority is not Priority.CRITICAL]
        return preview(waiting)

    def _shown(self) -> list[Turn]:
        return fitted([*self._carried, *self._before, *self._turns], self._room)

    async def _ask(self, preview: Prompt | None) -> Reply:
        """Ask the model; when it cannot read so much, ask again with less of the past."""
        while True:
            try:
                return await self._asked(preview)
            except ModelFailed as failed:
                if failed.trouble is not Trouble.LENGTH:
                    raise
                self.hush("it is written anew")
                if not self._narrowed():
                    raise ModelFailed(Trouble.CONTENT, failed.reason) from None

    def _narrowed(self) -> bool:
        """Leave room for half of what was shown; False when this cycle alone is too much."""
        shown = self._shown()
        self._room = sum(map(weigh, shown)) // 2
        left = self._room - sum(map(weigh, self._turns))
        self._before = recent(self._before, left - sum(map(weigh, self._carried)))
        if not self._before:
            self._carried = recent(self._carried, left)
        return self._shown() != shown

    async def _asked(self, preview: Prompt | None) -> Reply:
        config = self._held.resident.config
        shown = self._shown()
        step = self._replies() + 1
        ask = ChatRequest(
            system=self._system,
            turns=[*shown, preview] if preview else shown,
            tools=[spec for spec in self._toolkit.specs(step) if not (self._alone and spec.name == PULL)],
            temperature=config.model.temperature,
            max_tokens=config.model.max_tokens,
        )
        self._streams = Streams(
            self._held.run, len(self._turns) + 1, self._active, may_speak=self._may_speak, send=self._means.send
        )
        model = await self._model()
        async with aclosing(model.respond(ask)) as hearing:
            async for heard in hearing:
                match heard:
                    case CallDelta():
                        self._streams.heard(heard)
                    case TextDelta():
                        pass
                    case Reply(usage=usage):
                        if usage.prompt > 0 and usage.completion > 0:
                            return heard
                        return replace(heard, usage=estimate_usage(usage, ask.system, ask.turns, heard))
        raise ModelFailed(Trouble.OTHER, "the model ended without a reply")

    async def _model(self) -> Model:
        choice = self._held.resident.config.model
        if choice.fallback is not None and self._held.resident.failures >= rest.FALLBACK_AFTER:
            choice = replace(choice, name=choice.fallback, base_url=None, key_env=None, fallback=None)
        try:
            return await self._means.model(choice)
        except GatepostError as error:
            raise ModelFailed(Trouble.AUTH, error.message) from None

    async def _may_speak(self, space: str) -> bool:
        try:
            await self._store.read(spaces.show, space, as_=self._held.run.agent)
        except GatepostError:
            return False
        return True

    async def _do(self, index: int, call: Call) -> Outcome | None:
        """Do what the model calls for, and write down what it came to; the outcome when that ends the cycle."""
        at, reply = len(self._turns) + 1, self._reply_number()
        place = key(reply, index)
        try:
            tool = self._toolkit.find(call.tool, self._replies())
            arguments = tool.arguments(call.arguments)
            if tool.name == PULL and self._alone:
                raise Conflict("nothing more can be taken in this cycle")
            if tool.name == SKIP and not self._effects:
                return Slept(await self._write(journal.skip))
            result = await self._done(tool, call, at, place, arguments)
        except (Lost, Unavailable):
            raise
        except GatepostError as error:
            result = failure(call, error.message, error.hint)
            await self._write(journal.record, at, result, place, effect=False)
        self._turns.append(result)
        if self._streams is not None and self._streams.begun(index):
            await self._streams.ended(index, message=succeeded(result).get("messageId"), reason="it was not sent")
        return None

    async def _done(self, tool: Tool, call: Call, at: int, place: str, arguments: Mapping[str, Any]) -> Result:
        result: Result
        match tool:
            case BuiltInTool(name="skip"):
                raise Conflict("something was done in this cycle already", hint="end with your summary instead")
            case BuiltInTool():
                last = len(self._unanswered()) == 1
                acted = await self._write(journal.act, at, call, place, arguments, self._active, look=last)
                result, self._active, self._waiting = acted.result, acted.active, acted.waiting
                self._effects += tool.effect
            case Outside(is_async=False):
                result = await self._outside(tool, call, f"{self._held.run.id}/{place}", arguments)
                await self._write(journal.record, at, result, place, effect=True)
                self._effects += 1
            case Outside() | Waiting():
                given = arguments if isinstance(tool, Outside) else None
                result = await self._write(journal.defer, at, call, place, given)
                self._effects += 1
                id = succeeded(result).get("callId")
                self._frame("run.waiting_tool", call, visible=tool.visible, arguments=arguments, callId=id)
        return result

    async def _outside(self, tool: Outside, call: Call, id: str, arguments: Mapping[str, Any]) -> Result:
        """Let somebody else do it: at least once, because nobody can tell a lost answer from a lost request."""
        if tool.visible:
            self._frame("tool.started", call, arguments=arguments)
        result = await tool.run(id, call, arguments)
        if tool.visible:
            self._frame("tool.done" if result.ok else "tool.error", call, result=result.content[:_SHOWN_RESULT])
        return result

    def _frame(self, event: str, call: Call, *, visible: bool = True, **data: Any) -> None:
        """Tell the readers of the run and, of what is `visible`, those of the active space."""
        run = self._held.run
        topics = [f"run:{run.id}", *([f"space:{self._active}"] if self._active and visible else ())]
        named = {"toolCallId": call.id, "toolName": call.tool, "runId": run.id, "agent": run.agent}
        self._means.send([Frame(topic, event, named | data) for topic in topics])

    def _reply_number(self) -> int:
        """The step of the last reply."""
        return max(number for number, turn in enumerate(self._turns, 1) if isinstance(turn, Reply))

    def _write(self, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        return write(self._store, self._held, verb, *args, **kwargs)


async def refused(means: Means, held: Held, failed: ModelFailed, *, effects: int) -> Outcome:
    """Rest, and try again later: from the beginning if nothing was done, else from the last step."""
    failures = held.resident.failures + 1
    pause = rest.wait(failed.trouble, failures, chance=means.chance(), retry_after=failed.retry_after)
    log.warning("model failed", run=held.run.id, trouble=failed.trouble, reason=failed.reason, times=failures)
    if not effects:
        await write(means.store, held, journal.release, failed.trouble, failed.reason, pause)
    elif failed.trouble is Trouble.CONTENT:
        more = await write(means.store, held, journal.refuse, failed.reason, pause)
        if more is not None:
            return Slept(more)
    else:
        await write(means.store, held, journal.stumble, pause)
    return Resting(pause / SECOND)


async def write(store: Store, held: Held, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Run a verb of the journal. It is waited for also when this is cancelled: whoever goes on must find it there."""
    lane = held.run.agent
    try:
        return await store.run(verb, held, *args, lane=lane, **kwargs)
    except asyncio.CancelledError:
        with suppress(GatepostError):
            await store.run(_nothing, lane=lane)  # a lane is in order: when this is done, so is that
        raise


def _nothing(tx: Transaction) -> None:
    del tx


async def fetch(means: Means, errand: Errand) -> None:
    """Use a tool whose result an agent does not wait for, and answer its call."""
    told = errand.payload
    run = await means.store.read(runs.show, told["run"])
    resident = await means.store.read(agents.show, run.agent)
    assert resident is not None, "what has run is a resident"
    async with means.toolkit(resident) as toolkit:
        tool = toolkit.find(told["tool"])
        if not isinstance(tool, Outside):
            raise Conflict(f"{tool.name!r} is not done here any more")
        result = await tool.run(told["call"], Call(told["call"], tool.name, ""), told["arguments"])
    with suppress(Conflict):  # it took so long that another has answered, or nobody waits any more
        try:
            await means.store.run(runs.answer, run.id, told["call"], json.loads(result.content), lane=run.agent)
        except Invalid as error:  # it was done, and must not be done again for what it said
            said = {"success": False, "error": f"the answer cannot be stored: {error.message}"}
            await means.store.run(runs.answer, run.id, told["call"], said, lane=run.agent)


def _told(system: str, toolkit: Toolkit) -> str:
    """The system prompt, and what cannot be had in this cycle."""
    if not toolkit.troubles:
        return system
    return f"{system}\n\nNOT TO BE HAD NOW\n" + "\n".join(f"- {line.escaped(one)}" for one in toolkit.troubles)


def flat(text: str) -> str:
    """A summary, on one line."""
    return " ".join(text.split())[:_SUMMARY]


def entered(turns: Sequence[Turn]) -> str | None:
    """The space the agent is in: the last one it has entered in this cycle."""
    active: str | None = None
    for turn in turns:
        if isinstance(turn, Result) and turn.tool == "enter_space":
            space = succeeded(turn).get("spaceId")
            active = space if isinstance(space, str) else active
    return active


def preview(waiting: Sequence[Item]) -> Prompt | None:
    """A glance at what has come meanwhile."""
    if not waiting:
        return None
    count = "1 new event" if len(waiting) == 1 else f"{len(waiting)} new events"
    lines = [line.preview(item.event) for item in waiting[:_PREVIEWED]]
    rest_ = "(They will come to you in your next cycle. If one cannot wait, take it now with peek_inbox.)"
    return Prompt("\n".join([f"[INBOX PREVIEW: {count} waiting]", *lines, rest_]))
