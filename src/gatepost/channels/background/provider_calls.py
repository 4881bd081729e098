"""
Call the code of another package so that it cannot stop this process, nor what else runs in it.

    SystemExit and the like, or a           it is an error of the provider; asyncio itself would end the whole loop.
    CancelledError that nobody asked for    KeyboardInterrupt goes through
    no end after it is cancelled            the call is abandoned after some seconds: it is closed, and never resumed
    no end within its time limit            it is cancelled, and the other side counts as unavailable

A call runs in a task of its own, so that being cancelled and cancelling can be told apart. What a provider starts in
further tasks is out of reach.
"""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, Final, Generic, TypeVar

import structlog

from gatepost.errors import GatepostError, Unavailable

log = structlog.get_logger("gatepost.channel")

#: seconds that a call has for its end after it is cancelled
_PATIENCE: Final = 5.0

T = TypeVar("T")


async def call_provider(name: str, call: Callable[[], Coroutine[Any, Any, T]], *, time_limit: float | None = None) -> T:
    """Return what a call of the provider `name` returns; `time_limit` is in seconds."""
    leash = _Leash(call)
    task = asyncio.create_task(_run(name, leash), name=f"provider-{name}")
    try:
        done, _ = await asyncio.wait([task], timeout=time_limit)
    except asyncio.CancelledError:
        await _cancel(name, leash, task)
        raise
    if not done:
        await _cancel(name, leash, task)
        raise Unavailable(f"the provider {name!r} has not ended after {time_limit:.0f} seconds")
    if task.cancelled():
        raise GatepostError(f"the provider {name!r} raised CancelledError, and nobody had cancelled it")
    return task.result()


class _Leash(Generic[T]):
    """Passes everything on between a call and the task that runs it, until the call is abandoned."""

    def __init__(self, call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._call = call
        self.is_abandoned = False

    @types.coroutine
    def run(self) -> Generator[Any, Any, T]:
        coroutine = self._call()
        error: BaseException | None = None
        while True:
            try:
                waiter = coroutine.send(None) if error is None else coroutine.throw(error)
            except StopIteration as end:
                result: T = end.value
                return result
            try:
                yield waiter
                error = None
            except BaseException as raised:
                if self.is_abandoned or isinstance(raised, GeneratorExit):
                    with suppress(Exception, SystemExit):  # it may ignore that it is closed, too
                        coroutine.close()
                    raise
                error = raised


async def _run(name: str, leash: _Leash[T]) -> T:
    try:
        return await leash.run()
    except (Exception, asyncio.CancelledError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        detail = f": {error}" if str(error) else ""
        raise GatepostError(f"the provider {name!r} raised {type(error).__name__}{detail}") from error


async def _cancel(name: str, leash: _Leash[T], task: asyncio.Task[T]) -> None:
    """Cancel a call, and wait for its end a while."""
    task.add_done_callback(lambda task: task.cancelled() or task.exception())  # nobody asks for it any more
    task.cancel()
    try:
        await asyncio.wait([task], timeout=_PATIENCE)
    finally:
        if not task.done():
            log.error("a call of a provider goes on after it was cancelled, and is abandoned", provider=name)
            leash.is_abandoned = True
            task.cancel()
