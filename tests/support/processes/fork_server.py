"""
Start Python programs by fork, from a process that has imported the package already.

Half of what a test of a real process costs is the start of its interpreter and its imports. A fork server does both
once for each test process; a program is then a fork of it, with its own environment, folder, arguments, standard
streams and session. It is a process like any other: it can be killed, stopped and waited for.

    test process   ForkedProcess([sys.executable, "-m", ...]) -- request and three descriptors -->   fork server
    fork server    fork -> the child takes the descriptors and runs the program as `__main__`
    test process   waits by pidfd; asks the fork server for the exit status, which only a parent can read

The real interpreter is started where a test is about the start itself: see `can_fork`. A script that is run by a shell
finds the command `gatepost` as a fork, too: see `forked_command.py`.
"""

import atexit
import gc
import importlib
import json
import marshal
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from gatepost.operations import discovery

ROOT = Path(__file__).parents[3]
PRELOADED_MODULES = (
    "gatepost.cli.main",
    "gatepost.cli.root",
    *discovery.find_modules("commands"),
    "gatepost.gateway.serve",
    "gatepost.gateway.web_app",
    "gatepost.guests.hook_entry",
    # What these import when they need it. Modules of `api` and `handlers` are left out: whoever needs one imports it.
    *(f"gatepost.stores.{name}" for name in ("postgres", "sqlite")),
    *(f"gatepost.transports.{name}" for name in ("nats", "postgres_notify", "redis", "socket")),
    "gatepost.channels.telegram.client",
    "gatepost.gates.command_runner",
    "gatepost.guests.spool_files",
    "gatepost.residents.models.factory",
    "gatepost.residents.remote_tools.http_tools",
    "gatepost.channels.provider_plugins",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvloop",
)
#: what `gatepost mcp` needs besides; it is large, and a fork of a large process costs more, so it has its own server
MCP_MODULES = ("gatepost.cli.mcp_connection", "gatepost.mcp.stdio_server", "anyio._backends._asyncio")
#: what an interpreter reads when it starts; the fork server has started already
START_VARIABLES = ("PYTHON", "LC_", "LANG", "LD_")


def can_fork(arguments: Any, options: dict[str, Any]) -> bool:
    """Return True if the program is Python's, and nothing is asked for that a fork cannot give."""
    if isinstance(arguments, str) or len(arguments) < 3 or arguments[0] != sys.executable:
        return False
    if arguments[1] not in ("-m", "-c") or options.get("preexec_fn") or options.get("pass_fds"):
        return False
    env = options.get("env")
    return env is None or select_start_variables(env) == select_start_variables(os.environ)


def select_start_variables(env: Any) -> dict[str, str]:
    return {name: env[name] for name in env if name.startswith(START_VARIABLES)}


class ForkServer:
    """The test process's end of a fork server, which imports some modules besides those that all do."""

    def __init__(self, *extra_modules: str) -> None:
        self._lock = threading.Lock()
        self._socket, server_socket = socket.socketpair()
        self._folder = tempfile.TemporaryDirectory(prefix="gatepost-fork-")
        #: where programs that are no children of the test process ask for a fork
        self.address = f"{self._folder.name}/socket"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.address)
        listener.listen()
        descriptors = [server_socket.fileno(), listener.fileno()]
        with server_socket, listener:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.processes.fork_server", *map(str, descriptors), *extra_modules],
                cwd=ROOT,
                pass_fds=descriptors,
            )
        atexit.register(self.close)

    @property
    def folder(self) -> Path:
        """A folder that is there as long as the server."""
        return Path(self._folder.name)

    def close(self) -> None:
        self._socket.close()
        self._process.wait()
        self._folder.cleanup()

    def start(self, request: dict[str, Any], descriptors: Sequence[int]) -> int:
        """Start a program; return its process id."""
        return int(self._request(request, descriptors)["pid"])

    def get_status(self, pid: int) -> int:
        """Return the wait status of a process that has ended."""
        return int(self._request({"wait": pid})["status"])

    def _request(self, request: dict[str, Any], descriptors: Sequence[int] = ()) -> Any:
        body = json.dumps(request).encode()
        length_prefix = len(body).to_bytes(4, "big")
        with self._lock:
            socket.send_fds(self._socket, [length_prefix], descriptors)
            self._socket.sendall(body)
            return json.loads(_receive(self._socket, int.from_bytes(_receive(self._socket, 4), "big")))


_start_server = cache(ForkServer)
_server_lock = threading.Lock()


def get_server(extra_modules: Sequence[str] = ()) -> ForkServer:
    with _server_lock:
        return _start_server(*extra_modules)


class ForkedProcess(subprocess.Popen[Any]):
    """`subprocess.Popen`, by fork where that can be; `extra_modules` are imported before the fork."""

    def __init__(self, args: Sequence[str], *, extra_modules: Sequence[str] = (), **options: Any) -> None:
        self._is_forked = can_fork(args, options)
        self._extra_modules = extra_modules
        self._pidfd = -1
        super().__init__(args, **options)

    def _execute_child(self, args: Any, *rest: Any) -> None:
        if not self._is_forked:
            super()._execute_child(args, *rest)  # type: ignore[misc]
            return
        (_, _, _, _, cwd, env, _, _, _, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *others) = rest
        start_new_session = others[5]
        streams = [
            0 if p2cread == -1 else p2cread,
            1 if c2pwrite == -1 else c2pwrite,
            2 if errwrite == -1 else errwrite,
        ]
        request = {
            "arguments": [str(word) for word in args[1:]],
            "env": dict(os.environ if env is None else env),
            "cwd": str(cwd or Path.cwd()),
            "session": bool(start_new_session),
        }
        self.pid = get_server(self._extra_modules).start(request, streams)
        self._pidfd = os.pidfd_open(self.pid)
        self._child_created = True
        self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)  # type: ignore[attr-defined]

    def _internal_poll(self, *rest: Any, **options: Any) -> int | None:
        if not self._is_forked:
            return super()._internal_poll(*rest, **options)  # type: ignore[misc, no-any-return]
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
            return self.returncode

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        if not self._is_forked:
            return super()._try_wait(wait_flags)  # type: ignore[misc, no-any-return]
        ready, _, _ = select.select([self._pidfd], [], [], 0 if wait_flags & os.WNOHANG else None)
        if not ready:
            return 0, 0
        status = get_server(self._extra_modules).get_status(self.pid)
        os.close(self._pidfd)
        return self.pid, status


def run(
    args: Sequence[str],
    *,
    input: Any = None,
    capture_output: bool = False,
    timeout: float | None = None,
    check: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """`subprocess.run`, by fork where that can be."""
    if input is not None:
        options["stdin"] = subprocess.PIPE
    if capture_output:
        options["stdout"] = options["stderr"] = subprocess.PIPE
    with ForkedProcess(args, **options) as process:
        try:
            stdout, stderr = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    completed = subprocess.CompletedProcess(args, process.returncode, stdout, stderr)
    if check:
        completed.check_returncode()
    return completed


def _receive(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = connection.recv(count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


def serve(connection: socket.socket, listener: socket.socket) -> Callable[[], None]:
    """Answer requests until the test process is gone; in a child, return its program."""
    handlers: list[int] = []
    while True:
        ready, _, _ = select.select([connection, listener], [], [])
        if listener in ready:
            handlers = [pid for pid in handlers if not os.waitpid(pid, os.WNOHANG)[0]]
            client, _ = listener.accept()
            with client:
                pid = os.fork()
                if not pid:
                    connection.close()
                    listener.close()
                    return _serve_command(client)
            handlers.append(pid)
            continue
        length_prefix, descriptors, _, _ = socket.recv_fds(connection, 4, 3)
        if not length_prefix:
            sys.exit(0)
        request = json.loads(_receive(connection, int.from_bytes(length_prefix, "big")))
        if "wait" in request:
            answer = {"status": os.waitpid(request["wait"], 0)[1]}
        else:
            pid = os.fork()
            if not pid:
                connection.close()
                listener.close()
                return _enter_child(request, descriptors)
            for descriptor in descriptors:
                os.close(descriptor)
            answer = {"pid": pid}
        body = json.dumps(answer).encode()
        connection.sendall(len(body).to_bytes(4, "big") + body)


def _serve_command(client: socket.socket) -> Callable[[], None]:
    """Start a program for one who is no child of the test process; kill it if that one is killed."""
    length_prefix, descriptors, _, _ = socket.recv_fds(client, 4, 3)
    request = marshal.loads(_receive(client, int.from_bytes(length_prefix, "big")))  # noqa: S302 (from our own script)
    pid = os.fork()
    if not pid:
        client.close()
        return _enter_child(request, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    pidfd = os.pidfd_open(pid)
    client.sendall(pid.to_bytes(4, "big"))
    ready, _, _ = select.select([pidfd, client.fileno()], [], [])
    if pidfd not in ready:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    with suppress(OSError):
        client.sendall(status.to_bytes(4, "big"))
    os._exit(0)


def _enter_child(request: dict[str, Any], descriptors: Sequence[int]) -> Callable[[], None]:
    """Take on what the caller gave; return the program to run."""
    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
    os.closerange(3, 256)
    for name, mode, buffering in (("stdin", "r", -1), ("stdout", "w", -1), ("stderr", "w", 1)):
        old_stream = getattr(sys, name)
        stream = os.fdopen(
            old_stream.fileno(), mode, buffering, encoding=old_stream.encoding, errors=old_stream.errors, closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if request["session"]:
        os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    flag, program, *rest = request["arguments"]
    sys.argv = ["-c" if flag == "-c" else program, *rest]
    sys.path[0] = "" if flag == "-c" else request["cwd"]

    def run_code() -> None:
        module = ModuleType("__main__")
        sys.modules["__main__"] = module
        exec(compile(program, "<string>", "exec"), module.__dict__)  # noqa: S102

    def run_module() -> None:
        sys.modules.pop(program, None)
        runpy.run_module(program, run_name="__main__", alter_sys=True)

    return run_code if flag == "-c" else run_module


def main() -> None:
    connection, listener = (socket.socket(fileno=int(descriptor)) for descriptor in sys.argv[1:3])
    for name in (*PRELOADED_MODULES, *sys.argv[3:]):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    serve(connection, listener)()


if __name__ == "__main__":
    main()
