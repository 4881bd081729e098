"""Many at once: what was answered is stored, what failed left nothing, and nobody hears of a collision."""

import random
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

from gatepost.actions import upkeep
from gatepost.app import open_store
from tests.faults import journal
from tests.faults.audit import audit, settle
from tests.faults.conftest import NIGHTLY
from tests.faults.hands import Hand, hands
from tests.faults.office import witness
from tests.faults.proxy import Cut, Proxy


def test_a_hundred_callers_whose_connections_are_cut(postgres_office: str, tmp_path: Path) -> None:
    """In two processes; cut at random, and at COMMIT before and after the server has done it."""
    fates = iter([random.choice(list(Cut)) for _ in range(60)])
    lock = threading.Lock()

    def fate() -> Cut:
        with lock:
            return next(fates, Cut.NOT)

    with Proxy(postgres_office) as proxy, Hand(proxy.url, tmp_path) as left, Hand(proxy.url, tmp_path) as right:
        left.start(life="left", kind="crowd", callers=50, calls=20)
        right.start(life="right", kind="crowd", callers=50, calls=20)
        left.heard("warm")
        right.heard("warm")
        proxy.at_commit = fate
        terminated = _terminate_at_random(postgres_office, 20)
        left.finished()
        right.finished()

    assert proxy.cuts[Cut.BEFORE] > 5
    assert proxy.cuts[Cut.AFTER] > 5
    assert terminated > 5
    entries = [entry for life in journal.read(tmp_path, "journal").values() for entry in life]
    reasons = {entry["why"] for entry in entries if entry["word"] == "unavailable"}
    assert reasons
    assert not any("deadlock" in why or "busy" in why for why in reasons), reasons
    assert sum(entry["word"] == "refused" for entry in entries) > 100
    settle(postgres_office, tmp_path)


def _terminate_at_random(url: str, times: int) -> int:
    """Have the server end connections of Gatepost's; return how many."""
    terminate = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'gatepost' ORDER BY random() LIMIT 1"
    )
    with witness(url) as ask:
        ended = 0
        for _ in range(times):
            ended += len(ask(terminate))
            time.sleep(random.uniform(0, 0.03))  # not for anything: the moment of the cut
        return ended


def test_eight_processes_share_one_file(sqlite_office: str, tmp_path: Path) -> None:
    """They push and drain as fast as they can, and whoever asks for the accounts meanwhile finds them balanced."""
    until = time.monotonic() + (60 if NIGHTLY else 15)
    with hands(8, sqlite_office, tmp_path) as eight:
        for number, hand in enumerate(eight):
            hand.start(life=f"life-{number}", kind="load")
        asked = 0
        with closing(open_store(sqlite_office)) as store:
            while time.monotonic() < until:
                accounts = store.look(upkeep.accounts)
                assert all(account.balanced for account in accounts), accounts
                asked += 1
        for hand in eight:
            hand.heard("warm")
            hand.signal(signal.SIGTERM)
        for hand in eight:
            hand.finished()
    assert asked > 10
    audit(sqlite_office, tmp_path)
    settle(sqlite_office, tmp_path)
