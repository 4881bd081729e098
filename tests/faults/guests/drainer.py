"""
Hooks of one session that drain it, one of which is stopped at a point of its drain and then killed, while the others
and writers go on. Run as a program, this is where they come from.

A point is before a call of the spool to the system, before a verb of the store and before its commit, before the output
is written, and when all is done. They are counted, so every one can be named.
"""

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.core.times import MINUTE, Instant
from gatepost.errors import Unavailable
from gatepost.guests import spool_files as files
from gatepost.guests.hooks.delivery_proof import PROVE, RELEASE, settle_batches
from gatepost.guests.hooks.drain import drain
from gatepost.guests.spool_files import FileSpool
from gatepost.stores import sqlite  # noqa: F401 (imported before the fork, for speed)

LIMIT: Final = 3
#: sessions in which somebody is killed at the same time
MAX_PARALLEL: Final = 4
#: what changes something, or could be the last that is done before something changes
WATCHED_CALLS: Final = {"open", "write", "ftruncate", "fsync", "rename", "unlink", "close", "flock"}

PointHandler = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    session: str
    #: whether the one that is killed has the store, and whether it asks it for whatever is pending
    has_store: bool
    is_reconciling: bool
    #: what comes after the print: `ack` as in other doors, or a hook's note that is then proved or released
    end: str = "ack"
    #: the how-manieth point, 0 for none
    point: int = 0


class WatchedModule:
    """A module whose calls are told of. A lock that was not got is none."""

    def __init__(self, module: ModuleType, on_point: PointHandler) -> None:
        self._module = module
        self._on_point = on_point

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._module, name)
        if name not in WATCHED_CALLS:
            return member

        def call(*args: Any, **kwargs: Any) -> Any:
            if name != "flock":
                self._on_point(name)
            result = member(*args, **kwargs)
            if name == "flock":
                self._on_point("locked")
            return result

        return call


class WatchedStore:
    def __init__(self, store: Store, on_point: PointHandler) -> None:
        self._store = store
        self._on_point = on_point

    def run_sync(self, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        def run_verb(tx: Any, /, *args: Any, **kwargs: Any) -> Any:
            result = verb(tx, *args, **kwargs)
            self._on_point(f"commit {verb.__name__}")
            return result

        self._on_point(verb.__name__)
        return self._store.run_sync(run_verb, *args, **kwargs)


class Hook:
    """One hook after the other of a session, each a drain; what they print goes to a file, with who printed it."""

    def __init__(
        self, folder: Path, session: str, writer_name: str, on_point: PointHandler = lambda _: None, ending: str = "ack"
    ) -> None:
        self._session = session
        self._spool = FileSpool(f"{folder}/<session>.jsonl", lock_timeout=60)
        self._output_file = folder / f"{session}.printed"
        self._writer_name = writer_name
        self._on_point = on_point
        self._ending = ending

    def drain(self, store: Store | None, *, reconcile: bool, now: Instant) -> bool:
        """Drain once; say whether there was anything."""
        batch = drain(
            store,
            self._spool,
            session=self._session,
            agent=self._session,
            now=now,
            include_pending=reconcile,
            limit=LIMIT,
        )
        if not batch.text:
            return False
        output_line = json.dumps({"who": self._writer_name, "text": batch.text}).encode() + b"\n"
        self._on_point("print")
        with open(self._output_file, "ab", buffering=0) as out:  # noqa: PTH123 (as plain as it can be)
            out.write(output_line)
        if self._ending == "ack":
            batch.ack()
        else:
            batch.await_proof(event_name="UserPromptSubmit", prompts=1, hold=30 * MINUTE)
            self._on_point(f"{self._ending} it")
            action = PROVE if self._ending == "prove" else RELEASE
            call = store.run_sync if store else _unreachable
            settle_batches(call, self._spool, self._session, lambda _: action, now=now, hold=30 * MINUTE)
        self._on_point("end")
        return True


def _unreachable(*_: object, **__: object) -> object:
    raise Unavailable("the store is out of reach")


def drain_and_stop(url: str, folder: Path, case: Case, now: Instant) -> list[str]:
    """Drain once, and stop at the point; return the points that were passed."""
    points: list[str] = []

    def on_point(point: str) -> None:
        points.append(point)
        if len(points) == case.point:
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    store = open_store(url)
    watched_store: Any = WatchedStore(store, on_point) if case.has_store else None
    vars(files).update(os=WatchedModule(os, on_point), fcntl=WatchedModule(fcntl, on_point))
    Hook(folder, case.session, "doomed", on_point, case.end).drain(
        watched_store, reconcile=case.is_reconciling, now=now
    )
    return points


def drain_all(url: str, folder: Path, case: Case, *, has_store: bool, reconcile: bool, now: Instant) -> None:
    """Drain until there is nothing."""
    store = open_store(url) if has_store else None
    hook = Hook(folder, case.session, "bystander")
    while hook.drain(store, reconcile=reconcile, now=now):
        pass


def play_case(url: str, folder: Path, writer: str, case: Case, now: Instant) -> None:
    """One is stopped at its point; others begin, and a writer; the one is killed, and the others go on."""
    doomed_pid = _fork(lambda: drain_and_stop(url, folder, case, now))
    _, status = os.waitpid(doomed_pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"{case} came to its end"
    late_writer = subprocess.Popen([writer, str(folder / f"{case.session}.jsonl"), "late", "4"])
    started_read, started_write = os.pipe()

    def start_bystander(has_store: bool, reconcile: bool) -> None:
        os.write(started_write, b".")
        drain_all(url, folder, case, has_store=has_store, reconcile=reconcile, now=now)

    others = [_fork(lambda: start_bystander(case.has_store, False)), _fork(lambda: start_bystander(True, True))]
    for _ in others:
        os.read(started_read, 1)
    os.kill(doomed_pid, signal.SIGKILL)
    for child in (doomed_pid, *others):
        _, status = os.waitpid(child, 0)
        assert status == (signal.SIGKILL if child == doomed_pid else 0), f"{case}: {status}"
    assert late_writer.wait() == 0
    os.close(started_read)
    os.close(started_write)


def _fork(action: Callable[[], object]) -> int:
    if child := os.fork():
        return child
    code = 1
    try:
        action()
        code = 0
    except Exception:  # noqa: BLE001 (told to whoever forked it)
        traceback.print_exc()
    finally:
        os._exit(code)


def run_racer(url: str, folder: Path, session: str, seed: int, now: Instant) -> None:
    """Drain until told that nothing more comes, and once more until there is nothing; now with the store, now not."""
    store = open_store(url)
    rng = random.Random(seed)
    hook = Hook(folder, session, f"racer-{seed}")
    is_over = False
    while not is_over:
        is_over = (folder / "over").exists()
        while hook.drain(store if rng.random() < 0.6 else None, reconcile=rng.random() < 0.5, now=now):
            pass
    store.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["race", url, folder, session, seed, now]:
            run_racer(url, Path(folder), session, int(seed), int(now))
        case ["count", url, folder, case, now]:
            print(json.dumps(drain_and_stop(url, Path(folder), Case(**json.loads(case)), int(now))))  # noqa: T201
        case ["play", url, folder, writer, now]:
            cases = [Case(**json.loads(line)) for line in sys.stdin]
            for start in range(0, len(cases), MAX_PARALLEL):
                children = [
                    _fork(partial(play_case, url, Path(folder), writer, next_case, int(now)))
                    for next_case in cases[start : start + MAX_PARALLEL]
                ]
                assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)
        case arguments:
            sys.exit(f"what is {arguments}?")
