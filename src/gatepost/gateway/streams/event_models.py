"""
The events of streams: the name of each, and the models of its data.

What is stored (messages, items, entries, steps, the end of a run) has an `id:` and comes after a lost connection, too.
The others are live: only readers of that moment see them, and nothing depends on them.

    connected                             a stream has opened; its `id:` is where it begins
    space.message  inbox.item  ...        what a stream is about
    space.message.streaming  ...          a text while a model still writes it: `start`, any number of `delta`, `done`
    ended                                 the last event of a stream that does not break off

`EVENTS` is the list of all: OpenAPI and the TypeScript client are written from it, and nothing is sent that is not in
it. The events of think cycles are in `residents/stream_api.py`.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import UNSET, UnsetType

from gatepost.channels.shared_inbox.api import SharedEntryView
from gatepost.core.signals import Frame, Topic
from gatepost.gates.decision_api import DecisionView
from gatepost.gates.gate_api import GateView
from gatepost.inbox.event_api import ItemView
from gatepost.operations import operation
from gatepost.operations.fields import describe
from gatepost.operations.operation import View
from gatepost.residents import stream_api as residents
from gatepost.residents.runs.api import RunView, StepView
from gatepost.spaces.api import MessageView


class StreamConnectedView(View):
    """A stream has opened."""

    parts: Annotated[list[str], describe("what is in it, such as `space:q4-report`")]


class StreamEndedView(View):
    """A stream ends: the reader is too slow or may not read on, or the gateway stops."""

    reason: str
    resume_from: Annotated[
        str | UnsetType, describe("the Last-Event-ID to come back with; if it is missing, coming back does not help")
    ] = UNSET


class PlanChangeView(View):
    """A plan was set or has fired. What the gateway does not know is left out."""

    id: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET


class TriggerChangeView(View):
    """A trigger has changed, or its schedule has fired."""

    name: str


class InboxChangeView(View):
    """Items of an inbox were done, undone, snoozed, shown again (`return`), discarded or replayed."""

    recipient: str
    cause: str


#: by the name of an event: the models that its data may have
EVENTS: Final[Mapping[str, tuple[type[View], ...]]] = {
    "space.message": (MessageView,),
    "space.message.streaming": residents.EVENTS["space.message.streaming"],
    "space.message.failed": residents.EVENTS["space.message.failed"],
    "inbox.item": (ItemView,),
    "inbox.changed": (InboxChangeView,),
    "shared.entry": (SharedEntryView,),
    "shared.entry.streaming": residents.EVENTS["shared.entry.streaming"],
    "shared.entry.failed": residents.EVENTS["shared.entry.failed"],
    "run.step": (StepView,),
    "run.waiting_tool": residents.EVENTS["run.waiting_tool"],
    "run.completed": (RunView,),
    "run.skipped": (RunView,),
    "run.failed": (RunView,),
    "run.cancelled": (RunView,),
    "agent.active": residents.EVENTS["agent.active"],
    "agent.inactive": residents.EVENTS["agent.inactive"],
    "tool.started": residents.EVENTS["tool.started"],
    "tool.streaming": residents.EVENTS["tool.streaming"],
    "tool.done": residents.EVENTS["tool.done"],
    "tool.error": residents.EVENTS["tool.error"],
    "decision.asked": (DecisionView,),
    "decision.answered": (DecisionView,),
    "gate.opened": (GateView,),
    "gate.resolved": (GateView,),
    "plan.set": (PlanChangeView,),
    "plan.fired": (PlanChangeView,),
    "trigger.added": (TriggerChangeView,),
    "trigger.changed": (TriggerChangeView,),
    "trigger.deleted": (TriggerChangeView,),
    "trigger.fired": (TriggerChangeView,),
    "trigger.working": (TriggerChangeView,),
    "trigger.failing": (TriggerChangeView,),
}
#: those that are about the stream itself
CONTROL_EVENTS: Final[Mapping[str, tuple[type[View], ...]]] = {
    "connected": (StreamConnectedView,),
    "ended": (StreamEndedView,),
}


def build_frame(topic: Topic, event: str, data: View) -> Frame:
    """Return a frame of a live stream."""
    return operation.build_frame(EVENTS, topic, event, data)


def encode_entry(event: str, data: View) -> msgspec.Raw:
    """Return the data of a stored entry: encoded once, however many readers there are."""
    operation.check_event(EVENTS, event, data)
    return msgspec.Raw(msgspec.json.encode(data))
