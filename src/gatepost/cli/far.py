"""A gateway that runs in this home: reached through the client, a request at a time."""

import asyncio
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar

from gatepost.client import Client
from gatepost.errors import Unauthorized
from gatepost.runtime import gateway_files

#: seconds in which one that is just restarting is back
_PATIENCE: Final = 15.0

Ready = Callable[[], None]
T = TypeVar("T")


@contextmanager
def reached(url: str, home: Path, is_there: Callable[[], Awaitable[bool]]) -> Iterator["Far"]:
    """The gateway at a URL, with the key of its home, which is sent only while the gateway `is_there`."""
    try:
        with asyncio.Runner() as runner:
            client = Client(url, key=gateway_files.read_admin_key(home), patience=_PATIENCE, is_there=is_there)
            try:
                yield Far(client, runner)
            finally:
                runner.run(client.__aexit__(None, None, None))
    except Unauthorized:
        raise Unauthorized(
            f"the gateway at {url} does not know the key in {str(home / gateway_files.ADMIN_KEY)!r}",
            hint=f"if the key was revoked, {gateway_files.RENEW_HINT}; else `gatepost up` makes this one good",
        ) from None


class Far:
    def __init__(self, client: Client, runner: asyncio.Runner) -> None:
        self._client = client
        self._run = runner.run
        self._loop = runner.get_loop()

    def ask(self, what: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """Make a request, and wait for the answer."""
        return self._run(what(self._client))

    def each(self, streaming: Callable[[Client, Ready], AsyncGenerator[T]], ready: Ready) -> Iterator[T]:
        """What a stream brings, as it comes, until somebody interrupts; `ready` is called once nothing is missed."""
        stream, stop = streaming(self._client, _once(ready)), asyncio.Event()

        async def following() -> T:
            return await anext(stream)

        async def brought() -> list[T]:
            """The next one; nothing when it was interrupted."""
            coming, stopping = asyncio.create_task(following()), asyncio.create_task(stop.wait())
            await asyncio.wait([coming, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if coming.done():
                return [coming.result()]
            coming.cancel()
            await asyncio.wait([coming])
            return []

        with _noticed(self._loop, stop):
            try:
                while found := self._run(brought()):
                    yield from found
            finally:
                self._run(stream.aclose())
        raise KeyboardInterrupt


@contextmanager
def _noticed(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """
    While entered, an interrupt sets `stop` instead of being raised wherever we are, which may be between two steps of
    asyncio, where nobody would clear up. A second one is raised.
    """
    noticed = False

    def notice(number: int, frame: FrameType | None) -> None:
        nonlocal noticed
        if noticed:
            signal.default_int_handler(number, frame)
        noticed = True
        loop.call_soon_threadsafe(stop.set)

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _once(ready: Ready) -> Ready:
    """Called for the first time only: a stream that stands again has missed nothing."""
    waiting = [ready]
    return lambda: waiting.pop()() if waiting else None
