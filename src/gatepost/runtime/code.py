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

from gatepost.actions import cycle as journal
from gatepost.actions import inbox
from gatepost.actions.cycle import Held, Taken
from gatepost.core.event import Body, Event, Mailed, Posted, body
from gatepost.core.mind import Call, Prompt, Reply, Result
from gatepost.core.model import ModelFailed, Trouble
from gatepost.errors import Conflict, GatepostError, Invalid, Lost, Unavailable
from gatepost.ports import Reader, Store
from gatepost.runtime.cycle import Means, Outcome, Slept, refused, write
from gatepost.runtime.results import failure

log = structlog.get_logger("gatepost.code")

B = TypeVar("B", bound=Body)


class Events:
    """A batch, most urgent first. Iterating gives the events; `of` gives those of a kind as what they are."""

    def __init__(self, events: list[Event]) -> None:
        self._events = events
        self._bodies = [body(event) for event in events]

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def of(self, kind: type[B]) -> list[B]:
        """Those of a kind: `Posted`, `Due`, `Called`, `Mailed`..."""
        return [one for one in self._bodies if isinstance(one, kind)]

    def behind(self, told: Event | Body) -> Event:
        """The event that a body belongs to."""
        if isinstance(told, Event):
            return told
        for event, one in zip(self._events, self._bodies, strict=True):
            if one is told:
                return event
        raise Invalid(f"{told!r:.60} is not of this batch")


class Me:
    """What a function does things through."""

    def __init__(self, store: Store, held: Held, batch: Events, done: list[Result], steps: int) -> None:
        self._store = store
        self._held = held
        self._batch = batch
        self._done = done
        #: steps of the run so far
        self.steps = steps
        self._count = 0
        self._turn = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._held.run.agent

    @property
    def effects(self) -> int:
        return sum(result.ok for result in self._done)

    async def reply(self, told: Event | Body, text: str) -> None:
        """Answer where something was said: in the space, or to whoever wrote."""
        event = self._batch.behind(told)
        match body(event):
            case Posted(space=space):
                await self.say(space, text)
            case Mailed(subject=subject) if event.sender is not None:
                await self.mail(event.sender.name, text, subject=f"Re: {subject}")
            case _:
                raise Invalid(f"a {event.type} cannot be replied to", hint="use say or mail")

    async def say(self, space: str, text: str) -> str:
        """Say something in a space; return the id of the message."""
        said = await self.use("send_message", space=space, text=text)
        return str(said["messageId"])

    async def mail(self, to: str, text: str, *, subject: str = "") -> None:
        """Write to somebody's inbox."""
        await self.use("send_mail", to=to, subject=subject or text[:60], text=text)

    async def use(self, tool: str, *, space: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Use a built-in tool, in a space if it speaks there; return what it returns."""
        async with self._turn:
            self._count += 1
            if self._count <= len(self._done):
                return self._again(tool)
            call = Call(str(self._count), tool, "")
            key, at = f"code.{self._count}", self.steps + 1
            try:
                acted = await write(self._store, self._held, journal.act, at, call, key, arguments, space)
            except (Lost, Unavailable):
                raise
            except GatepostError as error:  # it is refused again when the function is called again
                refusal = failure(call, error.message, error.hint)
                await write(self._store, self._held, journal.record, at, refusal, key, effect=False)
                self._journalled(refusal)
                raise
            self._journalled(acted.result)
            return _fields(acted.result)

    def _journalled(self, result: Result) -> None:
        self.steps += 1
        self._done.append(result)

    def _again(self, tool: str) -> dict[str, Any]:
        recorded = self._done[self._count - 1]
        if recorded.tool != tool:
            raise Conflict(f"the function of {self.name!r} used {recorded.tool!r} the last time, and now {tool!r}")
        if not recorded.ok:
            raise Conflict(str(_fields(recorded).get("error")))
        return _fields(recorded)


Function = Callable[[Events, Me], Awaitable[object]]


async def think(means: Means, taken: Taken, function: Function) -> Outcome:
    """Let a function handle a batch."""
    held = taken.held
    shown = [event for step in taken.steps if isinstance(step.turn, Prompt) for event in step.turn.events]
    batch = Events(await means.store.read(_events, shown, held.run.agent))
    done = [step.turn for step in taken.steps if isinstance(step.turn, Result)]
    me = Me(means.store, held, batch, done, len(taken.steps))
    try:
        await function(batch, me)
    except (Lost, Unavailable):
        raise
    except Exception as error:  # noqa: BLE001 (whatever is wrong with the function is the function's)
        reason = error.message if isinstance(error, GatepostError) else repr(error)
        log.warning("function failed", agent=held.run.agent, run=held.run.id, reason=reason)
        return await refused(means, held, ModelFailed(Trouble.CONTENT, reason), effects=me.effects)
    reply = Reply(model=held.run.model)
    return Slept(await write(means.store, held, journal.finish, me.steps + 1, reply, summary=""))


def _events(tx: Reader, ids: list[str], name: str) -> list[Event]:
    """The events of a batch as they were shown."""
    return [item.event for id in ids for item in inbox.show(tx, id) if item.recipient == name]


def _fields(result: Result) -> dict[str, Any]:
    found = json.loads(result.content)
    return found if isinstance(found, dict) else {"result": found}
