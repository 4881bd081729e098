"""
Processes that the benchmarks talk to: a function in its own event loop (uvloop if it is installed, as in a gateway),
and a pipe to it. The process ends when the pipe is closed, also if its parent has died.
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
REPLY_TIMEOUT: Final = 20.0


class ParentPipe:
    """The other end of the pipe, in the process."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._messages: asyncio.Queue[Any] = asyncio.Queue()

    def send(self, message: Any) -> None:
        self._pipe.send(message)

    async def receive(self) -> Any:
        return await self._messages.get()

    async def read_until_closed(self) -> None:
        """Take what is told, until the pipe is closed."""
        loop, closed_event = asyncio.get_running_loop(), asyncio.Event()

        def read() -> None:
            try:
                self._messages.put_nowait(self._pipe.recv())
            except (EOFError, OSError):
                loop.remove_reader(self._pipe.fileno())
                closed_event.set()

        loop.add_reader(self._pipe.fileno(), read)
        await closed_event.wait()


ChildMain = Callable[..., Coroutine[Any, Any, None]]


class ChildProcess:
    """A process that does an act until it is left."""

    def __init__(self, child_main: ChildMain, *args: Any) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, child_pipe = context.Pipe()
        self._process = context.Process(target=_run_child, args=(child_pipe, child_main, args), daemon=True)
        self._process.start()
        child_pipe.close()

    def send(self, message: Any = None) -> None:
        self._pipe.send(message)

    def receive(self) -> Any:
        if not self._pipe.poll(REPLY_TIMEOUT):
            raise TimeoutError("a process of the benchmark says nothing")
        return self._pipe.recv()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(REPLY_TIMEOUT)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._process.close()


def create_runner() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvicorn.Config("", log_config=None).get_loop_factory())


def _run_child(pipe: Connection, child_main: ChildMain, args: tuple[Any, ...]) -> None:
    with create_runner() as loop:
        loop.run(_run_until_closed(ParentPipe(pipe), child_main, args))


async def _run_until_closed(pipe: ParentPipe, child_main: ChildMain, args: tuple[Any, ...]) -> None:
    main_task = asyncio.create_task(child_main(pipe, *args))
    pipe_task = asyncio.create_task(pipe.read_until_closed())
    await asyncio.wait((main_task, pipe_task), return_when=asyncio.FIRST_COMPLETED)
    for task in (main_task, pipe_task):
        if not task.done():
            task.cancel()
        with suppress(asyncio.CancelledError):
            await task
