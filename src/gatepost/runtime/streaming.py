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
Place = Callable[[str], Awaitable[bool]]

#: seconds after which it is asked again whether an agent may speak
_AGAIN: Final = 1.0


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
        #: the last call, if it came in one piece
        self._whole: str | None = None
        #: by call: what is written so far, who asks whether it may be shown, and when it was asked last
        self._texts: dict[str, str] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._asked: dict[str, float] = {}
        #: by call: where it is shown, and how much of it
        self._shown: dict[str, tuple[str, int]] = {}

    def heard(self, delta: CallDelta) -> None:
        """Show what is new."""
        if delta.call not in self._order:
            self._order.append(delta.call)
        if self._whole is not None:
            self._ask(self._whole)
            self._whole = None
        if delta.tool == "enter_space":
            self._entering[delta.call] = delta.arguments
        if delta.tool == "send_message":
            self._write(delta)

    def _write(self, delta: CallDelta) -> None:
        call, now = delta.call, asyncio.get_running_loop().time()
        whole = None if call in self._texts else _whole(delta.arguments)
        text = (whole if whole is not None else _partial(delta.arguments)).get("text")
        if not isinstance(text, str) or not text:
            return
        self._texts[call] = text
        if call in self._shown:
            self._show(call)
            if now - self._asked[call] >= _AGAIN and self._asking[call].done():
                self._asked[call] = now
                self._asking[call] = asyncio.create_task(self._stay(call))
        elif whole is not None:
            self._whole = call
        elif call not in self._asking:
            self._ask(call)

    def _ask(self, call: str) -> None:
        if (space := self._place(call)) is not None:
            self._asked[call] = asyncio.get_running_loop().time()
            self._asking[call] = asyncio.create_task(self._begin(call, space))

    async def _begin(self, call: str, space: str) -> None:
        if await self._may_speak(space):
            self._shown[call] = (space, 0)
            self._frame(call, "space.message.streaming", phase="start")
            self._show(call)

    async def _stay(self, call: str) -> None:
        if not await self._may_speak(self._shown[call][0]):
            self._void(call, "the agent may not speak here any more")

    def _show(self, call: str) -> None:
        text, (space, count) = self._texts[call], self._shown[call]
        if len(text) > count:
            self._shown[call] = (space, len(text))
            self._frame(call, "space.message.streaming", phase="delta", delta=text[count:])

    def _place(self, call: str) -> str | None:
        """Where a message will be said; None while, or if, that cannot be told."""
        space = self._space
        for before in self._order[: self._order.index(call)]:
            if before in self._entering:
                space = _entered(self._entering[before])
        return space

    async def settled(self) -> None:
        """Wait until it is known what may be shown."""
        await asyncio.gather(*self._asking.values())

    def failed(self, reason: str) -> None:
        """The reply came to nothing, or will not go on: whatever is still shown of it is void."""
        for asking in self._asking.values():
            asking.cancel()
        self._asking.clear()  # nobody waits for those any more
        for call in list(self._shown):
            self._void(call, reason)

    def begun(self, index: int) -> bool:
        """Whether it was asked if a call of the reply may be shown."""
        return index < len(self._order) and self._order[index] in self._asking

    async def ended(self, index: int, *, message: str | None, reason: str = "") -> None:
        """A call of which that was asked is done: the message is stored, or there is none."""
        call = self._order[index]
        await self._asking[call]
        if call in self._shown and message is None:
            self._void(call, reason)
        elif call in self._shown:
            self._frame(call, "space.message.streaming", phase="done", messageId=message)
            del self._shown[call]

    def _void(self, call: str, reason: str) -> None:
        self._frame(call, "space.message.failed", reason=reason)
        del self._shown[call]

    def _frame(self, call: str, event: str, **data: Any) -> None:
        stream = f"{self._run.id}/{key(self._reply, self._order.index(call))}"
        space = self._shown[call][0]
        named = {"streamId": stream, "runId": self._run.id, "agent": self._run.agent, "spaceId": space}
        self._send([Frame(f"space:{space}", event, named | data), Frame(f"run:{self._run.id}", event, named | data)])


def key(reply: int, index: int) -> str:
    """Which call of a run: the step of the reply, and its place in it. Ids that models give are not unique."""
    return f"{reply}.{index}"


def _entered(arguments: str) -> str | None:
    """The space that a call is about to enter, if the call is whole and nothing is wrong with it."""
    try:
        given = from_json(arguments)
    except ValueError:
        return None
    if not isinstance(given, dict) or not given.keys() <= {"spaceId", "limit"}:
        return None
    space, limit = given.get("spaceId"), given.get("limit", 1)
    return space if isinstance(space, str) and type(limit) is int and limit >= 1 else None


def _whole(text: str) -> dict[str, Any] | None:
    """What JSON says, if it is whole."""
    try:
        found = from_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else {}


def _partial(text: str) -> dict[str, Any]:
    """What JSON that is not whole yet says so far."""
    try:
        found = from_json(text, allow_partial="trailing-strings")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
