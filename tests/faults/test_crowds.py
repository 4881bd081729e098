"""Many at once: what was answered is stored, what failed left nothing, and nobody hears of a collision."""

import random
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

from gatepost.actions import maintenance
from gatepost.app import open_store
from tests.faults import journal
from tests.faults.audit import audit, settle
from tests.faults.conftest import NIGHTLY
from tests.faults.hands import hands
from tests.faults.office import witness
from tests.faults.proxy import Cut, Proxy
from tests.servers import PATIENCE, until


def test_a_hundred_callers_whose_connections_are_cut(postgres_office: str, tmp_path: Path) -> None:
    """In two processes; cut at random, and at COMMIT before and after the server has done it."""
    fates = iter(random.sample([*Cut] * 20, 60))
    lock, spent = threading.Lock(), threading.Event()

    def fate() -> Cut:
        with lock:
            drawn = next(fates, None)
        if drawn is None:
            spent.set()
        return drawn or Cut.NOT

    with Proxy(postgres_office) as proxy, hands(2, proxy.url, tmp_path) as both:
        for number, hand in enumerate(both):
            hand.start(life=f"life-{number}", kind="crowd", callers=50)
        for hand in both:
            hand.heard("warm")
        proxy.at_commit = fate
        _terminate_at_random(postgres_office, 20)
        assert spent.wait(PATIENCE)
        for hand in both:
            hand.signal(signal.SIGTERM)
        for hand in both:
            hand.finished()

    assert proxy.cuts[Cut.BEFORE] == proxy.cuts[Cut.AFTER] == 20
    entries = [entry for life in journal.read(tmp_path, "journal").values() for entry in life]
    reasons = {entry["why"] for entry in entries if entry["word"] == "unavailable"}
    assert reasons
    assert not any("deadlock" in why or "busy" in why for why in reasons), reasons
    assert sum(entry["word"] == "refused" for entry in entries) > 100
    settle(postgres_office, tmp_path)


def _terminate_at_random(url: str, times: int) -> None:
    """Have the server end so many connections of Gatepost's, whatever they are doing."""
    terminate = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'gatepost' ORDER BY random() LIMIT 1"
    )
    ended = 0

    def enough() -> bool:
        nonlocal ended
        ended += len(ask(terminate))
        time.sleep(random.uniform(0, 0.03))  # not for anything: the moment of the cut
        return ended >= times

    with witness(url) as ask:
        until(enough, f"{times} connections were ended")


def test_eight_processes_share_one_file(sqlite_office: str, tmp_path: Path) -> None:
    """They push and drain as fast as they can, and whoever asks for the accounts meanwhile finds them balanced."""
    end = time.monotonic() + (60 if NIGHTLY else 15)
    with hands(8, sqlite_office, tmp_path) as eight:
        for number, hand in enumerate(eight):
            hand.start(life=f"life-{number}", kind="load")
        asked = 0
        with closing(open_store(sqlite_office)) as store:
            while time.monotonic() < end:
                accounts = store.query(maintenance.list_accounts)
                assert all(account.is_balanced for account in accounts), accounts
                asked += 1
        for hand in eight:
            hand.heard("warm")
            hand.signal(signal.SIGTERM)
        for hand in eight:
            hand.finished()
    assert asked > 10
    audit(sqlite_office, tmp_path)
    settle(sqlite_office, tmp_path)
