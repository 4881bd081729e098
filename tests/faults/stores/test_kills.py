"""
Whoever writes may be killed at any instruction: what was answered is there, once, and nothing is there twice.
"""

import random
from pathlib import Path
from typing import Final

import pytest

from tests.faults.conftest import NIGHTLY
from tests.faults.grids import list_passes, select_points
from tests.faults.stores.audit import audit, drain_and_audit
from tests.faults.stores.worker_process import WorkerProcess

#: what each way to write must pass besides its statements
REQUIRED_POINTS: Final = {
    "sync": {"begin", "inbox/accounts/add", "commit", "signals"},
    "group": {"begin", "savepoint", "release", "rollback_to", "inbox/accounts/add", "commit", "signals", "answer"},
}
#: how many points each passes at least, every pass counted
POINT_COUNTS: Final = {"sync": 160, "group": 180}
#: where an answer or a signal that comes too early is found out
CRITICAL_NAMES: Final = {"commit", "signals", "answer"}


@pytest.mark.parametrize("kind", REQUIRED_POINTS)
def test_a_writer_is_killed_at_every_point_it_passes(crew_url: str, tmp_path: Path, kind: str) -> None:
    """Before and after everything it asks of its connection, the signals and the answers."""
    killed_lives: list[str] = []
    with WorkerProcess(crew_url, tmp_path) as worker:
        worker.start(life="0000", kind=kind)
        point_counts: dict[str, int] = worker.wait_for_message("visited")
        worker.wait_until_finished()
        assert point_counts.keys() >= {
            f"{moment} {name}" for name in REQUIRED_POINTS[kind] for moment in ("before", "after")
        }
        names = sorted(CRITICAL_NAMES & REQUIRED_POINTS[kind])
        critical_points = [(f"{moment} {name}", 1) for name in names for moment in ("before", "after")]
        grid = list_passes(point_counts)
        for point, nth in select_points(grid, at_least=POINT_COUNTS[kind], by_day=critical_points):
            killed_lives.append(f"{len(killed_lives) + 1:04}")
            worker.start(life=killed_lives[-1], kind=kind, point=point, nth=nth)
            worker.wait_until_killed()
            audit(crew_url, tmp_path, killed=killed_lives)
        worker.start(life="9999", kind=kind)
        worker.wait_for_message("visited")
        worker.wait_until_finished()
    drain_and_audit(crew_url, tmp_path, killed=killed_lives)


@pytest.mark.parametrize("turn", range(10 if NIGHTLY else 1))
def test_writers_are_killed_at_random(crew_url: str, tmp_path: Path, turn: int) -> None:
    """Each after so many answers, wherever it is by then."""
    rng = random.Random(turn)
    killed_lives: list[str] = []
    with WorkerProcess(crew_url, tmp_path) as first_worker, WorkerProcess(crew_url, tmp_path) as second_worker:
        for _ in range(10 if NIGHTLY else 4):
            for worker in (first_worker, second_worker):
                killed_lives.append(f"{len(killed_lives):04}")
                worker.start(life=killed_lives[-1], kind="load", answers=rng.randrange(60))
            for worker in (first_worker, second_worker):
                worker.wait_for_message("warm")
                worker.kill()
            for worker in (first_worker, second_worker):
                worker.wait_until_killed()
            audit(crew_url, tmp_path, killed=killed_lives)
    drain_and_audit(crew_url, tmp_path, killed=killed_lives)
