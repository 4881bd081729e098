"""
What readers of a space see while a resident is still writing: its message, word by word.

A stream has an id, and the message that is stored in the end carries the same one; so a reader replaces what it has
shown by what is stored. A stream that comes to nothing says so. Frames are live only, and may be lost.

A message that comes in one piece with nothing behind it is not shown: it is stored before anybody could read it. Of
the others nothing is shown in a space before it is certain that the message will be said there. If the agent is about
to enter it, that call must be whole, and nothing can be wrong with it but that the agent may not speak there. Whether
it may is asked when it begins to write, while the model goes on, and again from time to time: who is no longer a member
is no longer heard.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from pydantic_core import from_json

from gatepost.core.frame import Frame
from gatepost.core.model import CallDelta
from gatepost.core.run import Run

#: whether the agent may speak in a space
CanSpeak = Callable[[str], Awaitable[bool]]

#: seconds after which it is asked again whether an agent may speak
_RECHECK_SECONDS: Final = 1.0


class Streams:
    """The messages of one reply, while it is being written."""

    def __init__(
        self,
        run: Run,
        reply_step: int,
        active_space: str | None,
        *,
        can_speak: CanSpeak,
        send: Callable[[Sequence[Frame]], None],
    ) -> None:
        """`reply` is the number of the step that the reply will be."""
        self._run = run
        self._reply_step = reply_step
        self._active_space = active_space
        self._can_speak = can_speak
        self._send = send
        self._calls: list[str] = []
        self._enter_calls: dict[str, str] = {}
        #: the last call, if it came in one piece
        self._complete_call: str | None = None
        #: by call: what is written so far, who asks whether it may be shown, and when it was asked last
        self._texts: dict[str, str] = {}
        self._permission_tasks: dict[str, asyncio.Task[None]] = {}
        self._permission_times: dict[str, float] = {}
        #: by call: where it is shown, and how much of it
        self._open_streams: dict[str, tuple[str, int]] = {}

    def add_delta(self, delta: CallDelta) -> None:
        """Show what is new."""
        if delta.call not in self._calls:
            self._calls.append(delta.call)
        if self._complete_call is not None:
            self._request_permission(self._complete_call)
            self._complete_call = None
        if delta.tool == "enter_space":
            self._enter_calls[delta.call] = delta.arguments
        if delta.tool == "send_message":
            self._update_text(delta)

    def _update_text(self, delta: CallDelta) -> None:
        call, now = delta.call, asyncio.get_running_loop().time()
        document = None if call in self._texts else _parse_complete(delta.arguments)
        text = (document if document is not None else _parse_partial(delta.arguments)).get("text")
        if not isinstance(text, str) or not text:
            return
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
        if (space := self._find_space(call)) is not None:
            self._permission_times[call] = asyncio.get_running_loop().time()
            self._permission_tasks[call] = asyncio.create_task(self._start_stream(call, space))

    async def _start_stream(self, call: str, space: str) -> None:
        if await self._can_speak(space):
            self._open_streams[call] = (space, 0)
            self._send_frame(call, "space.message.streaming", phase="start")
            self._send_delta(call)

    async def _recheck_permission(self, call: str) -> None:
        if not await self._can_speak(self._open_streams[call][0]):
            self._fail_stream(call, "the agent may not speak here any more")

    def _send_delta(self, call: str) -> None:
        text, (space, count) = self._texts[call], self._open_streams[call]
        if len(text) > count:
            self._open_streams[call] = (space, len(text))
            self._send_frame(call, "space.message.streaming", phase="delta", delta=text[count:])

    def _find_space(self, call: str) -> str | None:
        """Where a message will be said; None while, or if, that cannot be told."""
        space = self._active_space
        for earlier_call in self._calls[: self._calls.index(call)]:
            if earlier_call in self._enter_calls:
                space = _parse_entered_space(self._enter_calls[earlier_call])
        return space

    async def wait_for_permissions(self) -> None:
        """Wait until it is known what may be shown."""
        await asyncio.gather(*self._permission_tasks.values())

    def cancel(self, reason: str) -> None:
        """The reply came to nothing, or will not go on: whatever is still shown of it is void."""
        for task in self._permission_tasks.values():
            task.cancel()
        self._permission_tasks.clear()  # nobody waits for those any more
        for call in list(self._open_streams):
            self._fail_stream(call, reason)

    def is_tracked(self, index: int) -> bool:
        """Whether it was asked if a call of the reply may be shown."""
        return index < len(self._calls) and self._calls[index] in self._permission_tasks

    async def finish(self, index: int, *, message: str | None, reason: str = "") -> None:
        """A call of which that was asked is done: the message is stored, or there is none."""
        call = self._calls[index]
        await self._permission_tasks[call]
        if call in self._open_streams and message is None:
            self._fail_stream(call, reason)
        elif call in self._open_streams:
            self._send_frame(call, "space.message.streaming", phase="done", messageId=message)
            del self._open_streams[call]

    def _fail_stream(self, call: str, reason: str) -> None:
        self._send_frame(call, "space.message.failed", reason=reason)
        del self._open_streams[call]

    def _send_frame(self, call: str, event: str, **data: Any) -> None:
        stream_id = f"{self._run.id}/{build_call_key(self._reply_step, self._calls.index(call))}"
        space = self._open_streams[call][0]
        fields = {"streamId": stream_id, "runId": self._run.id, "agent": self._run.agent, "spaceId": space}
        self._send([Frame(f"space:{space}", event, fields | data), Frame(f"run:{self._run.id}", event, fields | data)])


def build_call_key(reply_step: int, index: int) -> str:
    """Which call of a run: the step of the reply, and its place in it. Ids that models give are not unique."""
    return f"{reply_step}.{index}"


def _parse_entered_space(arguments: str) -> str | None:
    """The space that a call is about to enter, if the call is whole and nothing is wrong with it."""
    try:
        document = from_json(arguments)
    except ValueError:
        return None
    if not isinstance(document, dict) or not document.keys() <= {"spaceId", "limit"}:
        return None
    space, limit = document.get("spaceId"), document.get("limit", 1)
    return space if isinstance(space, str) and type(limit) is int and limit >= 1 else None


def _parse_complete(text: str) -> dict[str, Any] | None:
    """What JSON says, if it is whole."""
    try:
        document = from_json(text)
    except ValueError:
        return None
    return document if isinstance(document, dict) else {}


def _parse_partial(text: str) -> dict[str, Any]:
    """What JSON that is not whole yet says so far."""
    try:
        document = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
