"""
Frames: what a gateway sends to the readers of that moment, made of signals.

Gates and decisions have no stream of their own. Verbs signal `gate:ID` and `decision:ID` after their commit, and a
signal carries nothing else. So `GateFrames` of each gateway reads the gate or decision, and sends it as a frame to
those of its readers whom it concerns: in the stream of their inbox, and so in every stream that includes their inbox.

    gate.opened  gate.resolved            to its owner, its creator, its resolver, and the agents that wait for it
    decision.asked  decision.answered     to the asking and the asked entity; in each round

`ChatPresence` shows on the page of a person that an agent thinks about what the person wrote on a channel. It follows
the events of channels in the inboxes of agents, and the beginning and the end of the agents' cycles. What an agent gets
during a cycle is shown with the next one.

    agent.active  agent.inactive          to the person, with the channel and the session

There are three topics of frames alone, for those who may see everything: `ALL_AGENTS` has the frames of all agents,
`ALL_GATES` those of all gates and decisions, and `ALL_FIRES` says which plans and triggers have fired or changed:

    plan.set  plan.fired                                         {"id", "owner"}, as far as the signal knows them
    trigger.added  .changed  .deleted  .fired  .working  .failing    {"name"}

An inbox has one as well, for its readers: `inbox.changed` says that items were done, snoozed, discarded or shown again.

Nothing depends on a frame, so a lost signal is not made up for.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import structlog
from msgspec import UNSET

from gatepost.channels.conversation import Conversation
from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Frame, Signal, Topic, TransportMessage
from gatepost.errors import GatepostError
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision_handlers import view_decision
from gatepost.gates.gate_handlers import view_gate
from gatepost.gateway.streams.event_models import (
    EVENTS,
    InboxChangeView,
    PlanChangeView,
    TriggerChangeView,
    build_frame,
)
from gatepost.inbox.event import Event, EventType
from gatepost.operations.operation import View

if TYPE_CHECKING:
    from gatepost.gateway.streams.live_readers import LiveStreams

log = structlog.get_logger("gatepost.live")

ALL_AGENTS: Final = Topic("agents")
ALL_GATES: Final = Topic("gates")
ALL_FIRES: Final = Topic("fires")
GATE_EVENTS: Final = ("gate.opened", "gate.resolved", "decision.asked", "decision.answered")
#: the causes of signals that say that items of an inbox have changed
INBOX_CHANGES: Final = frozenset(("done", "undo", "snooze", "return", "discard", "replay"))
#: gates and decisions that may wait for `GateFrames`; it drops more than that
_QUEUE_LIMIT: Final = 1_000
#: conversations that one agent is shown to think about
_MAX_CONVERSATIONS: Final = 20
_ACTIVE: Final = "agent.active"
_INACTIVE: Final = "agent.inactive"


def build_fire_frame(signal: Signal) -> Frame | None:
    """Return what a signal says of a plan or a trigger; None if it is about something else."""
    kind, name = signal.topic
    event = f"{kind}.{signal.cause}"
    if kind in ("plan", "trigger") and event in EVENTS:  # a later version may signal more
        return build_frame(
            ALL_FIRES, event, PlanChangeView(id=name) if kind == "plan" else TriggerChangeView(name=name)
        )
    if kind == "inbox" and signal.cause == EventType.PLAN:
        data = signal.event.data if signal.event is not None else None
        plan_id = data.get("planId") if isinstance(data, dict) else None
        return build_frame(ALL_FIRES, "plan.fired", PlanChangeView(owner=name, id=plan_id or UNSET))
    return None


def build_change_frame(signal: Signal) -> Frame | None:
    """Return what a signal says of items of an inbox that have changed; None if it is about something else."""
    kind, name = signal.topic
    if kind != "inbox" or signal.cause not in INBOX_CHANGES:
        return None
    return build_frame(signal.topic, "inbox.changed", InboxChangeView(recipient=name, cause=signal.cause))


@dataclass(slots=True, eq=False)
class GateFrames:
    """Sends frames about gates and decisions to the readers of the inboxes that they concern."""

    _store: Store
    _live_streams: "LiveStreams"
    _queue: asyncio.Queue[tuple[str, Topic]] = field(default_factory=lambda: asyncio.Queue(_QUEUE_LIMIT))

    def on_signal(self, signal: TransportMessage) -> None:
        """Queue the gate or decision that a signal is about, if there are readers."""
        if isinstance(signal, Frame):
            return
        event = f"{signal.topic.kind}.{signal.cause}"
        if event in GATE_EVENTS and self._live_streams.readers and not self._queue.full():
            self._queue.put_nowait((event, signal.topic))

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """While entered, send a frame for each queued gate or decision, in order."""
        task = asyncio.create_task(self._send_frames(), name="gate-frames")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _send_frames(self) -> None:
        while True:
            event, (kind, id) = await self._queue.get()
            try:
                names, view = await self._store.read(_read_gate if kind == "gate" else _read_decision, id)
            except GatepostError as error:
                log.info("frame not sent", frame=event, id=id, reason=error.message)
                continue
            except Exception as error:
                log.exception("frame not sent", frame=event, id=id, error=repr(error))
                continue
            for topic in (*(Topic("inbox", name) for name in names), ALL_GATES):
                self._live_streams.on_signal(build_frame(topic, event, view))


def _read_gate(tx: Reader, id: str) -> tuple[Collection[str], View]:
    gate = gates.show(tx, id)
    return gate.viewers, view_gate(tx, gate)


def _read_decision(tx: Reader, id: str) -> tuple[Collection[str], View]:
    decision = decisions.show(tx, id)
    return decision.viewers, view_decision(tx, decision)


class ChatPresence:
    def __init__(self, live_streams: "LiveStreams") -> None:
        self._live_streams = live_streams
        #: by agent: conversations with a prompt that it has not begun to think about
        self._waiting: defaultdict[str, list[Conversation]] = defaultdict(list)
        #: by agent: those that its cycle is about
        self._shown: dict[str, list[Conversation]] = {}

    def on_signal(self, signal: TransportMessage) -> None:
        """Follow prompts and cycles; for `SignalBus.subscribe`."""
        match signal:
            case Signal(topic=Topic(kind="inbox", name=agent), event=event) if event is not None:
                self._add_prompt(agent, event)
            case Frame(topic=Topic(kind="agent", name=agent), event=name, data=data) if name in (_ACTIVE, _INACTIVE):
                self._send(_INACTIVE, data, self._shown.pop(agent, []))
                if name == _ACTIVE and (conversations := self._waiting.pop(agent, [])):
                    self._shown[agent] = conversations
                    self._send(_ACTIVE, data, conversations)
            case _:
                pass

    def _add_prompt(self, agent: str, event: Event) -> None:
        if event.type is not EventType.CHANNEL or event.route is None or event.sender is None:
            return
        conversation = Conversation(event.route.channel, event.route.session, event.sender.name)
        others = [other for other in self._waiting[agent] if other != conversation]
        self._waiting[agent] = [*others, conversation][-_MAX_CONVERSATIONS:]

    def _send(self, event: str, data: Any, conversations: list[Conversation]) -> None:
        for conversation in conversations:
            fields = {**data, "channel": conversation.channel, "sessionId": conversation.session}
            self._live_streams.on_signal(Frame(Topic("inbox", conversation.person), event, fields))
