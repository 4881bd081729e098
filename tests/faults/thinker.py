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
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import structlog

from gatepost.actions import run_journal
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.app import open_store
from gatepost.core.agent import ModelChoice
from gatepost.core.frame import Frame
from gatepost.core.mind import ModelReply, Prompt, ToolCall, Turn, Usage
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput
from gatepost.core.times import SECOND
from gatepost.errors import Lost
from gatepost.ports import HttpToolCaller, Model, Store, ToolServers
from gatepost.runtime.cycle import CycleDeps, think
from gatepost.runtime.signal_bus import SignalBus
from gatepost.runtime.toolkit import Toolbox
from gatepost.runtime.worker import Worker, WorkerOptions, run_worker
from tests.faults.points import watch

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


class Scripted:
    """
    A model that posts twice, writes one mail and sets one plan, in three steps. It goes by what it is shown alone, so
    it says the same whoever asks it, and however often.
    """

    name = "scripted"

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        step = sum(isinstance(turn, ModelReply) for turn in _this_cycle(ask.turns)) + 1
        space = next(line.split("(space ")[1].split(",")[0] for line in _inbox(ask.turns) if "(space " in line)
        match step:
            case 1:
                calls = _calls(("enter_space", {"spaceId": space}), ("send_message", {"text": "I am on it."}))
            case 2:
                plan = {"name": "check", "instruction": "check again", "runAfter": "5 days"}
                calls = _calls(
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


def _calls(*wanted: tuple[str, Any]) -> tuple[ToolCall, ...]:
    return tuple(ToolCall(f"c{n}", tool, json.dumps(arguments)) for n, (tool, arguments) in enumerate(wanted))


def _this_cycle(turns: Sequence[Turn]) -> list[Turn]:
    begun = max(place for place, turn in enumerate(turns) if isinstance(turn, Prompt) and turn.text.startswith("INBOX"))
    return list(turns[begun:])


def _inbox(turns: Sequence[Turn]) -> list[str]:
    first = _this_cycle(turns)[0]
    assert isinstance(first, Prompt)
    return first.text.splitlines()


class _Doomed:
    """A store whose user comes to harm at a verb."""

    def __init__(self, store: Store, case: Case) -> None:
        self._store = store
        self._case = case
        self.count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def run(self, verb: Callable[..., Any], /, *args: Any, lane: str = "", **kwargs: Any) -> Any:
        self.count += 1
        fated = self.count == self._case.verb

        def within(tx: Any, /, *args: Any, **kwargs: Any) -> Any:
            done = verb(tx, *args, **kwargs)
            self._meet("within")
            return done

        if fated:
            self._meet("before")
        written = await self._store.run(within if fated else verb, *args, lane=lane, **kwargs)
        if fated:
            self._meet("after")
        return written

    def _meet(self, when: str) -> None:
        if when == self._case.when:
            _meet(signal.SIGKILL if self._case.how == "kill" else signal.SIGSTOP)


def _meet(fate: signal.Signals) -> None:
    """Here and now: a signal to the whole process may reach another thread first, and this one goes on for a while."""
    signal.pthread_kill(threading.get_ident(), fate)


def means(
    store: Store, model: Model | None = None, send: Callable[[Sequence[Frame]], None] = lambda _: None
) -> CycleDeps:
    """What a scripted model thinks with; nothing outside is ever called."""
    mind = model or Scripted()

    async def opened(choice: ModelChoice) -> Model:
        return mind

    toolbox = Toolbox(_Nowhere(), _Nowhere())
    return CycleDeps(store=store, get_model=opened, open_toolkit=toolbox.open, send=send, draw_random=lambda: 0.5)


class _Nowhere(HttpToolCaller, ToolServers):
    def call(self, *_: Any) -> Any:
        raise AssertionError("nothing outside is called")

    @asynccontextmanager
    async def open_session(self) -> AsyncIterator[Any]:
        yield self


@asynccontextmanager
async def household(
    url: str, model: Model | None = None, visit: Callable[[str], None] | None = None
) -> AsyncIterator[tuple[Store, Worker]]:
    """Somebody who thinks for everybody, and looks often for what was left lying."""
    exchange = SignalBus()
    one: dict[str, Any] = {"writers": 1} if url.startswith("postgres") else {}
    store = open_store(url, signal_sink=exchange.on_commit, **one)
    if visit is not None:
        assert isinstance(store, ThreadedStore)
        watch(store, visit)
    try:
        async with exchange.open():
            habits = WorkerOptions(janitor_interval=0.1, lease=LEASE, max_cycles=20)
            async with run_worker(means(store, model, exchange.send), exchange, habits) as made:
                yield store, made
    finally:
        store.close()


async def _once(url: str, case: Case) -> dict[str, Any]:
    """Think for one agent, once; say how many verbs that took, and whether it was refused."""
    store = open_store(url)
    doomed = _Doomed(store, case)
    try:
        taken = await doomed.run(
            run_journal.take_run, case.agent, f"first-{os.getpid()}", length=LEASE, lane=case.agent
        )
        assert taken is not None
        await think(means(doomed), taken)
        outcome = "ended"
    except Lost:
        outcome = "refused"
    finally:
        store.close()
    return {"agent": case.agent, "outcome": outcome, "verbs": doomed.count}


def main(url: str) -> None:
    """Cases come as a line of JSON; what becomes of each goes out as a line."""
    cases = [Case(**case) for case in json.loads(sys.stdin.readline())]
    children: dict[int, Case] = {}
    for case in cases:
        if (child := os.fork()) == 0:
            _say(asyncio.run(_once(url, case)))
            os._exit(0)
        children[child] = case
    stopped: set[int] = set()
    _await(children, stopped)
    _say({"settled": len(stopped)})
    if stopped:
        sys.stdin.readline()
        for child in stopped:
            os.kill(child, signal.SIGCONT)
        _await(children, set())


def _await(children: dict[int, Case], stopped: set[int]) -> None:
    """Until every child has died, ended or stopped."""
    while len(stopped) < len(children):
        child, status = os.waitpid(-1, os.WUNTRACED)
        if os.WIFSTOPPED(status):
            stopped.add(child)
            _say({"agent": children[child].agent, "outcome": "stopped"})
        else:
            case = children.pop(child)
            if os.WIFSIGNALED(status):
                _say({"agent": case.agent, "outcome": "killed"})


def _say(what: dict[str, Any]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def told(cases: Sequence[Case]) -> str:
    return json.dumps([asdict(case) for case in cases]) + "\n"


async def fight(url: str, stop_at: int) -> None:
    """
    Think for everybody until the input ends, but for a sleep just before the transaction of that number since the first
    cycle was begun, when nothing is held; say how often it was refused.
    """
    refused = begun = 0
    thinking = False

    def visit(point: str) -> None:
        nonlocal begun, thinking
        thinking = thinking or point == "after runs/insert"
        begun += thinking and point == "before begin"
        if thinking and begun == stop_at and point == "before begin":
            _meet(signal.SIGSTOP)

    def count(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        nonlocal refused
        refused += event.get("event") == "cycle was overtaken"
        return event

    structlog.configure(processors=[count, _silent])
    async with household(url, visit=visit):
        _say({"ready": os.getpid()})
        await asyncio.to_thread(sys.stdin.read)
    _say({"refused": refused})


def _silent(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    raise structlog.DropEvent


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fight", url, stop_at]:
            asyncio.run(fight(url, int(stop_at)))
        case arguments:
            main(*arguments)
