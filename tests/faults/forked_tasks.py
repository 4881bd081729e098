"""
Tasks that are done by a process of their own, which is killed or stopped at a point.

A program (`serve_tasks`) reads tasks from stdin, a line of JSON each, and for every one forks a child, which has
everything imported already. A test starts the program and gives it tasks (`TaskProgram`). Several processes share a
clock, which stands still until one of them moves it.
"""

import asyncio
import json
import mmap
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn, Self, TypeVar

import msgspec
from msgspec import Struct

from gatepost.core.ports import Transaction
from gatepost.core.times import Duration, Instant
from gatepost.jobs import job_actions as jobs
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.commit_points import watch_store
from tests.support.processes.fork_server import ForkedProcess
from tests.support.waits import LAST_RESORT

ROOT: Final = Path(__file__).parent.parent.parent


class FaultTask(Struct, frozen=True, kw_only=True):
    """A task, and at which points the process comes to harm."""

    #: the names of points, and the how-manieth time that it passes each
    points: Sequence[tuple[str, int]] = ()
    #: killed, or stopped
    how: str = "kill"


T = TypeVar("T", bound=FaultTask)


class SharedClock:
    """A clock of several processes, in a file. It stands still until one of them moves it."""

    def __init__(self, path: Path, now: Instant | None = None) -> None:
        if now is not None:
            path.write_bytes(now.to_bytes(8, "big"))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 8)

    def now(self) -> Instant:
        return int.from_bytes(self._memory[:8], "big")

    def read_nanoseconds(self) -> int:
        return self.now() * 1_000

    def advance(self, by: Duration) -> None:
        self._memory[:8] = (self.now() + by).to_bytes(8, "big")

    def entropy(self) -> int:
        return int.from_bytes(os.urandom(10), "big")


class FaultPoint:
    """Counts the points, and kills or stops this process at some of them."""

    def __init__(self, task: FaultTask) -> None:
        self._task = task
        self._lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        #: held by the thread that has a transaction open
        self.transaction_lock = threading.RLock()

    def __call__(self, point: str) -> None:
        with self._lock:
            self.counts[point] += 1
            is_due = (point, self.counts[point]) in self._task.points
        if not is_due:
            return
        # Here and now: a signal to the whole process may reach another thread first, and this one goes on.
        if self._task.how == "kill":
            signal.pthread_kill(threading.get_ident(), signal.SIGKILL)
        with self.transaction_lock:  # one who sleeps in a transaction would hold the database
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)


class WatchedStore:
    """
    A store that tells of every verb, and of the commits with it: `before V`, `before commit of V`, `after commit of V`.
    Jobs are taken one at a time.
    """

    def __init__(
        self,
        store: ThreadedStore,
        on_point: FaultPoint,
        hold: Duration | None = None,
        describe: Callable[..., str] = lambda verb, *_: verb.__name__,
    ) -> None:
        """`hold` replaces that of the jobs; `describe` names a verb with its arguments."""
        self._store = store
        self._on_point = on_point
        self._describe = describe
        self._take_options = {"limit": 1} if hold is None else {"limit": 1, "hold": hold}
        #: verbs of the transaction that is open
        self._verbs: list[str] = []
        watch_store(store, self._on_connection_point)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def run(self, verb: Callable[..., Any], /, *args: Any, lane: str = "", **kwargs: Any) -> Any:
        name = self._describe(verb, *args)

        def run_verb(tx: Transaction, /, *args: Any, **kwargs: Any) -> Any:
            result = verb(tx, *args, **kwargs)
            self._verbs.append(name)
            return result

        self._on_point(f"before {name}")
        options = self._take_options if verb is jobs.take else {}
        return await self._store.run(run_verb, *args, lane=lane, **kwargs, **options)

    def _on_connection_point(self, point: str) -> None:
        if point == "before begin":
            self._on_point.transaction_lock.acquire()
            self._verbs.clear()
        elif point in ("before commit", "after commit"):
            for verb in self._verbs:
                self._on_point(f"{point} of {verb}")
        if point in ("after commit", "after abandon"):
            self._on_point.transaction_lock.release()


def serve_tasks(kind: type[T], run_task: Callable[[T, FaultPoint], Coroutine[Any, Any, None]]) -> None:
    """Do the tasks on stdin. Of each child it is told how it began, whether it was stopped, and how it has ended."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run_child(msgspec.json.decode(line, type=kind), run_task)
        _, status = os.waitpid(child, os.WUNTRACED)
        while os.WIFSTOPPED(status):
            send_message(stopped=child)
            _, status = os.waitpid(child, os.WUNTRACED)
        send_message(ended=os.waitstatus_to_exitcode(status))
    os._exit(0)  # the clean-up of the interpreter costs more than a task


def _run_child(task: T, run_task: Callable[[T, FaultPoint], Coroutine[Any, Any, None]]) -> NoReturn:
    """Do a task and end the process, whatever happens."""
    threading.Thread(target=_exit_with_test, daemon=True).start()
    fault_point = FaultPoint(task)
    try:
        send_message(started=os.getpid())
        asyncio.run(run_task(task, fault_point))
        send_message(visited=fault_point.counts)
        os._exit(0)
    except BaseException:  # noqa: BLE001 (a forked child must not go on as its parent)
        traceback.print_exc()
        os._exit(1)


def _exit_with_test() -> None:
    """Leave nothing behind when the test is gone: then the other end of stdin is closed."""
    poller = select.poll()
    poller.register(0, 0)
    poller.poll()
    os._exit(1)


def send_message(**facts: Any) -> None:
    os.write(1, (json.dumps(facts) + "\n").encode())


class TaskProgram:
    """The program that processes come from, one after the other."""

    def __init__(self, module: str) -> None:
        self._process = ForkedProcess(
            [sys.executable, "-m", module],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._buffer = b""
        self._child = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end_child()
        self._process.communicate()

    def _end_child(self) -> None:
        """Kill a child that a test which has failed has left behind."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
        while self._child:
            self._read_message()

    def start(self, task: FaultTask) -> None:
        self._end_child()
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(task) + b"\n")
        self._process.stdin.flush()
        self._child = self.wait_for("started")

    def run(self, task: FaultTask) -> Counter[str]:
        """Do a task to its end; return how often each point was passed."""
        self.start(task)
        return self.finish()

    def finish(self) -> Counter[str]:
        counts: Counter[str] = Counter(self.wait_for("visited"))
        assert self.wait_for("ended") == 0
        return counts

    def kill_at_point(self, task: FaultTask) -> None:
        """Do a task up to its point."""
        self.start(task)
        assert self.wait_for("ended") == -signal.SIGKILL

    def stop_at_point(self, task: FaultTask) -> None:
        self.start(task)
        self.wait_for("stopped")

    def resume(self) -> None:
        """Let a process that was stopped go on."""
        os.kill(self._child, signal.SIGCONT)

    def kill(self) -> None:
        os.kill(self._child, signal.SIGKILL)
        assert self.wait_for("ended") == -signal.SIGKILL

    def wait_for(self, key: str) -> Any:
        """Wait for a message; another one is a failure."""
        message = self._read_message()
        assert key in message, f"the process said {message}, not {key!r}"
        return message[key]

    def _read_message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self._read_line())
        if "ended" in message:
            self._child = 0
        return message

    def _read_line(self) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._process.stdout], [], [], LAST_RESORT)
            assert ready, f"the process said nothing for {LAST_RESORT:.0f} s"
            chunk = os.read(self._process.stdout.fileno(), 65_536)
            assert chunk, "the process is gone"
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line
