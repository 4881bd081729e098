"""
Whoever writes may be killed at any instruction: what was answered is there, once, and nothing is there twice.
"""

import random
import time
from pathlib import Path

import pytest

from tests.faults.audit import audit, drain_and_audit
from tests.faults.conftest import NIGHTLY
from tests.faults.worker_process import WorkerProcess

#: what each way to write must pass besides its statements
REQUIRED_POINTS = {
    "sync": {"begin", "accounts/add", "commit", "signals"},
    "group": {"begin", "savepoint", "release", "rollback_to", "accounts/add", "commit", "signals", "answer"},
}


def test_a_writer_is_killed_at_every_point_it_passes(crew_url: str, tmp_path: Path) -> None:
    """
    Before and after everything it asks of its connection, the signals and the answers. At night at every time it
    passes, else at the first, around the commit also at the second; and then a group of verbs only there, or where a
    single verb does not pass.
    """
    killed_lives: list[str] = []
    known_points: set[str] = set()
    with WorkerProcess(crew_url, tmp_path) as worker:
        for kind, point_names in REQUIRED_POINTS.items():
            worker.start(life=f"0-{kind}", kind=kind)
            point_counts: dict[str, int] = worker.wait_for_message("visited")
            worker.wait_until_finished()
            required = {f"{moment} {point_name}" for point_name in point_names for moment in ("before", "after")}
            assert point_counts.keys() >= required
            for point, times in point_counts.items():
                if point in known_points - required and not NIGHTLY:
                    continue
                for nth in range(1, 1 + (times if NIGHTLY else min(times, 2 if point in required else 1))):
                    killed_lives.append(f"{len(killed_lives) + 1:04}")
                    worker.start(life=killed_lives[-1], kind=kind, point=point, nth=nth)
                    worker.wait_until_killed()
                    audit(crew_url, tmp_path, killed=killed_lives)
            known_points |= point_counts.keys()
        worker.start(life="9999", kind="sync")
        worker.wait_for_message("visited")
        worker.wait_until_finished()
    assert len(killed_lives) >= 75
    drain_and_audit(crew_url, tmp_path, killed=killed_lives)


@pytest.mark.parametrize("turn", range(10 if NIGHTLY else 1))
def test_writers_are_killed_at_random(crew_url: str, tmp_path: Path, turn: int) -> None:
    killed_lives: list[str] = []
    with WorkerProcess(crew_url, tmp_path) as first_worker, WorkerProcess(crew_url, tmp_path) as second_worker:
        for _ in range(10):
            for worker in (first_worker, second_worker):
                killed_lives.append(f"{len(killed_lives):04}")
                worker.start(life=killed_lives[-1], kind="load", answers=20 if NIGHTLY else 5)
            for worker in (first_worker, second_worker):
                worker.wait_for_message("warm")
            time.sleep(random.uniform(0, 0.1))  # not for anything: the moment of death
            first_worker.kill()
            time.sleep(random.uniform(0, 0.01))
            second_worker.kill()
            first_worker.wait_until_killed()
            second_worker.wait_until_killed()
            audit(crew_url, tmp_path, killed=killed_lives)
    drain_and_audit(crew_url, tmp_path, killed=killed_lives)
