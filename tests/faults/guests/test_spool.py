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

from gatepost.app import open_store
from gatepost.core.ports import Store, Transaction
from gatepost.core.times import HOUR, Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.spool_files import FileSpool
from gatepost.inbox import account_actions, claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import Event, Push
from gatepost.inbox.push import actions as push
from gatepost.testing import FakeClock
from tests.faults.conftest import NIGHTLY
from tests.faults.grids import select_points
from tests.faults.guests.drainer import LIMIT, Case, Hook
from tests.support.processes import fork_server
from tests.support.processes.compiler import compile_c
from tests.support.processes.fork_server import ForkedProcess

POSTGRES_BY_NIGHT = True

NOW: Final[Instant] = time.time_ns() // 1_000
#: the torn line that every spool begins with, and the words of its others
TORN_LINE: Final = '{"id":"torn","content":"word-'
KEYED_WORDS: Final = {"keyed", "plain", "stored", "early-1", "early-3", "late-1", "late-3"}
EXPECTED_WORDS: Final = KEYED_WORDS | {"bare", "early-0", "early-2", "late-0", "late-2"}

#: where lines are in two files, or were shown and not yet marked
CRITICAL_POINTS: Final = {"ftruncate", "print", "commit ack", "prove it", "release it"}


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The writer in C, built with what this machine has."""
    return str(compile_c(Path(__file__).with_name("writer.c"), tmp_path_factory.mktemp("writer") / "writer"))


@pytest.fixture
def store(migrated_url: str) -> Iterator[Store]:
    with closing(open_store(migrated_url)) as store:
        store.migrate()
        yield store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    spool_folder = tmp_path / "spool"
    spool_folder.mkdir()
    return spool_folder


def prepare_session(store: Store, folder: Path, writer: str, session: str) -> None:
    """An agent with something pending, and a session with a copy of most of it, lines of others, and a torn one."""
    file = folder / f"{session}.jsonl"
    file.write_text(TORN_LINE)
    subprocess.run([writer, str(file), "early", "4"], check=True)
    with file.open("a") as lines:
        lines.write('{"content":"word-bare"}\n')
        lines.write('{"id":"old","content":"word-expired","timestamp":1,"ttl_seconds":1}\n')
    keyed, plain, _ = store.run_sync(_create_agent_with_items, session)
    FileSpool(f"{folder}/<session>.jsonl").append(
        session, [spool_lines.from_event(event) for event in (keyed, plain) * 2]
    )


def _create_agent_with_items(tx: Transaction, name: str) -> list[Event]:
    directory.register(tx, EntitySpec(name=name, kind=EntityKind.AGENT))
    for text, key in (("keyed", f"key-{name}"), ("plain", None), ("stored", None)):
        push.push_event(tx, Push(to=name, source="test", content=f"word-{text}", dedup_key=key))
    return [item.event for item in inbox.list_page(tx, name)]


def drain_rest(store: Store, url: str, folder: Path, sessions: Sequence[str]) -> None:
    """Drain what is left, later, when the claims of the dead have lapsed; nothing is left then."""
    with closing(open_store(url, clock=FakeClock(NOW + HOUR))) as later_store:
        for session in sessions:
            hook = Hook(folder, session, "finisher")
            while hook.drain(later_store, reconcile=True, now=NOW + HOUR):
                pass
            assert not FileSpool(f"{folder}/<session>.jsonl").peek(session)
            assert not store.read_sync(inbox.peek, session)
            assert not (folder / f"{session}.jsonl.draining").exists()
    assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))


def count_words(folder: Path, session: str, *, by_doomed: bool) -> Counter[str]:
    """The words that were printed by the one that was killed, or by all the others."""
    output_file = folder / f"{session}.printed"
    entries = [json.loads(line) for line in output_file.read_text().splitlines()] if output_file.exists() else []
    return Counter(
        word
        for entry in entries
        if (entry["who"] == "doomed") is by_doomed
        for word in re.findall(r"word-([\w-]+)", entry["text"])
    )


def list_points(store: Store, url: str, folder: Path, writer: str, case: Case) -> list[str]:
    """The points of a drain that nobody disturbs."""
    prepare_session(store, folder, writer, case.session)
    result = fork_server.run(
        [
            sys.executable,
            "-m",
            "tests.faults.guests.drainer",
            "count",
            url,
            str(folder),
            json.dumps(asdict(case)),
            str(NOW),
        ],
        check=True,
        capture_output=True,
    )
    names: list[str] = json.loads(result.stdout)
    assert sum(count_words(folder, case.session, by_doomed=True).values()) == LIMIT
    return names


@pytest.mark.parametrize("end", ["ack", "prove", "release"])
@pytest.mark.parametrize(
    ("reached", "reconcile"),
    [(True, False), (True, True), (False, False)],
    ids=["lines and their items", "all that is pending", "without the store"],
)
def test_a_hook_is_killed_at_every_point_of_its_drain(
    store: Store, migrated_url: str, folder: Path, writer: str, reached: bool, reconcile: bool, end: str
) -> None:
    """Also of the proof that what it printed was read, and of the release if it was not."""
    first_case = Case(session="undisturbed", has_store=reached, is_reconciling=reconcile, end=end)
    points = list_points(store, migrated_url, folder, writer, first_case)
    numbers = select_points(
        range(1, len(points) + 1),
        at_least=38,
        by_day=[number for number, name in enumerate(points, 1) if name in CRITICAL_POINTS],
    )
    cases = [replace(first_case, session=f"killed-{number}", point=number) for number in numbers]
    for case in cases:
        prepare_session(store, folder, writer, case.session)
    # Not by the fork server: it forks for each case, and the smaller a process is, the less a fork of it costs.
    result = subprocess.run(
        [sys.executable, "-m", "tests.faults.guests.drainer", "play", migrated_url, str(folder), writer, str(NOW)],
        input="".join(json.dumps(asdict(case)) + "\n" for case in cases).encode(),
        check=False,
        capture_output=True,
    )
    assert result.returncode == 0, result.stderr.decode()
    drain_rest(store, migrated_url, folder, [case.session for case in cases])

    print_point = points.index("print") + 1
    ack_point = points.index("commit ack") + 1 if reached and end != "release" else len(points)
    for case in cases:
        doomed_words, other_words = (
            count_words(folder, case.session, by_doomed=True),
            count_words(folder, case.session, by_doomed=False),
        )
        description = f"killed before {points[case.point - 1]!r}, point {case.point} of {len(points)}"
        assert set(doomed_words | other_words) == EXPECTED_WORDS, description
        # killed where it is in two files, a line by which nothing can be recognised is seen once from each; what is put
        # back is recognised by its key alone, because others may have written the same again
        repeatable_words = EXPECTED_WORDS - KEYED_WORDS if end == "release" else {"bare"}
        assert {word for word, times in other_words.items() if times > 1} <= repeatable_words, description
        assert sum(doomed_words.values()) == (LIMIT if case.point > print_point else 0), description
        if case.point > ack_point:
            assert not set(doomed_words & other_words) & {"keyed", "plain", "stored"}, description
        if end == "release":
            assert set(other_words) == EXPECTED_WORDS, description
        assert TORN_LINE in (folder / f"{case.session}.jsonl.aside").read_text(), description


def test_hooks_and_writers_race(store: Store, migrated_url: str, folder: Path, writer: str) -> None:
    """Nobody is killed, so nothing is seen twice; though the store comes and goes."""
    session, count = "racing", 150 if NIGHTLY else 60
    prepare_session(store, folder, writer, session)
    spool = FileSpool(f"{folder}/<session>.jsonl")
    racer_command = [sys.executable, "-m", "tests.faults.guests.drainer", "race", migrated_url, str(folder), session]
    with ExitStack() as stack:
        racers = [stack.enter_context(ForkedProcess([*racer_command, str(seed), str(NOW)])) for seed in range(3)]
        file = str(folder / f"{session}.jsonl")
        writers = [
            stack.enter_context(subprocess.Popen([writer, file, name, str(count)])) for name in ("late", "other")
        ]
        for number in range(count // 3):
            push_result = store.run_sync(
                push.push_event, Push(to=session, source="test", content=f"word-pushed-{number}")
            )
            [item] = store.read_sync(inbox_items.show, push_result.event)
            spool.append(session, [spool_lines.from_event(item.event)])
        assert [process.wait() for process in writers] == [0, 0]
        (folder / "over").touch()
        assert [process.wait() for process in racers] == [0, 0, 0]
    drain_rest(store, migrated_url, folder, [session])
    expected_words = EXPECTED_WORDS | {f"{name}-{n}" for name in ("late", "other") for n in range(count)}
    expected_words |= {f"pushed-{n}" for n in range(count // 3)}
    assert count_words(folder, session, by_doomed=False) == Counter(expected_words)
