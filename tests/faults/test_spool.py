"""
Hooks of one session drain it at the same time, writers in another language write to it meanwhile, a hook is killed at
every point of its drain, the store is there and not there: every line is seen, and none twice but across a kill.
"""

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

import pytest

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.spool import FileSpool
from gatepost.app import open_store
from gatepost.core import spool_line as spool_lines
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, Push
from gatepost.core.times import HOUR, Instant
from gatepost.ports import Store, Transaction
from gatepost.testing import FakeClock
from tests import forking
from tests.compiler import compile_c
from tests.faults.drainer import CAP, Case, Hook
from tests.forking import ForkedProcess

POSTGRES_BY_NIGHT = True

NOW: Final[Instant] = time.time_ns() // 1_000
#: the torn line that every spool begins with, and the words of its others
TORN: Final = '{"id":"torn","content":"word-'
KEYED: Final = {"keyed", "plain", "stored", "early-1", "early-3", "late-1", "late-3"}
OWED: Final = KEYED | {"bare", "early-0", "early-2", "late-0", "late-2"}


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The writer in C, built with what this machine has."""
    return str(compile_c(Path(__file__).with_name("writer.c"), tmp_path_factory.mktemp("writer") / "writer"))


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with closing(open_store(store_url)) as store:
        store.migrate()
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "spool"
    made.mkdir()
    return made


def furnish(store: Store, folder: Path, writer: str, session: str) -> None:
    """An agent with something pending, and a session with a copy of most of it, lines of others, and a torn one."""
    file = folder / f"{session}.jsonl"
    file.write_text(TORN)
    subprocess.run([writer, str(file), "early", "4"], check=True)
    with file.open("a") as lines:
        lines.write('{"content":"word-bare"}\n')
        lines.write('{"id":"old","content":"word-expired","timestamp":1,"ttl_seconds":1}\n')
    keyed, plain, _ = store.call(_employ, session)
    FileSpool(f"{folder}/<session>.jsonl").append(
        session, [spool_lines.from_event(event) for event in (keyed, plain) * 2]
    )


def _employ(tx: Transaction, name: str) -> list[Event]:
    directory.register(tx, EntitySpec(name=name, kind=EntityKind.AGENT))
    for word, key in (("keyed", f"key-{name}"), ("plain", None), ("stored", None)):
        push.push_event(tx, Push(to=name, source="test", content=f"word-{word}", key=key))
    return [item.event for item in inbox.page(tx, name)]


def finish(store: Store, url: str, folder: Path, sessions: Sequence[str]) -> None:
    """Drain what is left, later, when the claims of the dead have lapsed; nothing is left then."""
    with closing(open_store(url, clock=FakeClock(NOW + HOUR))) as later:
        for session in sessions:
            hook = Hook(folder, session, "finisher")
            while hook.drain(later, reconcile=True, now=NOW + HOUR):
                pass
            assert not FileSpool(f"{folder}/<session>.jsonl").peek(session)
            assert not store.query(inbox.peek, session)
            assert not (folder / f"{session}.jsonl.draining").exists()
    assert all(account.is_balanced for account in store.query(maintenance.list_accounts))


def seen(folder: Path, session: str, *, dead: bool) -> Counter[str]:
    """The words that were printed by the one that was killed, or by all the others."""
    printed = folder / f"{session}.printed"
    said = [json.loads(line) for line in printed.read_text().splitlines()] if printed.exists() else []
    return Counter(
        word for one in said if (one["who"] == "doomed") is dead for word in re.findall(r"word-([\w-]+)", one["text"])
    )


def points(store: Store, url: str, folder: Path, writer: str, case: Case) -> list[str]:
    """The points of a drain that nobody disturbs."""
    furnish(store, folder, writer, case.session)
    told = forking.run(
        [sys.executable, "-m", "tests.faults.drainer", "count", url, str(folder), json.dumps(asdict(case)), str(NOW)],
        check=True,
        capture_output=True,
    )
    found: list[str] = json.loads(told.stdout)
    assert sum(seen(folder, case.session, dead=True).values()) == CAP
    return found


@pytest.mark.parametrize("end", ["ack", "prove", "release"])
@pytest.mark.parametrize(
    ("reached", "reconcile"),
    [(True, False), (True, True), (False, False)],
    ids=["lines and their items", "all that is pending", "without the store"],
)
def test_a_hook_is_killed_at_every_point_of_its_drain(
    store: Store, store_url: str, folder: Path, writer: str, reached: bool, reconcile: bool, end: str
) -> None:
    """Also of the proof that what it printed was read, and of the release if it was not."""
    first = Case(session="undisturbed", reached=reached, reconcile=reconcile, end=end)
    passed = points(store, store_url, folder, writer, first)
    cases = [replace(first, session=f"killed-{n}", point=n) for n in range(1, len(passed) + 1)]
    for case in cases:
        furnish(store, folder, writer, case.session)
    played = forking.run(
        [sys.executable, "-m", "tests.faults.drainer", "play", store_url, str(folder), writer, str(NOW)],
        input="".join(json.dumps(asdict(case)) + "\n" for case in cases).encode(),
        check=False,
        capture_output=True,
    )
    assert played.returncode == 0, played.stderr.decode()
    finish(store, store_url, folder, [case.session for case in cases])

    printed = passed.index("print") + 1
    acked = passed.index("commit ack") + 1 if reached and end != "release" else len(passed)
    for case in cases:
        before, after = seen(folder, case.session, dead=True), seen(folder, case.session, dead=False)
        where = f"killed before {passed[case.point - 1]!r}, point {case.point} of {len(passed)}"
        assert set(before | after) == OWED, where
        # killed where it is in two files, a line by which nothing can be recognised is seen once from each; what is put
        # back is recognised by its key alone, because others may have written the same again
        unknown = OWED - KEYED if end == "release" else {"bare"}
        assert {word for word, times in after.items() if times > 1} <= unknown, where
        assert sum(before.values()) == (CAP if case.point > printed else 0), where
        if case.point > acked:
            assert not set(before & after) & {"keyed", "plain", "stored"}, where
        if end == "release":
            assert set(after) == OWED, where
        assert TORN in (folder / f"{case.session}.jsonl.aside").read_text(), where


def test_hooks_and_writers_race(store: Store, store_url: str, folder: Path, writer: str) -> None:
    """Nobody is killed, so nothing is seen twice; though the store comes and goes."""
    session, count = "racing", 150
    furnish(store, folder, writer, session)
    spool = FileSpool(f"{folder}/<session>.jsonl")
    racer = [sys.executable, "-m", "tests.faults.drainer", "race", store_url, str(folder), session]
    with ExitStack() as stack:
        racers = [stack.enter_context(ForkedProcess([*racer, str(seed), str(NOW)])) for seed in range(3)]
        file = str(folder / f"{session}.jsonl")
        writers = [
            stack.enter_context(subprocess.Popen([writer, file, name, str(count)])) for name in ("late", "other")
        ]
        for number in range(count // 3):
            pushed = store.call(push.push_event, Push(to=session, source="test", content=f"word-pushed-{number}"))
            [item] = store.query(inbox.show, pushed.event)
            spool.append(session, [spool_lines.from_event(item.event)])
        assert [each.wait() for each in writers] == [0, 0]
        (folder / "over").touch()
        assert [each.wait() for each in racers] == [0, 0, 0]
    finish(store, store_url, folder, [session])
    owed = OWED | {f"{name}-{n}" for name in ("late", "other") for n in range(count)}
    owed |= {f"pushed-{n}" for n in range(count // 3)}
    assert seen(folder, session, dead=False) == Counter(owed)
