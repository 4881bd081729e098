"""
Stream a message to the readers of a space, and a reply to the person who wrote on a channel, word by word, while the
model still writes it.

A stream has an id, and the stored message has the same id; so a reader replaces the streamed text by the stored
message. A stream that leads to no message ends with a frame that says so. Frames are live only, and may be lost.

A message that comes in one piece as the last call is not streamed: it is stored before anyone could read the stream.
Other messages are streamed only when it is certain in which space they will be posted. If the agent enters a space
first, in the same reply, that call must be complete and valid; the only thing that may still fail is the agent's right
to speak there. That right is checked when the message begins, while the model goes on, and again from time to time: the
stream of an agent that is no longer a member fails.

A reply on a channel is streamed to the person of the session, if the model names what it replies to before it begins
with the text: the beginning of the name of a session may be the name of another one. Other replies are not streamed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from gatepost.channels.conversation import Conversation
from gatepost.core.signals import Frame, Topic
from gatepost.operations.operation import build_frame
from gatepost.residents import stream_api
from gatepost.residents.model_port import CallDelta
from gatepost.residents.runs.run import Run

#: returns True if the agent may speak in a space
CanSpeak = Callable[[str], Awaitable[bool]]
#: returns where a reply to an event, or to the channel session of a prompt, is read; None if on no channel
FindConversation = Callable[[str], Awaitable[Conversation | None]]

#: seconds after which the right to speak is checked again
_RECHECK_SECONDS: Final = 1.0


class _Kind(NamedTuple):
    """A kind of text: the beginning of the names of its events, and the models of its frames."""

    event: str
    start: type[stream_api.StreamedTextView]
    delta: type[stream_api.StreamedTextView]
    done: type[stream_api.StreamedTextView]
    failed: type[stream_api.StreamedTextView]
    #: the field of `done` that has the id of what was stored
    id_field: str


_MESSAGE: Final = _Kind(
    "space.message",
    stream_api.MessageStartView,
    stream_api.MessageDeltaView,
    stream_api.MessageDoneView,
    stream_api.MessageFailedView,
    "message_id",
)
_REPLY: Final = _Kind(
    "shared.entry",
    stream_api.ReplyStartView,
    stream_api.ReplyDeltaView,
    stream_api.ReplyDoneView,
    stream_api.ReplyFailedView,
    "entry_id",
)


class _Place(NamedTuple):
    """Where a text is streamed: to the readers of a topic."""

    topic: Topic
    kind: _Kind
    #: what every frame says of the place
    fields: dict[str, str]


@dataclass(slots=True, eq=False)
class Streams:
    """The messages of one reply, while the model writes it."""

    _run: Run
    #: the number of the step that the reply will be
    _reply_step: int
    _active_space: str | None
    _can_speak: CanSpeak
    _send: Callable[[Sequence[Frame]], None]
    _find_conversation: FindConversation | None = None
    _calls: list[str] = field(default_factory=list)
    _enter_calls: dict[str, str] = field(default_factory=dict)
    #: by call: what it replies to
    _reply_events: dict[str, str] = field(default_factory=dict)
    #: the last call, if it came in one piece
    _complete_call: str | None = None
    #: by call: the text so far, the task that checks the right to speak, and the time of the last check
    _texts: dict[str, str] = field(default_factory=dict)
    _permission_tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _permission_times: dict[str, float] = field(default_factory=dict)
    #: by call: where it is streamed, and how many characters were sent
    _open_streams: dict[str, tuple[_Place, int]] = field(default_factory=dict)

    def add_delta(self, delta: CallDelta) -> None:
        """Take a part of a call from the model, and send the new text of a message to readers."""
        if delta.call not in self._calls:
            self._calls.append(delta.call)
        if self._complete_call is not None:
            self._request_permission(self._complete_call)
            self._complete_call = None
        if delta.tool == "enter_space":
            self._enter_calls[delta.call] = delta.arguments
        if delta.tool == "send_message" or (delta.tool == "reply" and self._find_conversation is not None):
            self._update_text(delta)

    def _update_text(self, delta: CallDelta) -> None:
        call, now = delta.call, asyncio.get_running_loop().time()
        document = None if call in self._texts else _parse_object(delta.arguments)
        fields = document or _parse_object(delta.arguments, allow_partial=True) or {}
        text = fields.get("text")
        if not isinstance(text, str) or not text:
            return
        if delta.tool == "reply" and call not in self._reply_events:
            event = fields.get("event")
            if not isinstance(event, str) or list(fields).index("event") > list(fields).index("text"):
                return
            self._reply_events[call] = event
        self._texts[call] = text
        if call in self._open_streams:
            self._send_delta(call)
            if now - self._permission_times[call] >= _RECHECK_SECONDS and self._permission_tasks[call].done():
                self._permission_times[call] = now
                self._permission_tasks[call] = asyncio.create_task(self._recheck_permission(call))
        elif document is not None:
            self._complete_call = call
        elif call not in self._permission_tasks:
            self._request_permission(call)

    def _request_permission(self, call: str) -> None:
        if (find_place := self._choose_place(call)) is not None:
            self._permission_times[call] = asyncio.get_running_loop().time()
            self._permission_tasks[call] = asyncio.create_task(self._start_stream(call, find_place))

    async def _start_stream(self, call: str, find_place: Callable[[], Awaitable[_Place | None]]) -> None:
        if (place := await find_place()) is not None:
            self._open_streams[call] = (place, 0)
            self._send_frame(call, place.kind.start)
            self._send_delta(call)

    async def _recheck_permission(self, call: str) -> None:
        find_place = self._choose_place(call)
        if find_place is None or await find_place() is None:
            self._fail_stream(call, "the agent may not speak here any more")

    def _send_delta(self, call: str) -> None:
        text, (place, count) = self._texts[call], self._open_streams[call]
        if len(text) > count:
            self._open_streams[call] = (place, len(text))
            self._send_frame(call, place.kind.delta, delta=text[count:])

    def _choose_place(self, call: str) -> Callable[[], Awaitable[_Place | None]] | None:
        """Return what finds the place of a text, if the agent may speak there; None if it is not certain (yet)."""
        if call in self._reply_events:
            return partial(self._find_session_place, self._reply_events[call])
        space = self._find_space(call)
        return partial(self._find_space_place, space) if space is not None else None

    async def _find_space_place(self, space: str) -> _Place | None:
        if not await self._can_speak(space):
            return None
        return _Place(Topic("space", space), _MESSAGE, {"space_id": space})

    async def _find_session_place(self, event: str) -> _Place | None:
        conversation = await self._find_conversation(event) if self._find_conversation is not None else None
        if conversation is None:
            return None
        fields = {"channel": conversation.channel, "session_id": conversation.session}
        return _Place(Topic("inbox", conversation.person), _REPLY, fields)

    def _find_space(self, call: str) -> str | None:
        """Return the space in which a message will be posted; None if it is not certain (yet)."""
        space = self._active_space
        for earlier_call in self._calls[: self._calls.index(call)]:
            if earlier_call in self._enter_calls:
                space = _parse_entered_space(self._enter_calls[earlier_call])
        return space

    async def wait_for_permissions(self) -> None:
        """Wait until every check of the right to speak is done."""
        await asyncio.gather(*self._permission_tasks.values())

    def cancel(self, reason: str) -> None:
        """End all open streams as failed: the reply failed, or will not be continued."""
        for task in self._permission_tasks.values():
            task.cancel()
        self._permission_tasks.clear()  # `finish` does not wait for them
        for call in list(self._open_streams):
            self._fail_stream(call, reason)

    def is_tracked(self, index: int) -> bool:
        """Return True if the right to speak was checked for a call of the reply."""
        return index < len(self._calls) and self._calls[index] in self._permission_tasks

    async def finish(self, index: int, *, message: str | None, reason: str = "") -> None:
        """End the stream of a tracked call: with the id of the stored `message`, or as failed if there is none."""
        call = self._calls[index]
        await self._permission_tasks[call]
        if call in self._open_streams and message is None:
            self._fail_stream(call, reason)
        elif call in self._open_streams:
            kind = self._open_streams[call][0].kind
            self._send_frame(call, kind.done, **{kind.id_field: message})
            del self._open_streams[call]

    def _fail_stream(self, call: str, reason: str) -> None:
        self._send_frame(call, self._open_streams[call][0].kind.failed, reason=reason)
        del self._open_streams[call]

    def _send_frame(self, call: str, model: type[stream_api.StreamedTextView], **fields: Any) -> None:
        stream_id = f"{self._run.id}/{build_call_key(self._reply_step, self._calls.index(call))}"
        place = self._open_streams[call][0]
        event = f"{place.kind.event}.{'failed' if model is place.kind.failed else 'streaming'}"
        data = model(stream_id=stream_id, run_id=self._run.id, agent=self._run.agent, **place.fields, **fields)
        self._send(
            [build_frame(stream_api.EVENTS, topic, event, data) for topic in (place.topic, Topic("run", self._run.id))]
        )


def build_call_key(reply_step: int, index: int) -> str:
    """Return the key of a call within its run, because the ids that models give are not unique."""
    return f"{reply_step}.{index}"


def _parse_entered_space(arguments: str) -> str | None:
    """Return the space that a call enters; None if the call is not complete or not valid."""
    document = _parse_object(arguments) or {}
    space, limit = document.get("spaceId"), document.get("limit", 1)
    is_valid = document.keys() <= {"spaceId", "limit"} and type(limit) is int and limit >= 1
    return space if is_valid and isinstance(space, str) else None


def _parse_object(text: str, *, allow_partial: bool = False) -> dict[str, Any] | None:
    """
    Return the object in a JSON text, {} if it is no object, None if the text is not complete. With `allow_partial`, the
    text may be the beginning of one.
    """
    try:
        document = from_json(text, allow_partial="trailing-strings" if allow_partial else False)
    except ValueError:
        return None
    return document if isinstance(document, dict) else {}
