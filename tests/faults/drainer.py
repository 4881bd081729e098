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

from gatepost.adapters import spool as files
from gatepost.adapters.spool import FileSpool
from gatepost.app import open_store
from gatepost.core.times import MINUTE, Instant
from gatepost.errors import Unavailable
from gatepost.hooks.drain import drain
from gatepost.hooks.proof import PROVE, RELEASE, settle_batches
from gatepost.ports import Store

CAP: Final = 3
#: sessions in which somebody is killed at the same time
AT_ONCE: Final = 4
#: what changes something, or could be the last that is done before something changes
CALLS: Final = {"open", "write", "ftruncate", "fsync", "rename", "unlink", "close", "flock"}

Visit = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    session: str
    #: whether the one that is killed has the store, and whether it asks it for whatever is pending
    reached: bool
    reconcile: bool
    #: what comes after the print: `ack` as in other doors, or a hook's note that is then proved or released
    end: str = "ack"
    #: the how-manieth point, 0 for none
    point: int = 0


class Watched:
    """A module whose calls are told of. A lock that was not got is none."""

    def __init__(self, module: ModuleType, visit: Visit) -> None:
        self._module = module
        self._visit = visit

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        if name not in CALLS:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            if name != "flock":
                self._visit(name)
            done = found(*args, **kwargs)
            if name == "flock":
                self._visit("locked")
            return done

        return call


class WatchedStore:
    def __init__(self, store: Store, visit: Visit) -> None:
        self._store = store
        self._visit = visit

    def call(self, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        def within(tx: Any, /, *args: Any, **kwargs: Any) -> Any:
            done = verb(tx, *args, **kwargs)
            self._visit(f"commit {verb.__name__}")
            return done

        self._visit(verb.__name__)
        return self._store.call(within, *args, **kwargs)


class Hook:
    """One hook after the other of a session, each a drain; what they print goes to a file, with who printed it."""

    def __init__(self, folder: Path, session: str, who: str, visit: Visit = lambda _: None, end: str = "ack") -> None:
        self._session = session
        self._spool = FileSpool(f"{folder}/<session>.jsonl", lock_timeout=60)
        self._printed = folder / f"{session}.printed"
        self._who = who
        self._visit = visit
        self._end = end

    def drain(self, store: Store | None, *, reconcile: bool, now: Instant) -> bool:
        """Drain once; say whether there was anything."""
        drained = drain(
            store,
            self._spool,
            session=self._session,
            agent=self._session,
            now=now,
            include_pending=reconcile,
            limit=CAP,
        )
        if not drained.text:
            return False
        said = json.dumps({"who": self._who, "text": drained.text}).encode() + b"\n"
        self._visit("print")
        with open(self._printed, "ab", buffering=0) as out:  # noqa: PTH123 (as plain as it can be)
            out.write(said)
        if self._end == "ack":
            drained.ack()
        else:
            drained.await_proof(event_name="UserPromptSubmit", prompts=1, hold=30 * MINUTE)
            self._visit(f"{self._end} it")
            action = PROVE if self._end == "prove" else RELEASE
            call = store.call if store else _unreachable
            settle_batches(call, self._spool, self._session, lambda _: action, now=now, hold=30 * MINUTE)
        self._visit("end")
        return True


def _unreachable(*_: object, **__: object) -> object:
    raise Unavailable("the store is out of reach")


def doomed(url: str, folder: Path, case: Case, now: Instant) -> list[str]:
    """Drain once, and stop at the point; return the points that were passed."""
    passed: list[str] = []

    def visit(point: str) -> None:
        passed.append(point)
        if len(passed) == case.point:
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    store = open_store(url)
    watched: Any = WatchedStore(store, visit) if case.reached else None
    vars(files).update(os=Watched(os, visit), fcntl=Watched(fcntl, visit))
    Hook(folder, case.session, "doomed", visit, case.end).drain(watched, reconcile=case.reconcile, now=now)
    return passed


def bystander(url: str, folder: Path, case: Case, *, reached: bool, reconcile: bool, now: Instant) -> None:
    """Drain until there is nothing."""
    store = open_store(url) if reached else None
    hook = Hook(folder, case.session, "bystander")
    while hook.drain(store, reconcile=reconcile, now=now):
        pass


def play(url: str, folder: Path, writer: str, case: Case, now: Instant) -> None:
    """One is stopped at its point; others begin, and a writer; the one is killed, and the others go on."""
    one = _forked(lambda: doomed(url, folder, case, now))
    _, status = os.waitpid(one, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"{case} came to its end"
    late = subprocess.Popen([writer, str(folder / f"{case.session}.jsonl"), "late", "4"])
    begun, beginning = os.pipe()

    def begin(reached: bool, reconcile: bool) -> None:
        os.write(beginning, b".")
        bystander(url, folder, case, reached=reached, reconcile=reconcile, now=now)

    others = [_forked(lambda: begin(case.reached, False)), _forked(lambda: begin(True, True))]
    for _ in others:
        os.read(begun, 1)
    os.kill(one, signal.SIGKILL)
    for child in (one, *others):
        _, status = os.waitpid(child, 0)
        assert status == (signal.SIGKILL if child == one else 0), f"{case}: {status}"
    assert late.wait() == 0
    os.close(begun)
    os.close(beginning)


def _forked(life: Callable[[], object]) -> int:
    if child := os.fork():
        return child
    code = 1
    try:
        life()
        code = 0
    except Exception:  # noqa: BLE001 (told to whoever forked it)
        traceback.print_exc()
    finally:
        os._exit(code)


def race(url: str, folder: Path, session: str, seed: int, now: Instant) -> None:
    """Drain until told that nothing more comes, and once more until there is nothing; now with the store, now not."""
    store = open_store(url)
    chance = random.Random(seed)
    hook = Hook(folder, session, f"racer-{seed}")
    over = False
    while not over:
        over = (folder / "over").exists()
        while hook.drain(store if chance.random() < 0.6 else None, reconcile=chance.random() < 0.5, now=now):
            pass
    store.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["race", url, folder, session, seed, now]:
            race(url, Path(folder), session, int(seed), int(now))
        case ["count", url, folder, case, now]:
            print(json.dumps(doomed(url, Path(folder), Case(**json.loads(case)), int(now))))  # noqa: T201
        case ["play", url, folder, writer, now]:
            cases = [Case(**json.loads(told)) for told in sys.stdin]
            for few in range(0, len(cases), AT_ONCE):
                played = [
                    _forked(partial(play, url, Path(folder), writer, each, int(now)))
                    for each in cases[few : few + AT_ONCE]
                ]
                assert [os.waitpid(child, 0)[1] for child in played] == [0] * len(played)
        case wrong:
            sys.exit(f"what is {wrong}?")
