"""
The doorstep: a socket in the home on which hooks of this machine's guests hand over what their host told them, and are
told what to print (`cli/hook.py` has the wire). Commands ask here where the gateway is before they send it a key
(`runtime/gateway_file.py`):

    command  -> {"v": 1, "op": "where"}
    gateway  <- {"url": "http://127.0.0.1:4283", "pid": 4711, "store": "sqlite:///office.db"}

A chain is synchronous, so each runs on a thread; but none is kept by a chain that waits: it says so, and is left alone
until something is committed for its agent, or its time is up. A hook that goes away in the meantime, or before its
turn, is let be; when we go, those that wait are let go, and wait on by themselves. What was taken for a hook is acked
when it says that all is out, and given back when the line ends without that.

Every line from outside is looked at with suspicion: too long, not JSON, not ours. Then the hook is told so, and does
without us.
"""

import asyncio
import json
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import structlog

from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Invalid, Refused
from gatepost.gateway.local import bound
from gatepost.hook_entry import HookCall, HookEntry, HookResponse
from gatepost.hooks import wire
from gatepost.hooks.chain import Handler, LazyHandler, Wait
from gatepost.ports import Store
from gatepost.settings import resolve_variables

log = structlog.get_logger("gatepost.doorstep")

Visit = Generator[Wait, None, HookResponse]

#: bytes of a line; a host tells what a tool has answered, which may be much
_LONGEST: Final = 32 * 1024 * 1024
#: seconds after which a hook is told that we are still at it
_BEAT: Final = 2.0
#: seconds after which a chain that waits looks again though nothing was heard
_GLANCE: Final = 5.0
#: chains that run at once; and those that are ending, which no other must keep from it
_RUNNING: Final = 16
_ENDING: Final = 4
#: seconds that visits under way get at the end, and a hook for its last word
_PATIENCE: Final = 5.0
_FAREWELL: Final = 2.0


class Doorstep:
    def __init__(
        self,
        home: Path,
        store: Store,
        on: str,
        handlers: Sequence[Handler | LazyHandler] = (),
        *,
        url: str | None = None,
    ) -> None:
        """
        `on` is the store as it is written for others: a hook that is on another one is not answered here. `url` is
        where the gateway listens.
        """
        self._home = home
        self._url = url
        self._porch = HookEntry(home, store=store, handlers=handlers)
        self._on = on
        self._running = ThreadPoolExecutor(_RUNNING, thread_name_prefix="gatepost-hook")
        self._ending = ThreadPoolExecutor(_ENDING, thread_name_prefix="gatepost-hook-end")
        #: chains that wait, by the agent for whom something is to be committed
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._closing = asyncio.Event()
        self._visits: set[asyncio.Task[None]] = set()

    def heard(self, signal: TransportMessage) -> None:
        """Have the chains look again that wait for this agent."""
        if isinstance(signal, Signal):
            for event in self._waiting.get(signal.recipient, ()):
                event.set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str | None]:
        """While entered, hooks are answered on the socket it yields, if one can be made; at the end all are let go."""
        with bound(self._home) as ears:
            if ears is None:
                yield None
                return
            server = await asyncio.start_unix_server(self._visited, sock=ears.socket, limit=_LONGEST)
            try:
                yield ears.path
            finally:
                server.close()
                await self._let_go()

    async def _let_go(self) -> None:
        self._closing.set()
        if self._visits:
            _, left = await asyncio.wait(self._visits, timeout=_PATIENCE)
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        for pool in (self._running, self._ending):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _visited(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._visits.add(task)
        try:
            await self._answer(reader, writer)
        except OSError:
            pass  # the hook is gone
        except Exception as error:
            log.exception("a hook could not be answered", reason=str(error))
        finally:
            self._visits.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.ensure_future(reader.readline())
        if not await self._came(line):
            line.cancel()
            return
        try:
            told = _read(line.result())
            if told.get("op") == "where" and self._url is not None:
                await _write(writer, {"url": self._url, "pid": os.getpid(), "store": self._on})
                return
            hook = _hook(told)
            await self._in_turn(self._running, self._check, hook)
        except (ValueError, RecursionError, GatepostError) as error:  # ValueError: or it is longer than what we read
            await _write(writer, {"error": str(error)})
            return
        last = asyncio.ensure_future(reader.readline())
        try:
            said = await self._said(self._porch.receive(hook), last, writer)
            if said is None:
                await _write(writer, {"error": "the gateway is stopping"})
            else:
                await self._say(said, last, writer)
        finally:
            if not last.cancel() and not last.cancelled():
                last.exception()  # it was heard

    async def _say(self, said: HookResponse, last: "asyncio.Future[bytes]", writer: asyncio.StreamWriter) -> None:
        printed = False
        try:
            await _write(writer, _document(said))
            printed = said.needs_confirmation and await self._confirmed(last)
        finally:
            if said.needs_confirmation:
                await self._in_turn(self._ending, said.on_printed if printed else said.on_failed)

    def _check(self, hook: HookCall) -> None:
        try:
            found = self._porch.load_config(hook.environ, lambda _: None)
        except GatepostError:  # what is set makes no sense: the chain says so itself
            return
        if found.store != self._on:
            raise Refused(f"this gateway is on the store {self._on!r}")

    async def _said(
        self, visit: Visit, gone: "asyncio.Future[bytes]", writer: asyncio.StreamWriter
    ) -> HookResponse | None:
        """Run a chain to its end, on threads, waiting where it wants to; None if the hook is gone by then, or we go."""
        with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as line:
            while True:
                step = asyncio.get_running_loop().run_in_executor(self._running, _step, visit, line)
                while not (await asyncio.wait({step}, timeout=_BEAT))[0]:
                    writer.write(b"\n")
                found = step.result()
                if found is None or isinstance(found, HookResponse):
                    return found
                if not await self._waited(found, gone, writer):
                    await self._in_turn(self._ending, visit.close)
                    return None

    async def _waited(self, wait: Wait, gone: "asyncio.Future[bytes]", writer: asyncio.StreamWriter) -> bool:
        """Wait until it is worth looking again; say whether it is, or the hook is gone, or we go."""
        rung = asyncio.Event()
        self._waiting.setdefault(wait.agent, set()).add(rung)
        heard = asyncio.ensure_future(rung.wait())
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            loop = asyncio.get_running_loop()
            end = loop.time() + min(_GLANCE, wait.until / SECOND - time.time())
            while not (rung.is_set() or gone.done() or closing.done()) and (left := end - loop.time()) > 0:
                await _first(heard, gone, closing, within=min(_BEAT, left))
                writer.write(b"\n")
            return not (gone.done() or closing.done())
        finally:
            heard.cancel()
            closing.cancel()
            self._waiting[wait.agent].discard(rung)
            if not self._waiting[wait.agent]:
                del self._waiting[wait.agent]

    async def _confirmed(self, line: "asyncio.Future[bytes]") -> bool:
        """Whether the hook says that all is out. Also when we go, it gets a moment for that."""
        if not await self._came(line):
            await asyncio.wait({line}, timeout=_FAREWELL)
        try:
            return line.done() and json.loads(line.result()).get("printed") is True
        except (OSError, ValueError, AttributeError):
            return False

    async def _came(self, line: "asyncio.Future[bytes]") -> bool:
        """Wait for a line; say whether one came before we go."""
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await _first(line, closing)
        finally:
            closing.cancel()
        return line.done()

    async def _in_turn(self, pool: ThreadPoolExecutor, what: Callable[..., object], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(pool, what, *arguments)


async def _first(*awaited: "asyncio.Future[Any]", within: float | None = None) -> None:
    await asyncio.wait(awaited, timeout=within, return_when=asyncio.FIRST_COMPLETED)


def _step(visit: Visit, line: socket.socket) -> Wait | HookResponse | None:
    """
    Run a chain until it waits, or to its end; None if the hook is gone. That is looked for here and now, because all of
    us may have been halted since it came, and its host has gone on: an old Stop would be taken for the latest news.
    """
    if _ended(line):
        visit.close()
        return None
    try:
        return next(visit)
    except StopIteration as ended:
        said: HookResponse = ended.value
        return said


def _ended(line: socket.socket) -> bool:
    """Whether the other end has hung up; nothing is taken from the line."""
    try:
        return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _read(line: bytes) -> dict[str, Any]:
    """Read what was sent; a ValueError or Invalid if it is none of ours."""
    told: Any = json.loads(line)
    if not isinstance(told, dict) or told.get("v") != 1 or told.get("op") not in ("hook", "where"):
        raise Invalid("this is not a hook of version 1")
    return told


def _hook(told: Mapping[str, Any]) -> HookCall:
    """What a hook hands over; Invalid if it is not that."""
    argv = told.get("argv")
    words = argv if isinstance(argv, list) and len(argv) in (1, 3) and all(isinstance(one, str) for one in argv) else []
    if not words or words[1:2] not in ([], ["--host"]) or words[2:] not in ([], *([host] for host in wire.HOSTS)):
        raise Invalid("a hook has an event and a host", hint='as in "argv": ["Stop", "--host", "claude"]')
    cwd = _text(told, "cwd")
    return HookCall(
        event=words[0],
        host=words[2] if words[2:] else "claude",
        stdin=_text(told, "stdin"),
        cwd=cwd,
        environ=resolve_variables(_variables(told.get("env")), cwd),
        is_from_daemon=told.get("daemon") is True,
    )


def _variables(told: Any) -> dict[str, str]:
    given = told.items() if isinstance(told, dict) else ()
    return {name: value for name, value in given if name.startswith("GATEPOST_") and isinstance(value, str)}


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name, "")
    if not isinstance(value, str):
        raise Invalid(f"{name!r} is not a string")
    return value


def _document(said: HookResponse) -> dict[str, object]:
    answer = said.output
    return {
        "stdout": answer.stdout,
        "stderr": answer.stderr,
        "exit": answer.exit_code,
        "claim": said.needs_confirmation,
    }


async def _write(writer: asyncio.StreamWriter, document: Mapping[str, object]) -> None:
    writer.write(json.dumps(document).encode() + b"\n")
    await writer.drain()
