"""
Whoever writes may be killed at any instruction: what was answered is there, once, and nothing is there twice.
"""

import random
import time
from pathlib import Path

import pytest

from tests.faults.audit import audit, settle
from tests.faults.conftest import NIGHTLY
from tests.faults.hands import Hand

#: what each way to write must pass besides its statements
AROUND = {
    "sync": {"begin", "tallies/add", "commit", "bell"},
    "group": {"begin", "savepoint", "release", "rollback_to", "tallies/add", "commit", "bell", "answer"},
}


def test_a_writer_is_killed_at_every_point_it_passes(office: str, tmp_path: Path) -> None:
    """
    Before and after everything it asks of its connection, the bell and the answers. At night at every time it passes,
    else at the first, around the commit also at the second; and then a group of verbs only there, or where a single
    verb does not pass.
    """
    killed: list[str] = []
    known: set[str] = set()
    with Hand(office, tmp_path) as hand:
        for kind, around in AROUND.items():
            hand.start(life=f"0-{kind}", kind=kind)
            visited: dict[str, int] = hand.heard("visited")
            hand.finished()
            must = {f"{when} {what}" for what in around for when in ("before", "after")}
            assert visited.keys() >= must
            for point, times in visited.items():
                if point in known - must and not NIGHTLY:
                    continue
                for nth in range(1, 1 + (times if NIGHTLY else min(times, 2 if point in must else 1))):
                    killed.append(f"{len(killed) + 1:04}")
                    hand.start(life=killed[-1], kind=kind, point=point, nth=nth)
                    hand.died()
                    audit(office, tmp_path, killed=killed)
            known |= visited.keys()
        hand.start(life="9999", kind="sync")
        hand.heard("visited")
        hand.finished()
    assert len(killed) >= 75
    settle(office, tmp_path, killed=killed)


@pytest.mark.parametrize("turn", range(10 if NIGHTLY else 1))
def test_writers_are_killed_at_random(office: str, tmp_path: Path, turn: int) -> None:
    killed: list[str] = []
    with Hand(office, tmp_path) as left, Hand(office, tmp_path) as right:
        for _ in range(10):
            for hand in (left, right):
                killed.append(f"{len(killed):04}")
                hand.start(life=killed[-1], kind="load", answers=20 if NIGHTLY else 5)
            for hand in (left, right):
                hand.heard("warm")
            time.sleep(random.uniform(0, 0.1))  # not for anything: the moment of death
            left.kill()
            time.sleep(random.uniform(0, 0.01))
            right.kill()
            left.died()
            right.died()
            audit(office, tmp_path, killed=killed)
    settle(office, tmp_path, killed=killed)
