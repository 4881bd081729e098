"""
The events of streams: the name of each, and the models of its data.

What is stored (messages, items, entries, steps, the end of a run) has an `id:` and comes after a lost connection, too.
The others are live: only readers of that moment see them, and nothing depends on them.

    connected                             a stream has opened; its `id:` is where it begins
    space.message  inbox.item  ...        what a stream is about
    space.message.streaming  ...          a text while a model still writes it: `start`, any number of `delta`, `done`
    ended                                 the last event of a stream that does not break off

`EVENTS` is the only list of them: OpenAPI and the TypeScript client are written from it, and `build_frame` and
`encode_entry` send nothing that is not in it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from gatepost.api.decisions import DecisionView
from gatepost.api.events import ItemView
from gatepost.api.fields import describe
from gatepost.api.gates import GateView
from gatepost.api.operation import View
from gatepost.api.runs import RunView, StepView
from gatepost.api.shared_inbox import SharedEntryView
from gatepost.api.spaces import MessageView
from gatepost.core.signals import Frame


class StreamConnectedView(View):
    """A stream has opened."""

    parts: Annotated[list[str], describe("what is in it, such as `space:q4-report`")]


class StreamEndedView(View):
    """A stream ends: the reader is too slow or may not read on, or the gateway stops."""

    reason: str
    resume_from: Annotated[
        str | UnsetType, describe("the Last-Event-ID to come back with; if it is missing, coming back does not help")
    ] = UNSET


class StreamedTextView(View):
    """A text while the model still writes it."""

    stream_id: str
    run_id: str
    agent: str


class StreamedMessageView(StreamedTextView):
    """A message while the model still writes it. The stored message has the same `streamId` in its `data`."""

    space_id: str


class MessageStartView(StreamedMessageView, tag_field="phase", tag="start"):
    """A message that the model begins to write. The stored message has the same `streamId` in its `data`."""


class MessageDeltaView(StreamedMessageView, tag_field="phase", tag="delta"):
    """The next piece of a message that the model writes."""

    delta: str


class MessageDoneView(StreamedMessageView, tag_field="phase", tag="done"):
    """A message is written, and stored."""

    message_id: str


class MessageFailedView(StreamedMessageView):
    """A message that the model began to write will not be stored."""

    reason: str


class StreamedReplyView(StreamedTextView):
    """A reply on a channel while the model still writes it; only the person of the session sees it."""

    channel: str
    session_id: str


class ReplyStartView(StreamedReplyView, tag_field="phase", tag="start"):
    """A reply on a channel that the model begins to write; only the person of the session sees it."""


class ReplyDeltaView(StreamedReplyView, tag_field="phase", tag="delta"):
    """The next piece of a reply that the model writes."""

    delta: str


class ReplyDoneView(StreamedReplyView, tag_field="phase", tag="done"):
    """A reply is written, and stored."""

    entry_id: str


class ReplyFailedView(StreamedReplyView):
    """A reply that the model began to write will not be stored."""

    reason: str


class AgentActivityView(View):
    """A resident begins or ends a cycle."""

    agent: str
    agent_name: str
    run_id: str
    space_id: Annotated[str | UnsetType, describe("the space whose readers this is for")] = UNSET
    channel: Annotated[str | UnsetType, describe("with `sessionId`: whose prompts the cycle is about")] = UNSET
    session_id: str | UnsetType = UNSET


class ToolUseView(View, kw_only=True):
    """A resident uses a tool outside."""

    tool_call_id: str
    tool_name: str
    run_id: str
    agent: str
    space_id: Annotated[str | UnsetType, describe("the space whose readers this is for")] = UNSET


class ToolStartedView(ToolUseView, kw_only=True):
    """A resident begins to use a tool outside."""

    arguments: dict[str, Any]


class ToolDeltaView(ToolUseView, kw_only=True):
    """The next piece of what a tool outside answers."""

    delta: str


class ToolResultView(ToolUseView, kw_only=True):
    """What a tool outside has answered, or why it has failed."""

    result: Annotated[str, describe("a long one is cut")]


class ToolWaitingView(ToolStartedView, kw_only=True):
    """A run waits for the result of a tool that the caller runs."""

    call_id: Annotated[str, describe("the id to answer with, in `tool-results`")]


class PlanChangeView(View):
    """A plan was set or has fired. What the gateway does not know is left out."""

    id: str | UnsetType = UNSET
    owner: str | UnsetType = UNSET


class TriggerChangeView(View):
    """A trigger has changed, or its schedule has fired."""

    name: str


#: by the name of an event: the models that its data may have
EVENTS: Final[Mapping[str, tuple[type[View], ...]]] = {
    "space.message": (MessageView,),
    "space.message.streaming": (MessageStartView, MessageDeltaView, MessageDoneView),
    "space.message.failed": (MessageFailedView,),
    "inbox.item": (ItemView,),
    "shared.entry": (SharedEntryView,),
    "shared.entry.streaming": (ReplyStartView, ReplyDeltaView, ReplyDoneView),
    "shared.entry.failed": (ReplyFailedView,),
    "run.step": (StepView,),
    "run.waiting_tool": (ToolWaitingView, RunView),
    "run.completed": (RunView,),
    "run.skipped": (RunView,),
    "run.failed": (RunView,),
    "run.cancelled": (RunView,),
    "agent.active": (AgentActivityView,),
    "agent.inactive": (AgentActivityView,),
    "tool.started": (ToolStartedView,),
    "tool.streaming": (ToolDeltaView,),
    "tool.done": (ToolResultView,),
    "tool.error": (ToolResultView,),
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


def build_frame(topic: str, event: str, data: View) -> Frame:
    """Return a frame of a live stream."""
    _check(event, data)
    return Frame(topic, event, msgspec.to_builtins(data))


def encode_entry(event: str, data: View) -> msgspec.Raw:
    """Return the data of a stored entry: encoded once, however many readers there are."""
    _check(event, data)
    return msgspec.Raw(msgspec.json.encode(data))


def _check(event: str, data: View) -> None:
    if type(data) not in EVENTS[event]:
        raise TypeError(f"{event} has no {type(data).__name__}: see `EVENTS`")
