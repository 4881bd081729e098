"""
The socket in the home, for this user alone. Hooks of this machine's guests hand over the input of their host there, and
get what to print (`guests/hook_commands.py` has the other end). Commands ask here where the gateway is before they send
it a key (`settings/gateway_files.py`):

    command  -> {"v": 1, "op": "where"}
    gateway  <- {"url": "http://127.0.0.1:4283", "pid": 4711, "store": "sqlite:///office.db"}

A waiter (`guests/waiter.py`) keeps its line until its session is to be woken (`guests/waiters_background.py`):

    waiter   -> {"v": 1, "op": "wait", "session": "4f1c", "waker": "...", "program": "...", "env": {...}, "cwd": "..."}
    gateway  <- {"wake": 1771405200000000}

A chain is synchronous, so it runs on a thread. A chain that waits keeps no thread: it yields a `Wait`, and goes on when
something is committed for its agent, or its time is up. The chain of a hook that has gone away is closed. When the
gateway stops, hooks that wait are let go, and wait on by themselves. What was claimed for a hook is acked when the hook
confirms that it has printed all, and released when the connection ends without that.

A line from outside may be too long, not JSON, or not of our protocol. Then the hook gets an error, and does its work
without the gateway.
"""

import asyncio
import json
import os
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import structlog

from gatepost.core.ports import Store
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Invalid, Refused
from gatepost.guests.hook_entry import HookCall, HookEntry, HookResponse
from gatepost.guests.hooks import dialects as wire
from gatepost.guests.hooks.handler_chain import Handler, LazyHandler, Wait
from gatepost.guests.hooks.repeated_event import HookProcess
from gatepost.guests.waiters_background import SessionWaiters
from gatepost.paths import is_running
from gatepost.settings import resolve_variables

log = structlog.get_logger("gatepost.hook_socket")

HookRun = Generator[Wait, None, HookResponse]

NAME: Final = "gateway.sock"
#: bytes of a path that the kernel has room for, with some to spare
_MAX_PATH_BYTES: Final = 100
_SOCKET_BACKLOG: Final = 1024
#: bytes of a line; the output of a tool is in it, which may be long
_MAX_LINE_LENGTH: Final = 32 * 1024 * 1024
#: seconds between two signs of life to a hook
_HEARTBEAT: Final = 2.0
#: seconds after which a chain that waits goes on without a signal
_RECHECK_TIME: Final = 5.0
#: threads for chains, and for their ends, which no running chain may hold up
_RUN_THREADS: Final = 16
_END_THREADS: Final = 4
#: seconds that hooks get when the gateway stops, and a hook to confirm
_STOP_TIMEOUT: Final = 5.0
_CONFIRM_TIMEOUT: Final = 2.0


class HookSocket:
    def __init__(
        self,
        home: Path,
        store: Store,
        store_name: str,
        handlers: Sequence[Handler | LazyHandler] = (),
        *,
        url: str | None = None,
    ) -> None:
        """
        `store_name` is the store as it is shown to others: a hook of another store is not answered here. `url` is where
        the gateway listens.
        """
        self._home = home
        self._url = url
        self._entry = HookEntry(home, store=store, handlers=handlers)
        self._store_name = store_name
        self._run_threads = ThreadPoolExecutor(_RUN_THREADS, thread_name_prefix="gatepost-hook")
        self._end_threads = ThreadPoolExecutor(_END_THREADS, thread_name_prefix="gatepost-hook-end")
        self._waiters = SessionWaiters(home, store, is_shared=not store_name.startswith("sqlite:"))
        #: of chains that wait, by the agent for whom something has to be committed
        self._wake_events: dict[str, set[asyncio.Event]] = {}
        self._closing = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    def on_signal(self, signal: TransportMessage) -> None:
        """Wake the chains that wait for this agent."""
        if isinstance(signal, Signal) and signal.topic.kind == "inbox":
            for event in self._wake_events.get(signal.topic.name, ()):
                event.set()
        self._waiters.on_signal(signal)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[str | None]:
        """While entered, hooks are answered on the socket whose path it yields, if one can be made."""
        with listen_locally(self._home) as listener:
            if listener is None:
                yield None
                return
            server = await asyncio.start_unix_server(self._serve, sock=listener.socket, limit=_MAX_LINE_LENGTH)
            try:
                yield listener.path
            finally:
                server.close()
                await self._stop()

    async def _stop(self) -> None:
        self._closing.set()
        if self._tasks:
            _, unfinished = await asyncio.wait(self._tasks, timeout=_STOP_TIMEOUT)
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)
        for pool in (self._run_threads, self._end_threads):
            pool.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer(reader, writer)
        except OSError:
            pass  # the hook is gone
        except Exception as error:
            log.exception("a hook could not be answered", reason=str(error))
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = asyncio.ensure_future(reader.readline())
        if not await self._wait_for_line(line):
            line.cancel()
            return
        try:
            document = _parse(line.result())
            if document.get("op") == "where" and self._url is not None:
                await _write(writer, {"url": self._url, "pid": os.getpid(), "store": self._store_name})
                return
            if document.get("op") == "wait":
                await self._hold_waiter(document, reader, writer)
                return
            call = _parse_hook(document)
            await self._run_on(self._run_threads, self._check_store, call.environ)
        except (ValueError, RecursionError, GatepostError) as error:  # ValueError also: the line is too long
            await _write(writer, {"error": str(error)})
            return
        last = asyncio.ensure_future(reader.readline())
        try:
            response = await self._run_chain(self._entry.receive(call), last, writer)
            if response is None:
                await _write(writer, {"error": "the gateway is stopping"})
            else:
                await self._send_response(response, last, writer)
                self._waiters.on_hook(response.session)
        finally:
            if not last.cancel() and not last.cancelled():
                last.exception()  # so that asyncio does not log it

    async def _hold_waiter(
        self, document: Mapping[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Keep the line of a waiter until its session is to be woken, it hangs up, or the gateway stops."""
        session = _get_text(document, "session")
        waker, program = (_get_text(document, name) or None for name in ("waker", "program"))
        environ = resolve_variables(_filter_variables(document.get("env")), _get_text(document, "cwd"))
        await self._run_on(self._run_threads, self._check_store, environ)
        hung_up = asyncio.ensure_future(reader.read(1))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            since = await self._waiters.wait(session, waker, program, hung_up, closing)
            if since is not None:
                await _write(writer, {"wake": since})
        finally:
            for future in (hung_up, closing):
                if not future.cancel() and not future.cancelled():
                    future.exception()

    async def _send_response(
        self, response: HookResponse, last: "asyncio.Future[bytes]", writer: asyncio.StreamWriter
    ) -> None:
        is_printed = False
        try:
            await _write(writer, _build_document(response))
            is_printed = response.needs_confirmation and await self._wait_for_confirmation(last)
        finally:
            if response.needs_confirmation:
                await self._run_on(self._end_threads, response.on_printed if is_printed else response.on_failed)

    def _check_store(self, environ: Mapping[str, str]) -> None:
        try:
            config = self._entry.load_config(environ, lambda _: None)
        except GatepostError:  # settings that make no sense: the chain says so itself
            return
        if config.store != self._store_name:
            raise Refused(f"this gateway is on the store {self._store_name!r}")

    async def _run_chain(
        self, run: HookRun, gone: "asyncio.Future[bytes]", writer: asyncio.StreamWriter
    ) -> HookResponse | None:
        """Run a chain to its end, on threads; return None if the hook has gone by then, or the gateway stops."""
        with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as line:
            while True:
                step = asyncio.get_running_loop().run_in_executor(self._run_threads, _advance, run, line)
                while not (await asyncio.wait({step}, timeout=_HEARTBEAT))[0]:
                    writer.write(b"\n")
                result = step.result()
                if result is None or isinstance(result, HookResponse):
                    return result
                if not await self._wait(result, gone, writer):
                    await self._run_on(self._end_threads, run.close)
                    return None

    async def _wait(self, wait: Wait, gone: "asyncio.Future[bytes]", writer: asyncio.StreamWriter) -> bool:
        """Wait until the chain should go on; return False if the hook has gone, or the gateway stops."""
        wake_event = asyncio.Event()
        self._wake_events.setdefault(wait.agent, set()).add(wake_event)
        waking = asyncio.ensure_future(wake_event.wait())
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            loop = asyncio.get_running_loop()
            end = loop.time() + min(_RECHECK_TIME, wait.until / SECOND - time.time())
            while not (wake_event.is_set() or gone.done() or closing.done()) and (remaining := end - loop.time()) > 0:
                await _wait_for_first(waking, gone, closing, timeout=min(_HEARTBEAT, remaining))
                writer.write(b"\n")
            return not (gone.done() or closing.done())
        finally:
            waking.cancel()
            closing.cancel()
            self._wake_events[wait.agent].discard(wake_event)
            if not self._wake_events[wait.agent]:
                del self._wake_events[wait.agent]

    async def _wait_for_confirmation(self, line: "asyncio.Future[bytes]") -> bool:
        """Return True if the hook confirms that it has printed all; it gets a moment, even if the gateway stops."""
        if not await self._wait_for_line(line):
            await asyncio.wait({line}, timeout=_CONFIRM_TIMEOUT)
        try:
            return line.done() and json.loads(line.result()).get("printed") is True
        except (OSError, ValueError, AttributeError):
            return False

    async def _wait_for_line(self, line: "asyncio.Future[bytes]") -> bool:
        """Wait for a line; return False if the gateway stops before it comes."""
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await _wait_for_first(line, closing)
        finally:
            closing.cancel()
        return line.done()

    async def _run_on(self, pool: ThreadPoolExecutor, function: Callable[..., object], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)


async def _wait_for_first(*futures: "asyncio.Future[Any]", timeout: float | None = None) -> None:  # noqa: ASYNC109 (of wait)
    await asyncio.wait(futures, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)


def _advance(run: HookRun, line: socket.socket) -> Wait | HookResponse | None:
    """
    Run a chain until it waits, or to its end; return None if the hook has gone. That is checked here and now, because
    the machine may have slept since the hook came, and its host has gone on: an old Stop would be taken for a new one.
    """
    if _has_hung_up(line):
        run.close()
        return None
    try:
        return next(run)
    except StopIteration as end:
        response: HookResponse = end.value
        return response


def _has_hung_up(line: socket.socket) -> bool:
    """Return True if the other end has hung up; nothing is read from the line."""
    try:
        return not line.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _parse(line: bytes) -> dict[str, Any]:
    """Return the document of a line; raise ValueError or Invalid if it is not of our protocol."""
    document: Any = json.loads(line)
    if not isinstance(document, dict) or document.get("v") != 1 or document.get("op") not in ("hook", "wait", "where"):
        raise Invalid("this is not a hook of version 1")
    return document


def _parse_hook(document: Mapping[str, Any]) -> HookCall:
    """Return the input of a hook; raise Invalid if it is none."""
    match document.get("argv"):
        case [str(event)]:
            host = "claude"
        case [str(event), "--host", str(host)] if host in wire.HOSTS:
            pass
        case _:
            raise Invalid("a hook has an event and a host", hint='as in "argv": ["Stop", "--host", "claude"]')
    cwd = _get_text(document, "cwd")
    return HookCall(
        event=event,
        host=host,
        stdin=_get_text(document, "stdin"),
        cwd=cwd,
        environ=resolve_variables(_filter_variables(document.get("env")), cwd),
        is_from_service=document.get("daemon") is True,
        process=_parse_process(document.get("process")),
        program=_get_text(document, "program") or None,
    )


def _parse_process(process: Any) -> HookProcess | None:
    match process:
        case [int(id), int(started_at) | float(started_at)]:
            return HookProcess(id, started_at)
        case _:  # a hook of an older release
            return None


def _filter_variables(variables: Any) -> dict[str, str]:
    items = variables.items() if isinstance(variables, dict) else ()
    return {name: value for name, value in items if name.startswith("GATEPOST_") and isinstance(value, str)}


def _get_text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name, "")
    if not isinstance(value, str):
        raise Invalid(f"{name!r} is not a string")
    return value


def _build_document(response: HookResponse) -> dict[str, object]:
    output = response.output
    return {
        "stdout": output.stdout,
        "stderr": output.stderr,
        "exit": output.exit_code,
        "claim": response.needs_confirmation,
    }


async def _write(writer: asyncio.StreamWriter, document: Mapping[str, object]) -> None:
    writer.write(json.dumps(document).encode() + b"\n")
    await writer.drain()


@dataclass(frozen=True, slots=True)
class LocalSocket:
    socket: socket.socket
    path: str


@contextmanager
def listen_locally(home: Path) -> Iterator[LocalSocket | None]:
    """
    Yield a socket that listens, or None, with a warning, if none can be made. Its path is in the home or, if that is
    too long for a socket, in a temporary folder of its own.
    """
    with ExitStack() as stack:
        try:
            _remove_stale_sockets(home)
            path = _choose_path(home, stack)
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            os.fchmod(listener.fileno(), 0o600)  # before anybody can reach it
            listener.bind(path)
            Path(path).chmod(0o600)  # where the system does not go by that
            stack.callback(_remove_socket, path, os.stat(path).st_ino)  # noqa: PTH116 (a string as it is)
            listener.listen(_SOCKET_BACKLOG)
            listener.setblocking(False)
        except (OSError, AttributeError) as error:
            log.warning(
                "hooks and commands do not find this gateway, and work on the store by themselves", reason=str(error)
            )
            yield None
            return
        yield LocalSocket(listener, path)


def _remove_stale_sockets(home: Path) -> None:
    """Remove the sockets of second gateways that were killed: nobody listens there any more."""
    for path in home.glob(f"*.{NAME}"):
        pid = path.name.removesuffix(f".{NAME}")
        with suppress(OSError):
            if pid.isdecimal() and path.is_socket() and not is_running(int(pid)):
                _free_path(str(path))


def _choose_path(home: Path, stack: ExitStack) -> str:
    for path in (str(home / NAME), str(home / f"{os.getpid()}.{NAME}")):
        if len(os.fsencode(path)) > _MAX_PATH_BYTES:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gatepost-", ignore_cleanup_errors=True))
            return f"{folder}/{NAME}"
        if _free_path(path):
            return path
    raise FileExistsError(f"{str(home / NAME)!r} is taken")


def _free_path(path: str) -> bool:
    """Return True if nobody listens there; the socket of a killed gateway is removed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except FileNotFoundError:
            return True
        except ConnectionRefusedError:
            os.unlink(path)  # noqa: PTH108 (a string as it is)
            return True
        except OSError:
            return False
    return False


def _remove_socket(path: str, inode: int) -> None:
    with suppress(OSError):
        if os.stat(path).st_ino == inode:  # noqa: PTH116 (a string as it is)
            os.unlink(path)  # noqa: PTH108 (a string as it is)
