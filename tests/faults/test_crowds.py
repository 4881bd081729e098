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
from tests.faults.audit import audit, drain_and_audit
from tests.faults.conftest import NIGHTLY
from tests.faults.crew_store import open_database
from tests.faults.proxy import CommitCut, Proxy
from tests.faults.worker_process import start_workers
from tests.servers import WAIT_TIMEOUT, wait_until


def test_a_hundred_callers_whose_connections_are_cut(postgres_crew_url: str, tmp_path: Path) -> None:
    """In two processes; cut at random, and at COMMIT before and after the server has done it."""
    cuts = iter(random.sample([*CommitCut] * 20, 60))
    lock, spent_event = threading.Lock(), threading.Event()

    def decide_cut() -> CommitCut:
        with lock:
            cut = next(cuts, None)
        if cut is None:
            spent_event.set()
        return cut or CommitCut.NONE

    with Proxy(postgres_crew_url) as proxy, start_workers(2, proxy.url, tmp_path) as workers:
        for number, worker in enumerate(workers):
            worker.start(life=f"life-{number}", kind="crowd", callers=50)
        for worker in workers:
            worker.wait_for_message("warm")
        proxy.decide_cut = decide_cut
        _terminate_at_random(postgres_crew_url, 20)
        assert spent_event.wait(WAIT_TIMEOUT)
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait_until_finished()

    assert proxy.cut_counts[CommitCut.BEFORE] == proxy.cut_counts[CommitCut.AFTER] == 20
    entries = [entry for life_entries in journal.read_journals(tmp_path, "journal").values() for entry in life_entries]
    reasons = {entry["why"] for entry in entries if entry["word"] == "unavailable"}
    assert reasons
    assert not any("deadlock" in reason or "busy" in reason for reason in reasons), reasons
    assert sum(entry["word"] == "refused" for entry in entries) > 100
    drain_and_audit(postgres_crew_url, tmp_path)


def _terminate_at_random(url: str, count: int) -> None:
    """Have the server end so many connections of Gatepost's, whatever they are doing."""
    terminate_query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'gatepost' ORDER BY random() LIMIT 1"
    )
    ended_count = 0

    def terminate_one() -> bool:
        nonlocal ended_count
        ended_count += len(query(terminate_query))
        time.sleep(random.uniform(0, 0.03))  # not for anything: the moment of the cut
        return ended_count >= count

    with open_database(url) as query:
        wait_until(terminate_one, f"{count} connections were ended")


def test_eight_processes_share_one_file(sqlite_crew_url: str, tmp_path: Path) -> None:
    """They push and drain as fast as they can, and whoever asks for the accounts meanwhile finds them balanced."""
    deadline = time.monotonic() + (60 if NIGHTLY else 15)
    with start_workers(8, sqlite_crew_url, tmp_path) as workers:
        for number, worker in enumerate(workers):
            worker.start(life=f"life-{number}", kind="load")
        read_count = 0
        with closing(open_store(sqlite_crew_url)) as store:
            while time.monotonic() < deadline:
                accounts = store.read_sync(maintenance.list_accounts)
                assert all(account.is_balanced for account in accounts), accounts
                read_count += 1
        for worker in workers:
            worker.wait_for_message("warm")
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait_until_finished()
    assert read_count > 10
    audit(sqlite_crew_url, tmp_path)
    drain_and_audit(sqlite_crew_url, tmp_path)
