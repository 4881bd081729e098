"""
The events of streams about residents that are not stored: texts while a model writes them, cycles, and uses of tools.

`gateway/streams/event_models.py` has the events of all rooms.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import UNSET, UnsetType

from gatepost.operations.fields import describe
from gatepost.operations.operation import View
from gatepost.residents.runs.api import RunView


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
    """A reply on a channel while the model still writes it; only the person of the channel session sees it."""

    channel: str
    session_id: str


class ReplyStartView(StreamedReplyView, tag_field="phase", tag="start"):
    """A reply on a channel that the model begins to write; only the person of the channel session sees it."""


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


#: by the name of an event: the models that its data may have
EVENTS: Final[Mapping[str, tuple[type[View], ...]]] = {
    "space.message.streaming": (MessageStartView, MessageDeltaView, MessageDoneView),
    "space.message.failed": (MessageFailedView,),
    "shared.entry.streaming": (ReplyStartView, ReplyDeltaView, ReplyDoneView),
    "shared.entry.failed": (ReplyFailedView,),
    "run.waiting_tool": (ToolWaitingView, RunView),
    "agent.active": (AgentActivityView,),
    "agent.inactive": (AgentActivityView,),
    "tool.started": (ToolStartedView,),
    "tool.streaming": (ToolDeltaView,),
    "tool.done": (ToolResultView,),
    "tool.error": (ToolResultView,),
}
