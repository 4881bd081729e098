"""
Processes that the benchmarks talk to: an act in an event loop of its own (uvloop, where there is one, as a gateway has
it), and a pipe to it. It ends when the pipe is closed, also because whoever started it has died.
"""

import asyncio
import multiprocessing
from collections.abc import Callable, Coroutine
from contextlib import suppress
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Final, Self

import uvicorn

#: seconds after which a process that says nothing has gone wrong
PATIENCE: Final = 20.0


class Line:
    """The other end of the pipe, in the process."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._told: asyncio.Queue[Any] = asyncio.Queue()

    def tell(self, what: Any) -> None:
        self._pipe.send(what)

    async def next(self) -> Any:
        return await self._told.get()

    async def attend(self) -> None:
        """Take what is told, until the pipe is closed."""
        loop, gone = asyncio.get_running_loop(), asyncio.Event()

        def read() -> None:
            try:
                self._told.put_nowait(self._pipe.recv())
            except (EOFError, OSError):
                loop.remove_reader(self._pipe.fileno())
                gone.set()

        loop.add_reader(self._pipe.fileno(), read)
        await gone.wait()


Act = Callable[..., Coroutine[Any, Any, None]]


class Elsewhere:
    """A process that does an act until it is left."""

    def __init__(self, act: Act, *args: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=_run, args=(there, act, args), daemon=True)
        self._process.start()
        there.close()

    def tell(self, what: Any = None) -> None:
        self._pipe.send(what)

    def receive(self) -> Any:
        if not self._pipe.poll(PATIENCE):
            raise TimeoutError("a process of the benchmark says nothing")
        return self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory())


def _run(pipe: Connection, act: Act, args: tuple[Any, ...]) -> None:
    with runner() as loop:
        loop.run(_attended(Line(pipe), act, args))


async def _attended(line: Line, act: Act, args: tuple[Any, ...]) -> None:
    acting = asyncio.create_task(act(line, *args))
    attending = asyncio.create_task(line.attend())
    await asyncio.wait((acting, attending), return_when=asyncio.FIRST_COMPLETED)
    for task in (acting, attending):
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task
