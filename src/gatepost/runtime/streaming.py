"""
What readers of a space see while a resident is still writing: its message, word by word.

A stream has an id, and the message that is stored in the end carries the same one; so a reader replaces what it has
shown by what is stored. A stream that comes to nothing says so. Frames are live only, and may be lost.

Whether the agent may speak in the space is asked when it begins to write, and nothing is shown before that is answered;
the model is not kept waiting for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic_core import from_json

from gatepost.core.frame import Frame
from gatepost.core.run import Run
from gatepost.ports.model import CallDelta

#: the space a message would go to, or None if the agent may not speak there
Place = Callable[[str], Awaitable[bool]]


class Streams:
    """The messages of one reply, while it is being written."""

    def __init__(
        self, run: Run, reply: int, active: str | None, *, may_speak: Place, send: Callable[[Sequence[Frame]], None]
    ) -> None:
        """`reply` is the number of the step that the reply will be."""
        self._run = run
        self._reply = reply
        self._space = active
        self._may_speak = may_speak
        self._send = send
        self._order: list[str] = []
        self._entering: dict[str, str] = {}
        #: by call: what is written so far, and who asks whether it may be shown
        self._texts: dict[str, str] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        #: by call: where it is shown, and how much of it
        self._shown: dict[str, tuple[str, int]] = {}

    def heard(self, delta: CallDelta) -> None:
        """Show what is new."""
        if delta.call not in self._order:
            self._order.append(delta.call)
        if delta.tool == "enter_space":
            self._entering[delta.call] = delta.arguments
        if delta.tool == "send_message":
            self._write(delta)

    def _write(self, delta: CallDelta) -> None:
        text = _partial(delta.arguments).get("text")
        if not isinstance(text, str) or not text:
            return
        self._texts[delta.call] = text
        if delta.call in self._shown:
            self._show(delta.call)
        elif delta.call not in self._asking:
            self._enter()
            if self._space is not None:
                self._asking[delta.call] = asyncio.create_task(self._begin(delta.call, self._space))

    async def _begin(self, call: str, space: str) -> None:
        if await self._may_speak(space):
            self._shown[call] = (space, 0)
            self._frame(call, "space.message.streaming", phase="start")
            self._show(call)

    def _show(self, call: str) -> None:
        text, (space, count) = self._texts[call], self._shown[call]
        if len(text) > count:
            self._shown[call] = (space, len(text))
            self._frame(call, "space.message.streaming", phase="delta", delta=text[count:])

    def _enter(self) -> None:
        """Follow the agent into the space it has just said it enters."""
        for arguments in self._entering.values():
            space = _partial(arguments).get("spaceId")
            self._space = space if isinstance(space, str) else self._space
        self._entering.clear()

    async def failed(self, reason: str) -> None:
        """The reply came to nothing: whatever is shown of it is void."""
        await asyncio.gather(*self._asking.values())
        for call in self._shown:
            self._frame(call, "space.message.failed", reason=reason)
        self._shown.clear()

    async def ended(self, index: int, *, message: str | None, reason: str = "") -> None:
        """A call of the reply was done: the message is stored, or there is none."""
        call = self._order[index] if index < len(self._order) else ""
        if call in self._asking:
            await self._asking.pop(call)
        if call not in self._shown:
            return
        if message is None:
            self._frame(call, "space.message.failed", reason=reason)
        else:
            self._frame(call, "space.message.streaming", phase="done", messageId=message)
        del self._shown[call]

    def _frame(self, call: str, event: str, **data: Any) -> None:
        stream = stream_id(self._run, self._reply, self._order.index(call))
        space = self._shown[call][0]
        named = {"streamId": stream, "runId": self._run.id, "agent": self._run.agent, "spaceId": space}
        self._send([Frame(f"space:{space}", event, named | data), Frame(f"run:{self._run.id}", event, named | data)])


def key(reply: int, index: int) -> str:
    """Which call of a run: the step of the reply, and its place in it. Ids that models give are not unique."""
    return f"{reply}.{index}"


def stream_id(run: Run, reply: int, index: int) -> str:
    return f"{run.id}/{key(reply, index)}"


def _partial(text: str) -> dict[str, Any]:
    """What JSON that is not whole yet says so far."""
    try:
        found = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
