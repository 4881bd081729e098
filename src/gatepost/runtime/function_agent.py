"""
A resident whose mind is a Python function.

    async def analyst(batch, me):
        for event in batch.of(Posted):
            await me.reply(event, "...")

The function is called with a batch, and does things through `me`. Each thing it does is journalled with its effect, in
one transaction, like a call of a tool. When a process dies in the middle, the next one calls the function again with
the same batch: what it did before is not done again, but answered from the journal, in order. So a function must do the
same when it is given the same; one that does not is told so, and stops.

An error of the function is treated as a model's refusal: the batch is tried again in halves, and what fails alone,
again and again, is dead.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import structlog

from gatepost.actions import inbox
from gatepost.actions import run_journal as journal
from gatepost.actions.run_journal import RunLease, RunState
from gatepost.core.event import Body, Event, Mailed, Posted, parse_body
from gatepost.core.mind import CallResult, ModelReply, Prompt, ToolCall
from gatepost.core.model import ModelFailed, Trouble
from gatepost.errors import Conflict, GatepostError, Invalid, Lost, Unavailable
from gatepost.ports import Reader, Store
from gatepost.runtime.cycle import CycleDeps, CycleFinished, CycleOutcome, handle_model_failure, write_journal
from gatepost.runtime.results import build_failure

log = structlog.get_logger("gatepost.code")

B = TypeVar("B", bound=Body)


class EventBatch:
    """A batch, most urgent first. Iterating gives the events; `of` gives those of a kind as what they are."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._bodies = [parse_body(event) for event in events]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def of(self, kind: type[B]) -> list[B]:
        """Those of a kind: `Posted`, `Due`, `Called`, `Mailed`..."""
        return [event_body for event_body in self._bodies if isinstance(event_body, kind)]

    def find_event(self, event_or_body: Event | Body) -> Event:
        """The event that a body belongs to."""
        if isinstance(event_or_body, Event):
            return event_or_body
        for event, event_body in zip(self._events, self._bodies, strict=True):
            if event_body is event_or_body:
                return event
        raise Invalid(f"{event_or_body!r:.60} is not of this batch")


class AgentContext:
    """What a function does things through."""

    def __init__(
        self, store: Store, run_lease: RunLease, batch: EventBatch, results: list[CallResult], steps: int
    ) -> None:
        self._store = store
        self._run_lease = run_lease
        self._batch = batch
        self._results = results
        #: steps of the run so far
        self.steps = steps
        self._call_count = 0
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._run_lease.run.agent

    @property
    def effects(self) -> int:
        return sum(result.ok for result in self._results)

    async def reply(self, event_or_body: Event | Body, text: str) -> None:
        """Answer where something was said: in the space, or to whoever wrote."""
        event = self._batch.find_event(event_or_body)
        match parse_body(event):
            case Posted(space=space):
                await self.say(space, text)
            case Mailed(subject=subject) if event.sender is not None:
                await self.mail(event.sender.name, text, subject=f"Re: {subject}")
            case _:
                raise Invalid(f"a {event.type} cannot be replied to", hint="use say or mail")

    async def say(self, space: str, text: str) -> str:
        """Say something in a space; return the id of the message."""
        result = await self.use("send_message", space=space, text=text)
        return str(result["messageId"])

    async def mail(self, to: str, text: str, *, subject: str = "") -> None:
        """Write to somebody's inbox."""
        await self.use("send_mail", to=to, subject=subject or text[:60], text=text)

    async def use(self, tool: str, *, space: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Use a built-in tool, in a space if it speaks there; return what it returns."""
        async with self._lock:
            self._call_count += 1
            if self._call_count <= len(self._results):
                return self._replay_result(tool)
            call = ToolCall(str(self._call_count), tool, "")
            key, step = f"code.{self._call_count}", self.steps + 1
            try:
                outcome = await write_journal(
                    self._store, self._run_lease, journal.run_tool, step, call, key, arguments, space
                )
            except (Lost, Unavailable):
                raise
            except GatepostError as error:  # it is refused again when the function is called again
                refusal = build_failure(call, error.message, error.hint)
                await write_journal(
                    self._store, self._run_lease, journal.record_result, step, refusal, key, has_effect=False
                )
                self._append_result(refusal)
                raise
            self._append_result(outcome.result)
            return _parse_fields(outcome.result)

    def _append_result(self, result: CallResult) -> None:
        self.steps += 1
        self._results.append(result)

    def _replay_result(self, tool: str) -> dict[str, Any]:
        result = self._results[self._call_count - 1]
        if result.tool != tool:
            raise Conflict(f"the function of {self.name!r} used {result.tool!r} the last time, and now {tool!r}")
        if not result.ok:
            raise Conflict(str(_parse_fields(result).get("error")))
        return _parse_fields(result)


AgentFunction = Callable[[EventBatch, AgentContext], Awaitable[object]]


async def run_function(deps: CycleDeps, leased_run: RunState, function: AgentFunction) -> CycleOutcome:
    """Let a function handle a batch."""
    run_lease = leased_run.run_lease
    event_ids = [event for step in leased_run.steps if isinstance(step.turn, Prompt) for event in step.turn.events]
    batch = EventBatch(await deps.store.read(_read_events, event_ids, run_lease.run.agent))
    results = [step.turn for step in leased_run.steps if isinstance(step.turn, CallResult)]
    context = AgentContext(deps.store, run_lease, batch, results, len(leased_run.steps))
    try:
        await function(batch, context)
    except (Lost, Unavailable):
        raise
    except Exception as error:  # noqa: BLE001 (whatever is wrong with the function is the function's)
        reason = error.message if isinstance(error, GatepostError) else repr(error)
        log.warning("function failed", agent=run_lease.run.agent, run=run_lease.run.id, reason=reason)
        return await handle_model_failure(
            deps, run_lease, ModelFailed(Trouble.CONTENT, reason), effects=context.effects
        )
    reply = ModelReply(model=run_lease.run.model)
    return CycleFinished(
        await write_journal(deps.store, run_lease, journal.finish_run, context.steps + 1, reply, summary="")
    )


def _read_events(tx: Reader, ids: list[str], name: str) -> list[Event]:
    """The events of a batch as they were shown."""
    return [item.event for id in ids for item in inbox.show(tx, id) if item.recipient == name]


def _parse_fields(result: CallResult) -> dict[str, Any]:
    content = json.loads(result.content)
    return content if isinstance(content, dict) else {"result": content}
