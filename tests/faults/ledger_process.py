"""
Processes that post to a ledger and read it, and are killed or stopped at a point.

`python -m tests.faults.ledger_process` reads tasks from stdin, a line of JSON each, and for every one forks a child,
which has everything imported already. The child does what is to be done in its store until all is at rest, as the
duties of a worker do it, but one job after the other. These are the points that it passes:

    before V, before commit of V, after commit of V     V is a verb that the store runs; of a step, with what it is for
    before C, after C                                   C is a call of the ledger, such as `execute CreateTopic`
"""

import asyncio
import fcntl
import importlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import structlog

from gatepost.app import open_store
from gatepost.core.policy import Policy
from gatepost.core.ports import Store, Transaction
from gatepost.core.times import SECOND, Duration
from gatepost.errors import Conflict, Unavailable
from gatepost.jobs import job_actions as jobs
from gatepost.jobs.job_runner_background import run_due_jobs
from gatepost.ledger import ledger_step_actions as ledger_steps
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.connections.actions import CONNECTION_JOB
from gatepost.ledger.connections.api import ConnectionState
from gatepost.ledger.connections.background import LedgerConnections
from gatepost.ledger.hedera import HederaLedger
from gatepost.ledger.ledger_step_background import LedgerSteps
from gatepost.ledger.listener_background import LedgerListener
from gatepost.ledger.poster_background import LedgerPoster, retry_outages
from gatepost.ledger.profile_actions import SYNC_JOB
from gatepost.ledger.profile_publisher_background import ProfilePublisher
from gatepost.ledger.public_ledger import LedgerReceipt, LedgerTransaction, PublicLedger
from gatepost.ledger.topic_actions import POST_JOB
from gatepost.stores import postgres, sqlite  # noqa: F401 (imported before the fork, for speed)
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.forked_tasks import FaultPoint, FaultTask, SharedClock, WatchedStore, serve_tasks

POLICY: Final = Policy(ledger="hedera:testnet", work_notify=())
#: tinybars: little, so accounts become empty on the way
FUND: Final = 30_000_000
JOB_KINDS: Final = (POST_JOB, SYNC_JOB, CONNECTION_JOB)
#: rounds after which a ledger that is not at rest never will be
_MAX_ROUNDS: Final = 2_000
#: a job that is due later than this is held by another process, which goes on with it
_MAX_RETRY: Final = 61.0
_LEDGER_CALLS: Final = ("read_messages", "read_topic", "read_account")
#: what the clients of nodes and of the mirror import when they are used
_LAZY_MODULES: Final = (
    "anyio._backends._asyncio",
    "grpc._channel",
    "grpc.experimental",
    "h11",
    "httpcore2",
    "truststore",
)


class Task(FaultTask, frozen=True, kw_only=True):
    """What a process does."""

    url: str
    #: with the clock, and the keys
    folder: str
    operator: str
    mirror: str
    nodes: Sequence[str]
    #: how long it holds a job; None as long as every process does
    hold: Duration | None = None


def describe_verb(verb: Callable[..., Any], *args: Any) -> str:
    """Return the name of a verb; of a step, also what it is for: `mail`, `mail file`, `mail fund`, `account`, ..."""
    if verb is not ledger_steps.begin_step:
        return verb.__name__
    words = args[1].split("/")
    details = [word for word in ("file", "fund") if word in words]
    return " ".join([f"{verb.__name__} of", words[0].partition("_")[0], *details])


class WatchedLedger:
    """A ledger that tells of every call."""

    def __init__(self, ledger: PublicLedger, on_point: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._on_point = on_point

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._ledger, name)
        if name not in _LEDGER_CALLS:
            return attribute

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._on_point(f"before {name}")
            answer = await attribute(*args, **kwargs)
            self._on_point(f"after {name}")
            return answer

        return call

    def make_key(self, owner: str) -> str:
        self._on_point("before make_key")
        key = self._ledger.make_key(owner)
        self._on_point("after make_key")
        return key

    async def execute(self, transaction: LedgerTransaction) -> LedgerReceipt:
        name = f"execute {type(transaction.body).__name__}"
        self._on_point(f"before {name}")
        receipt = await self._ledger.execute(transaction)
        self._on_point(f"after {name}")
        return receipt


def answer_strangers(tx: Transaction) -> None:
    """Accept the connections that strangers ask for, and end them when they are open."""
    for connection in connections.list_page(tx, state=None, viewer=None):
        with suppress(Conflict):  # another process was first
            if connection.is_incoming and connection.state is ConnectionState.REQUESTED:
                connections.accept(tx, connection.id)
            elif connection.is_incoming and connection.state is ConnectionState.OPEN:
                connections.close(tx, connection.id)


class RunnerLock:
    """A lock of all processes that run jobs, in a file. One that waits for the others holds no job."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a")

    @contextmanager
    def hold(self) -> Iterator[None]:
        """While entered, others know that jobs may be held here. Several processes enter at once."""
        fcntl.flock(self._file, fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    async def wait_for_others(self) -> None:
        """Wait until no other process holds a job: it has done its jobs, or is killed."""
        await asyncio.to_thread(fcntl.flock, self._file, fcntl.LOCK_EX)
        fcntl.flock(self._file, fcntl.LOCK_UN)


async def reach_rest(store: Store, ledger: PublicLedger, clock: SharedClock, lock: RunnerLock) -> None:
    """Run jobs and read the ledger until nothing is left to do. The clock is moved while jobs wait."""
    steps = LedgerSteps(store, ledger, fund=FUND)
    handlers = {
        POST_JOB: retry_outages(steps.store, LedgerPoster(steps).run_job),
        SYNC_JOB: retry_outages(steps.store, ProfilePublisher(steps).run_job),
        CONNECTION_JOB: retry_outages(steps.store, LedgerConnections(steps).run_job),
    }
    listener = LedgerListener(store, ledger)
    holder = f"process-{os.getpid()}"
    for _ in range(_MAX_ROUNDS):
        with lock.hold():
            seconds = await run_due_jobs(store, handlers, holder)
        listener._rounds = 0  # the quiet topics, too
        try:
            await listener.run_round()
        except Unavailable:
            listener._paused_until = 0.0
            clock.advance(SECOND)
            continue
        await store.run(answer_strangers, lane="ledger")
        if not sum([await store.read(jobs.count_open, kind) for kind in JOB_KINDS]):
            return
        if seconds is not None and seconds < _MAX_RETRY:
            clock.advance(int(seconds * SECOND) + 1)
        elif seconds is not None:
            await lock.wait_for_others()
    raise AssertionError("the ledger is not at rest")


async def run_task(task: Task, on_point: FaultPoint) -> None:
    folder = Path(task.folder)
    clock = SharedClock(folder / "clock")
    options: dict[str, Any] = {"writers": 1} if task.url.startswith("postgres") else {}
    store = open_store(task.url, clock=clock, policy=POLICY, **options)
    ledger = HederaLedger(
        "testnet",
        operator=task.operator,
        operator_key_file=folder / "operator.key",
        keys=folder / "keys",
        mirror=task.mirror,
        nodes=task.nodes,
        clock=clock.read_nanoseconds,
        backoff=0.002,
    )
    assert isinstance(store, ThreadedStore)
    try:
        watched_store = WatchedStore(store, on_point, task.hold, describe_verb)
        watched_ledger = WatchedLedger(ledger, on_point)
        lock = RunnerLock(folder / "runners")
        await reach_rest(cast(Store, watched_store), cast(PublicLedger, watched_ledger), clock, lock)
    finally:
        await ledger.close()
        store.close()


def main() -> None:
    for name in _LAZY_MODULES:
        importlib.import_module(name)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    serve_tasks(Task, run_task)


if __name__ == "__main__":
    main()
