"""Many at once: what was answered is stored, what failed left nothing, and nobody hears of a collision."""

import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from gatepost.app import open_store
from gatepost.inbox import account_actions
from tests.faults.conftest import NIGHTLY
from tests.faults.crew_store import open_database
from tests.faults.stores import journal
from tests.faults.stores.audit import audit, drain_and_audit
from tests.faults.stores.proxy import CommitCut, Proxy
from tests.faults.stores.worker_process import start_workers
from tests.support.waits import LAST_RESORT


class CommitCuts:
    """Cuts so many connections at COMMIT, of each kind; tells how many commits there were."""

    def __init__(self, count: int) -> None:
        self._cuts = iter(random.sample([*CommitCut] * count, 3 * count))
        self._changed = threading.Condition()
        self.commit_count = 0
        self._is_spent = False

    def __call__(self) -> CommitCut:
        with self._changed:
            self.commit_count += 1
            cut = next(self._cuts, None)
            self._is_spent = cut is None
            self._changed.notify_all()
        return cut or CommitCut.NONE

    def wait_for_commits(self, count: int) -> None:
        """Return after so many more commits."""
        target = self.commit_count + count
        with self._changed:
            assert self._changed.wait_for(lambda: self.commit_count >= target, LAST_RESORT)

    def wait_until_spent(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._is_spent, LAST_RESORT)


def test_a_hundred_callers_whose_connections_are_cut(postgres_crew_url: str, tmp_path: Path) -> None:
    """In two processes; cut at random, and at COMMIT before and after the server has done it."""
    cut_count = 20 if NIGHTLY else 10
    cuts = CommitCuts(cut_count)
    with Proxy(postgres_crew_url) as proxy, start_workers(2, proxy.url, tmp_path) as workers:
        for number, worker in enumerate(workers):
            worker.start(life=f"life-{number}", kind="crowd", callers=50)
        for worker in workers:
            worker.wait_for_message("warm")
        proxy.decide_cut = cuts
        _terminate_at_random(postgres_crew_url, cut_count, cuts)
        cuts.wait_until_spent()
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait_until_finished()

    assert proxy.cut_counts[CommitCut.BEFORE] == proxy.cut_counts[CommitCut.AFTER] == cut_count
    entries = [entry for life_entries in journal.read_journals(tmp_path, "journal").values() for entry in life_entries]
    reasons = {entry["why"] for entry in entries if entry["word"] == "unavailable"}
    assert reasons
    assert not any("deadlock" in reason or "busy" in reason for reason in reasons), reasons
    assert sum(entry["word"] == "refused" for entry in entries) > 100
    drain_and_audit(postgres_crew_url, tmp_path)


def _terminate_at_random(url: str, count: int, cuts: CommitCuts) -> None:
    """Have the server end so many connections of Gatepost's, after some commits each, whatever they are doing then."""
    terminate_query = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND application_name = 'gatepost' ORDER BY random() LIMIT 1"
    )
    ended_count = 0
    with open_database(url) as query:
        while ended_count < count:
            cuts.wait_for_commits(random.randrange(5))
            ended_count += len(query(terminate_query))


def test_eight_processes_share_one_file(sqlite_crew_url: str, tmp_path: Path) -> None:
    """They push and drain as fast as they can, and whoever asks for the accounts meanwhile finds them balanced."""
    all_warm_event = threading.Event()
    read_count = 0

    def check_accounts() -> None:
        nonlocal read_count
        with closing(open_store(sqlite_crew_url)) as store:
            while not (all_warm_event.is_set() and read_count > 10):
                accounts = store.read_sync(account_actions.list_accounts)
                assert all(account.is_balanced for account in accounts), accounts
                read_count += 1

    with start_workers(8, sqlite_crew_url, tmp_path) as workers, ThreadPoolExecutor(1) as executor:
        for number, worker in enumerate(workers):
            worker.start(life=f"life-{number}", kind="load", answers=1_000 if NIGHTLY else 10)
        checking = executor.submit(check_accounts)
        try:
            for worker in workers:
                worker.wait_for_message("warm")
        finally:
            all_warm_event.set()
        checking.result()
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait_until_finished()
    assert read_count > 10
    audit(sqlite_crew_url, tmp_path)
    drain_and_audit(sqlite_crew_url, tmp_path)
