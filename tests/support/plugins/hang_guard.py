"""
A pytest plugin that ends a test which hangs, whatever else the machine does.

A limit in real time would end healthy tests on a busy machine, so the guard counts processor time. A thread beside the
test wakes every second and works for a few milliseconds of its own: a turn. A test hangs

- if it and the processes below it have used 300 s of processor time, or
- if they have used less than that thread in 300 turns: the machine had time for them, and they did not want it. (A
  server in the background of a test that hangs still ticks now and then, so "less", not "none".)

A test that asks a server again and again, for ever, uses more than that. So after 300 turns of one test the thread
works ten times as long in each turn, and the test has to use more than that. On a busy machine this stays fair: whoever
has something to do gets as much time as the thread beside it.

Then the guard interrupts the test, which fails with the stacks of all threads and tasks, and the run goes on. If the
test ignores the interrupt for 60 more turns, the process ends, with the stacks on stderr; xdist replaces its worker and
names the test. A library that holds the interpreter's lock for ever stops this thread as well: after half an hour
without a turn, `faulthandler` ends the process from a thread that needs no lock.
"""

import asyncio
import faulthandler
import io
import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterator
from types import FrameType
from typing import Final

import pytest

from tests.support.plugins.process_tree import measure_child_time, measure_own_time

#: seconds between two turns of the thread, and of processor time that each turn uses
TURN_INTERVAL: Final = 1.0
TURN_WORK: Final = 0.005
#: ... and once a test has taken as many turns as it may be idle
LATE_TURN_WORK: Final = 0.05
#: seconds without a turn after which nothing in Python can run any more
NO_TURN_LIMIT: Final = 1800.0
#: its name says what happened, and nothing else here uses it
SIGNAL: Final = signal.SIGXCPU


class HangGuard:
    """Watches the test that runs in this process, from a thread of its own."""

    def __init__(self, processor_limit: float, idle_limit: int, grace: int) -> None:
        self._processor_limit = processor_limit
        self._idle_limit = idle_limit
        self._grace = grace
        self._test_count = 0
        #: the number of the test that runs, None between two tests, and that of the last test that was found to hang
        self._test: int | None = None
        self._hung_test = 0
        self._reason = ""
        self._thread = threading.Thread(target=self._watch, name="hang-guard", daemon=True)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        if not self._thread.is_alive():
            signal.signal(SIGNAL, self._fail_test)
            self._thread.start()
        self._test_count += 1
        self._test = self._test_count
        try:
            return (yield)
        finally:
            self._test = None

    def _fail_test(self, _number: int, frame: FrameType | None) -> None:
        """Raise in the main thread, wherever it is, unless the test has ended meanwhile."""
        if self._test == self._hung_test:
            pytest.fail(f"{self._reason}\n{format_stacks(frame)}", pytrace=False)

    def _watch(self) -> None:
        test, start, idle_turns = None, 0.0, deque[float](maxlen=self._idle_limit)
        previous, turn, turns_since_interrupt = 0.0, 0, 0
        while True:
            time.sleep(TURN_INTERVAL)
            faulthandler.dump_traceback_later(NO_TURN_LIMIT, exit=True, file=2)
            turn += 1
            work = TURN_WORK if turn <= self._idle_limit else LATE_TURN_WORK
            self._work(work)
            now = measure_own_time() - time.thread_time() + measure_child_time()
            if test != self._test:
                test, start, previous, turn, turns_since_interrupt = self._test, now, now, 0, 0
                idle_turns.clear()
            idle_turns.append(now - previous - work)
            previous = now
            if test is None:
                continue
            if turns_since_interrupt:
                turns_since_interrupt += 1
                if turns_since_interrupt > self._grace:
                    os.abort()  # faulthandler writes the stacks
            elif reason := self._find_reason(now - start, idle_turns):
                turns_since_interrupt = 1
                self._reason, self._hung_test = reason, test
                signal.pthread_kill(threading.main_thread().ident or 0, SIGNAL)

    def _find_reason(self, used: float, idle_turns: deque[float]) -> str | None:
        if used > self._processor_limit:
            return f"the test hangs: it has used {used:.0f} s of processor time"
        if len(idle_turns) == self._idle_limit and sum(idle_turns) < 0:
            turns = f"{self._idle_limit} turns of {TURN_INTERVAL:.0f} s"
            return f"the test hangs: it has hardly used the processor in {turns}"
        return None

    @staticmethod
    def _work(seconds: float) -> None:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass


def format_stacks(frame: FrameType | None) -> str:
    """Return the stacks of all threads and tasks; the main thread's is that of the frame that was interrupted."""
    output = io.StringIO()
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    for ident, current in sys._current_frames().items():
        output.write(f"\nthread {names.get(ident, ident)}:\n")
        traceback.print_stack(frame if ident == main and frame else current, file=output)
    for task in _list_tasks():
        task.print_stack(file=output)
    return output.getvalue()


def _list_tasks() -> Iterator["asyncio.Task[object]"]:
    try:
        yield from asyncio.all_tasks()
    except RuntimeError:
        return  # no loop runs here


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("hang_processor_seconds", "processor time of a test after which it hangs", default="300")
    parser.addini("hang_idle_turns", "turns without any use of the processor after which it hangs", default="300")
    parser.addini("hang_grace_turns", "turns that it has to end after it was interrupted", default="60")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        names = ("hang_processor_seconds", "hang_idle_turns", "hang_grace_turns")
        guard = HangGuard(*(int(config.getini(name)) for name in names))
        config.pluginmanager.register(guard, "hang-guard")
