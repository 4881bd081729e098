"""
Processes that think, and are killed or stopped at a point of their cycle. Run as a program, this is where they come
from: it forks one for each case it reads, tells when each has died or stopped, and lets the stopped ones go on.

A point is before a verb of the journal, within its transaction, or after its commit. The verbs of a cycle are counted,
so every one can be named.
"""

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import structlog

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.core.signals import Frame
from gatepost.core.times import SECOND
from gatepost.errors import Lost
from gatepost.residents.agent_config import ModelChoice
from gatepost.residents.background.cycle_outcome import CycleDeps
from gatepost.residents.background.think_cycle import think
from gatepost.residents.background.toolkit import Toolbox, build_built_in_tools
from gatepost.residents.model_port import (
    CallDelta,
    ChatRequest,
    HttpToolCaller,
    Model,
    ModelOutput,
    ModelReply,
    Prompt,
    ToolCall,
    ToolServers,
    Turn,
    Usage,
)
from gatepost.residents.runs import resume_actions as run_resume
from gatepost.stores import postgres, sqlite  # noqa: F401 (imported before the fork, for speed)
from gatepost.stores.threaded_store import ThreadedStore
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import Worker, WorkerOptions, run_worker
from tests.faults.commit_points import watch_store

LEASE: Final = 1 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    agent: str
    #: the how-manieth verb of the cycle, 0 for none
    verb: int = 0
    #: `before`, `within` or `after` it
    when: str = "before"
    #: killed, or stopped
    how: str = "kill"


class OrderModel:
    """
    A model that posts twice, writes one mail and sets one plan, in three steps. It goes by what it is shown alone, so
    it says the same whoever asks it, and however often.
    """

    name = "scripted"

    async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        step = sum(isinstance(turn, ModelReply) for turn in _select_cycle_turns(request.turns)) + 1
        space = next(
            line.split("(space ")[1].split(",")[0] for line in _read_inbox_lines(request.turns) if "(space " in line
        )
        match step:
            case 1:
                calls = _build_calls(("enter_space", {"spaceId": space}), ("send_message", {"text": "I am on it."}))
            case 2:
                plan = {"name": "check", "instruction": "check again", "runAfter": "5 days"}
                calls = _build_calls(
                    ("send_mail", {"to": "clerk", "subject": "Order", "text": "Please see to it."}),
                    ("set_plans", {"plans": [plan]}),
                    ("send_message", {"text": "It is done."}),
                )
            case _:
                yield ModelReply("Responded to Husam about the order. Nothing is pending.", (), Usage(10, 5), self.name)
                return
        for call in calls:
            yield CallDelta(call.id, call.tool, call.arguments)
        yield ModelReply("", calls, Usage(10, 5), self.name)

    async def close(self) -> None:
        pass


def _build_calls(*specs: tuple[str, Any]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"c{number}", tool, json.dumps(arguments)) for number, (tool, arguments) in enumerate(specs))


def _select_cycle_turns(turns: Sequence[Turn]) -> list[Turn]:
    start = max(index for index, turn in enumerate(turns) if isinstance(turn, Prompt) and turn.text.startswith("INBOX"))
    return list(turns[start:])


def _read_inbox_lines(turns: Sequence[Turn]) -> list[str]:
    prompt = _select_cycle_turns(turns)[0]
    assert isinstance(prompt, Prompt)
    return prompt.text.splitlines()


class _FatalStore:
    """A store whose user comes to harm at a verb."""

    def __init__(self, store: Store, case: Case) -> None:
        self._store = store
        self._case = case
        self.verb_count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def run(self, verb: Callable[..., Any], /, *args: Any, lane: str = "", **kwargs: Any) -> Any:
        self.verb_count += 1
        is_fatal = self.verb_count == self._case.verb

        def run_verb(tx: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = verb(tx, *args, **kwargs)
            self._signal_if_due("within")
            return result

        if is_fatal:
            self._signal_if_due("before")
        result = await self._store.run(run_verb if is_fatal else verb, *args, lane=lane, **kwargs)
        if is_fatal:
            self._signal_if_due("after")
        return result

    def _signal_if_due(self, when: str) -> None:
        if when == self._case.when:
            _signal_self(signal.SIGKILL if self._case.how == "kill" else signal.SIGSTOP)


def _signal_self(signal_number: signal.Signals) -> None:
    """Here and now: a signal to the whole process may reach another thread first, and this one goes on for a while."""
    signal.pthread_kill(threading.get_ident(), signal_number)


def build_deps(
    store: Store, model: Model | None = None, send: Callable[[Sequence[Frame]], None] = lambda _: None
) -> CycleDeps:
    """What a scripted model thinks with; nothing outside is ever called."""
    scripted_model = model or OrderModel()

    async def open_model(choice: ModelChoice) -> Model:
        return scripted_model

    toolbox = Toolbox(_NoTools(), _NoTools())
    return CycleDeps(store=store, get_model=open_model, open_toolkit=toolbox.open, send=send, draw_random=lambda: 0.5)


class _NoTools(HttpToolCaller, ToolServers):
    def call(self, *_: Any) -> Any:
        raise AssertionError("nothing outside is called")

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator[Any]:
        yield self


@asynccontextmanager
async def open_worker(
    url: str,
    model: Model | None = None,
    on_point: Callable[[str], None] | None = None,
    shrink_lock: AbstractContextManager[Any] | None = None,
) -> AsyncIterator[tuple[Store, Worker]]:
    """Somebody who thinks for everybody, and looks often for what was left lying."""
    bus = SignalBus()
    options: dict[str, Any] = {"writers": 1} if url.startswith("postgres") else {}
    store = open_store(url, signal_sink=bus.on_commit, **options)
    if on_point is not None:
        assert isinstance(store, ThreadedStore)
        watch_store(store, on_point)
    if shrink_lock is not None:
        shrink = store.shrink

        def shrink_alone() -> None:
            with shrink_lock:
                shrink()

        store.shrink = shrink_alone  # type: ignore[method-assign]
    try:
        async with bus.open():
            worker_options = WorkerOptions(recheck_interval=0.1, lease=LEASE, max_cycles=20)
            async with run_worker(build_deps(store, model, bus.send), bus, worker_options) as worker:
                yield store, worker
    finally:
        store.close()


async def _run_one_cycle(url: str, case: Case) -> dict[str, Any]:
    """Think for one agent, once; say how many verbs that took, and whether it was refused."""
    store = open_store(url)
    fatal_store = _FatalStore(store, case)
    try:
        run_state = await fatal_store.run(
            run_resume.take_run, case.agent, f"first-{os.getpid()}", length=LEASE, lane=case.agent
        )
        assert run_state is not None
        await think(build_deps(fatal_store), run_state)
        outcome = "ended"
    except Lost:
        outcome = "refused"
    finally:
        store.close()
    return {"agent": case.agent, "outcome": outcome, "verbs": fatal_store.verb_count}


def main(url: str) -> None:
    """Cases come as a line of JSON; what becomes of each goes out as a line."""
    cases = [Case(**case) for case in json.loads(sys.stdin.readline())]
    build_built_in_tools(frozenset())  # here once, rather than in every child
    children: dict[int, Case] = {}
    for case in cases:
        if (child := os.fork()) == 0:
            _print_line(asyncio.run(_run_one_cycle(url, case)))
            os._exit(0)
        children[child] = case
    stopped_pids: set[int] = set()
    _wait_for_children(children, stopped_pids)
    _print_line({"settled": len(stopped_pids)})
    if stopped_pids:
        sys.stdin.readline()
        for child in stopped_pids:
            os.kill(child, signal.SIGCONT)
        _wait_for_children(children, set())


def _wait_for_children(children: dict[int, Case], stopped_pids: set[int]) -> None:
    """Until every child has died, ended or stopped."""
    while len(stopped_pids) < len(children):
        child, status = os.waitpid(-1, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            stopped_pids.add(child)
            _print_line({"agent": children[child].agent, "outcome": "stopped"})
        else:
            case = children.pop(child)
            if os.WIFSIGNALED(status):
                _print_line({"agent": case.agent, "outcome": "killed"})


def _print_line(document: dict[str, Any]) -> None:
    os.write(1, json.dumps(document).encode() + b"\n")


def encode_cases(cases: Sequence[Case]) -> str:
    return json.dumps([asdict(case) for case in cases]) + "\n"


async def run_rival(url: str, stop_at: int) -> None:
    """
    Think for everybody until the input ends, but for a sleep just before the transaction of that number since the first
    cycle was begun, when nothing is held; say how often it was refused.

    A signal stops all threads. One that cuts the journal of SQLite has the lock of all writers meanwhile, and a process
    that sleeps with it would hold up the other one for good: so the sleep waits until the journal is cut.
    """
    refusal_count = begin_count = 0
    is_thinking = False
    journal_lock = threading.Lock()

    def on_point(point: str) -> None:
        nonlocal begin_count, is_thinking
        is_thinking = is_thinking or point == "after residents/runs/insert"
        begin_count += is_thinking and point == "before begin"
        if is_thinking and begin_count == stop_at and point == "before begin":
            with journal_lock:
                _signal_self(signal.SIGSTOP)

    def count_refusals(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        nonlocal refusal_count
        refusal_count += event.get("event") == "cycle was overtaken"
        return event

    structlog.configure(processors=[count_refusals, _drop_log_event])
    async with open_worker(url, on_point=on_point, shrink_lock=journal_lock):
        _print_line({"ready": os.getpid()})
        await asyncio.to_thread(sys.stdin.read)
    _print_line({"refused": refusal_count})


def _drop_log_event(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    raise structlog.DropEvent


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fight", url, stop_at]:
            asyncio.run(run_rival(url, int(stop_at)))
        case arguments:
            main(*arguments)
