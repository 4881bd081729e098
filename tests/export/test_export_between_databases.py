"""From one database to another and back: every row arrives as it was, and everybody goes on from there."""

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict
from gatepost.export import export_actions as export
from gatepost.gates import gate_actions as gates
from gatepost.inbox import claim_actions as inbox, expiry_actions as expiry
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.plans import actions as plans
from gatepost.plans.plan import PlanStatus
from gatepost.residents.background.cycle_outcome import CycleFinished
from gatepost.residents.background.think_cycle import think
from gatepost.residents.runs import deferred_call_actions as deferred_calls, resume_actions as run_resume
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention
from tests.export.exports import AGENT_KEY, check_health, dump, export_lines, fill_store, import_lines
from tests.faults.conftest import NIGHTLY
from tests.residents.resident_runs import WaitingRun
from tests.residents.scripted_agent import ScriptedAgent, build_final_reply
from tests.support.servers.both_databases import KIT_OF_BOTH

POSTGRES_BY_NIGHT = True


def test_every_row_arrives_as_it_was_on_its_way_through_both_databases(empty_postgres_url: str) -> None:
    with Kit() as source, Kit(empty_postgres_url) as other, Kit() as third:
        fill_store(source)
        before = dump(source.url)
        assert {*before} == {*export.TABLES, export.COUNTERS, "schema_version"}, "a row in every table"
        lines = export_lines(source.store)
        import_lines(other.store, lines)
        assert dump(other.url) == before
        check_health(other.store)
        again = export_lines(other.store)
        assert sorted(again[1:-1]) == sorted(lines[1:-1])
        assert again[-1] == lines[-1]
        import_lines(third.store, again)
        assert dump(third.url) == before
        check_health(third.store)


class TestGoingOn:
    """A store that is filled on one database, and moved to each."""

    @pytest.fixture
    def moved(self, kit: Kit) -> tuple[Kit, WaitingRun]:
        with Kit(clock=kit.clock) as source:
            waiting_run = fill_store(source)
            import_lines(kit.store, export_lines(source.store))
        return kit, waiting_run

    def test_pending_items_keep_their_order_and_their_keys(self, moved: tuple[Kit, WaitingRun]) -> None:
        store = moved[0].store
        batch = store.run_sync(inbox.claim, "ana", owner="s-9")
        contents = [item.event.content for item in batch.items if item.event.source == "test"]
        assert contents == ["urgent", "to a team", "waits"]
        for key in ("k1", "k9", "team"):
            again = Push(to="ana", source="test", content="again", dedup_key=key)
            assert [one.duplicate for one in store.run_sync(push.push_event, again).deliveries] == [True]

    def test_a_claim_that_is_open_is_still_the_guests(self, moved: tuple[Kit, WaitingRun]) -> None:
        store = moved[0].store
        assert "being read" not in [
            item.event.content for item in store.run_sync(inbox.claim, "ben", owner="s-9").items
        ]
        moved[0].clock.advance("1 day")
        assert "being read" in [item.event.content for item in store.run_sync(inbox.claim, "ben", owner="s-8").items]

    def test_a_broadcast_reaches_who_has_not_taken_it_once(self, moved: tuple[Kit, WaitingRun]) -> None:
        store = moved[0].store
        assert [item.event.content for item in store.run_sync(inbox.claim, "cat", owner="s-9").items] == ["to all"]
        assert store.run_sync(inbox.claim, "cat", owner="s-8").claim is None

    async def test_a_resident_goes_on_with_the_step_it_was_at(self, moved: tuple[Kit, WaitingRun]) -> None:
        kit, waiting_run = moved
        agent = ScriptedAgent(kit, lambda *_: build_final_reply("It is on its way."), is_prepared=True)
        taken = await kit.store.run(run_resume.take_run, "thinker", "there")
        assert taken is not None
        assert taken.run_lease.run.id == waiting_run.run_id
        assert [step.number for step in taken.steps] == [1, 2, 3]
        assert isinstance(await think(agent.deps, taken), CycleFinished)
        shown = str(agent.model.requests[0].turns)
        assert "It began." in shown, "its mind"
        assert "Asked the warehouse about order 7." in shown, "the cycle before"
        assert "I ask the warehouse" in shown, "the steps of this one"
        kit.store.run_sync(deferred_calls.answer_call, waiting_run.run_id, waiting_run.call_id, {"sent": True})
        again = await kit.store.run(run_resume.take_run, "thinker", "there")
        assert again is not None
        assert isinstance(await think(agent.deps, again), CycleFinished)
        assert '"sent"' in str(agent.model.requests[-1].turns[-1]).replace("\\", "")
        check_health(kit.store)

    def test_gates_plans_webhooks_and_keys_work(self, moved: tuple[Kit, WaitingRun]) -> None:
        store = moved[0].store
        [gate] = [one for one in store.read_sync(gates.list_page, pending=True) if one.name == "Sign-off"]
        store.run_sync(gates.resolve, gate.id, by="husam")
        assert store.run_sync(plans.fire) == 1
        assert [one.name for one in store.read_sync(plans.list_page, status=PlanStatus.COMPLETED)] == ["then"]
        assert [one.active for one in store.read_sync(plans.list_page) if one.name == "never"] == [False]
        assert store.read_sync(webhooks.find_open_trigger, "issues").trigger.active
        assert store.read_sync(keys.find, AGENT_KEY) is not None
        assert store.run_sync(spaces.post, "q4-report", sender="husam", content="next").seq == 4

    def test_accounts_balance_and_stay_so(self, moved: tuple[Kit, WaitingRun]) -> None:
        store = moved[0].store
        check_health(store)
        moved[0].clock.advance("30 days")
        while (
            store.run_sync(expiry.lapse_claims) or store.run_sync(expiry.expire_items) or store.run_sync(retention.reap)
        ):
            pass
        check_health(store)


@KIT_OF_BOTH
def test_two_imports_at_once(kit: Kit) -> None:
    """One fills the store; the other finds it filled."""
    with Kit(clock=kit.clock) as source:
        fill_store(source)
        lines = export_lines(source.store)
        before = dump(source.url)
    assert kit.store.migrate()
    meeting = threading.Barrier(2)

    def import_once() -> str:
        meeting.wait()
        try:
            return str(import_lines(kit.store, lines).rows.total())
        except Conflict as error:
            return error.message

    with ThreadPoolExecutor(2) as pool:
        first, second = sorted(one.result() for one in [pool.submit(import_once) for _ in range(2)])
    assert (first, second) == (str(len(lines) - 2), "the store is not empty: it has sessions, events, broadcasts")
    assert dump(kit.url) == before


@KIT_OF_BOTH
def test_what_is_written_meanwhile_is_not_in_an_export(kit: Kit) -> None:
    fill_store(kit)
    lines: list[bytes] = []

    def write(line: bytes) -> None:
        if not lines:
            kit.open().run_sync(push.push_event, Push(to="ana", source="test", content="meanwhile"))
        lines.append(line)

    with Kit(clock=kit.clock) as other:
        kit.store.read_sync(export.export_store, write)
        assert b"meanwhile" not in b"".join(lines)
        import_lines(other.store, lines)
        check_health(other.store)


class TestManyRows:
    EVENTS = 500_000 if NIGHTLY else 12_000
    #: what an export or an import may take beyond what the process has when it begins, in MB
    MEMORY = 32 if NIGHTLY else 12

    def test_need_little_memory(self, tmp_path: Path) -> None:
        """An event and its item each, in processes of their own; the file is far larger than the memory they take."""
        with Kit() as source, Kit() as target:
            source.store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
            self.fill(source.url)
            file = tmp_path / "large.jsonl"
            assert self.measure("export", source.url, file) < self.MEMORY
            assert target.store.migrate()
            assert self.measure("import", target.url, file) < self.MEMORY
            assert file.stat().st_size > 2 * self.EVENTS * 300
            assert dump(target.url) == dump(source.url)
            check_health(target.store)

    def fill(self, url: str) -> None:
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as database:
            database.execute("BEGIN")
            database.execute(EVENTS, (self.EVENTS,))
            database.execute(ITEMS)
            database.execute("INSERT INTO accounts VALUES (1, ?, 0, 0, 0)", (self.EVENTS,))
            database.execute("UPDATE counters SET value = ? WHERE name = 'arrival'", (self.EVENTS,))
            database.execute("COMMIT")

    def measure(self, verb: str, url: str, file: Path) -> float:
        """Return how many MB more it takes at its peak than before."""
        process = subprocess.run(
            [sys.executable, "-c", MEASURED, verb, url, str(file)], capture_output=True, check=True, text=True
        )
        return float(process.stdout)


EVENTS = """
    WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
    INSERT INTO events (arrival, id, type, source, content, priority, created_at, hops, trust, dedup_key)
    SELECT
        number, 'evt_' || number, 'event', 'test', 'number ' || hex(randomblob(150)), 2, number, 0, 'member',
        'key ' || number
    FROM numbers
"""
ITEMS = """
    INSERT INTO pending (recipient, priority, is_from_machine, arrival, source, wakes, attempts, size, times)
    SELECT 1, 2, TRUE, arrival, 'test', TRUE, 0, 10, 1 FROM events
"""
MEASURED = """
import resource, sys
from gatepost.export import export_actions as export, import_actions as store_import
from gatepost.app import open_store

verb, url, file = sys.argv[1:]
store = open_store(url)
store.read_sync(lambda tx: tx.fetch_all("export/catalog/list_columns"))
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = peak()
with open(file, "wb" if verb == "export" else "rb") as stream:
    if verb == "export":
        store.read_sync(export.export_store, stream.write)
    else:
        store.run_sync(store_import.import_store, stream)
print(peak() - before)
store.close()
"""
