"""
Residents without a model: Python functions, and the built-in `user-agent`.

    async def analyst(batch, me):
        for event in batch.of(Posted):
            await me.reply(event, "...")

The function gets a batch, and acts through `me` (`AgentContext`). Each action is journalled with its effect, in one
transaction, like a call of a tool. If the process dies during the function, the next process calls the function again
with the same batch: actions that are in the journal are not done again, and get their recorded results, in order. So a
function must be deterministic; one that acts differently the second time gets a Conflict.

An error of the function counts as a refusal of the content by a model: the batch is tried again in halves, and an item
that fails alone, again and again, is dead.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog

from gatepost.core.ports import Reader, Store
from gatepost.errors import Conflict, GatepostError, Invalid, Lost, Unavailable, quote_value
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import Answered, Body, Event, Mailed, Posted, PromptReceived, parse_body
from gatepost.residents import user_agent_actions as user_agent
from gatepost.residents.background.cycle_outcome import (
    CycleDeps,
    CycleFinished,
    CycleOutcome,
    handle_model_failure,
    write_journal,
)
from gatepost.residents.background.toolkit import build_failure
from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, ToolCall
from gatepost.residents.runs import ending_actions as run_endings, journal_actions as journal
from gatepost.residents.runs.journal_actions import RunLease
from gatepost.residents.runs.resume_actions import LeasedRun
from gatepost.residents.tools import load_tools

log = structlog.get_logger("gatepost.function_agent")

B = TypeVar("B", bound=Body)


class EventBatch:
    """The events of a batch, most urgent first. Iterate over the events, or use `of` for the bodies of one type."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._bodies = [parse_body(event) for event in events]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def of(self, kind: type[B]) -> list[B]:
        """Return the bodies of one type: `Posted`, `PlanDue`, `ServiceCalled`, `Mailed`..."""
        return [body for body in self._bodies if isinstance(body, kind)]

    def find_event(self, event_or_body: Event | Body) -> Event:
        """Return the event that a body belongs to; raise Invalid if it is not of this batch."""
        if isinstance(event_or_body, Event):
            return event_or_body
        for event, body in zip(self._events, self._bodies, strict=True):
            if body is event_or_body:
                return event
        raise Invalid(f"{quote_value(event_or_body)} is not of this batch")


@dataclass(slots=True, eq=False)
class AgentContext:
    """The parameter `me` of an agent's function: it acts for the agent, and journals each action."""

    _store: Store
    _run_lease: RunLease
    _batch: EventBatch
    _results: list[CallResult]
    #: steps in the journal of the run
    steps: int
    _call_count: int = 0
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def name(self) -> str:
        return self._run_lease.run.agent

    @property
    def effects(self) -> int:
        """The number of actions that succeeded in this run."""
        return sum(result.ok for result in self._results)

    async def reply(self, event_or_body: Event | Body, text: str, *, buttons: Mapping[str, str] | None = None) -> None:
        """
        Answer in the space of a message, by mail to the sender, or on the channel of a prompt; raise Invalid for other
        events. On a channel with buttons, `buttons` are their labels by their ids.
        """
        event = self._batch.find_event(event_or_body)
        match parse_body(event):
            case PromptReceived() | Answered(session=str()):
                choices = [{"id": id, "label": label} for id, label in (buttons or {}).items()]
                await self.use("reply", event=event.id, text=text, buttons=choices)
            case _ if buttons:
                raise Invalid("only a reply on a channel can have buttons", hint="write the choices into the text")
            case Posted(space=space):
                await self.say(space, text)
            case Mailed(subject=subject) if event.sender is not None:
                await self.mail(event.sender.name, text, subject=f"Re: {subject}")
            case _:
                raise Invalid(f"a {event.type} cannot be replied to", hint="use say or mail")

    async def say(self, space: str, text: str) -> str:
        """Post a message in a space; return its id."""
        result = await self.use("send_message", space=space, text=text)
        return str(result["messageId"])

    async def mail(self, to: str, text: str, *, subject: str = "") -> None:
        """Send mail to the inbox of an entity."""
        await self.use("send_mail", to=to, subject=subject or text[:60], text=text)

    async def use(self, tool: str, *, space: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a built-in tool, in `space` if the tool needs one; return the fields of its result."""
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
            except GatepostError as error:  # journalled, so that it is refused again if the function is called again
                refusal = build_failure(call, error.message, error.hint)
                await write_journal(self._store, self._run_lease, journal.record_step, step, refusal, key)
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


async def run_function(deps: CycleDeps, leased_run: LeasedRun, function: AgentFunction) -> CycleOutcome:
    """Let a function handle the batch of a run."""
    load_tools()  # now, and not in the first transaction that uses one
    run_lease = leased_run.run_lease
    event_ids = [event for step in leased_run.steps if isinstance(step.turn, Prompt) for event in step.turn.events]
    batch = EventBatch(await deps.store.read(_read_events, event_ids, run_lease.run.agent))
    results = [step.turn for step in leased_run.steps if isinstance(step.turn, CallResult)]
    context = AgentContext(deps.store, run_lease, batch, results, len(leased_run.steps))
    try:
        await function(batch, context)
    except (Lost, Unavailable):
        raise
    except Exception as error:  # noqa: BLE001 (user code may raise anything)
        reason = error.message if isinstance(error, GatepostError) else repr(error)
        log.warning("function failed", agent=run_lease.run.agent, run=run_lease.run.id, reason=reason)
        return await handle_model_failure(
            deps, run_lease, ModelFailed(Trouble.CONTENT, reason), effects=context.effects
        )
    reply = ModelReply(model=run_lease.run.model)
    return CycleFinished(
        await write_journal(deps.store, run_lease, run_endings.finish_run, context.steps + 1, reply, summary="")
    )


async def run_user_agent(deps: CycleDeps, leased_run: LeasedRun) -> CycleOutcome:
    """Let the built-in `user-agent` pass the batch of a run on, in one transaction."""
    event_ids = [event for step in leased_run.steps if isinstance(step.turn, Prompt) for event in step.turn.events]
    has_more = await write_journal(
        deps.store, leased_run.run_lease, user_agent.pass_batch, len(leased_run.steps) + 1, event_ids
    )
    return CycleFinished(has_more)


def _read_events(tx: Reader, ids: list[str], name: str) -> list[Event]:
    """Return the events of a batch, in the order of the journal."""
    return [item.event for id in ids for item in inbox_items.show(tx, id) if item.recipient == name]


def _parse_fields(result: CallResult) -> dict[str, Any]:
    content = json.loads(result.content)
    return content if isinstance(content, dict) else {"result": content}
