"""Background duties: leases, jobs, the janitor, and the loop they share."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from gatepost.core.ports import Reader, Store, Transaction
from gatepost.core.signals import Signal, Topic, TransportMessage
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Unavailable
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Priority, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.jobs import job_actions as jobs, job_runner_background as runner, lease_actions as leases
from gatepost.jobs.job import MAX_JOB_ATTEMPTS, Job, compute_job_delay
from gatepost.jobs.periodic_duty_background import Duty, run_duties
from gatepost.testing import Kit
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker import janitor
from tests.support.servers.private_servers import wait_until_async
from tests.support.waits import LAST_RESORT


async def test_a_duty_leaves_the_random_numbers_of_the_program_alone() -> None:
    """A program that seeds the global generator gets its own numbers, whatever runs beside it."""
    done, state = asyncio.Event(), random.getstate()

    async def finish() -> None:
        done.set()

    async with run_duties([Duty("once", finish, interval=0.01)]), asyncio.timeout(LAST_RESORT):
        await done.wait()
    assert random.getstate() == state


@pytest.fixture
def store(kit: Kit) -> Store:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    for name in ("analyst", "designer"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    return kit.store


def push_event(store: Store, to: str = "analyst", **fields: object) -> str:
    return store.run_sync(push_actions.push_event, Push(to=to, source="test", content="hello", **fields)).event  # type: ignore[arg-type]


class TestLeases:
    def test_one_holder_at_a_time(self, kit: Kit, store: Store) -> None:
        first = store.run_sync(leases.take, "agent:analyst", "a", 30 * SECOND)
        assert first is not None
        assert store.run_sync(leases.take, "agent:analyst", "b", 30 * SECOND) is None
        kit.clock.advance("31s")
        second = store.run_sync(leases.take, "agent:analyst", "b", 30 * SECOND)
        assert second is not None
        assert second.fence > first.fence
        assert not store.run_sync(leases.release, first), "the late one has nothing to give back"
        assert store.run_sync(leases.take, "agent:analyst", "a", 30 * SECOND) is None

    def test_it_can_be_read_whether_it_could_be_taken(self, kit: Kit, store: Store) -> None:
        def is_taken(holder: str) -> bool:
            return store.read_sync(leases.is_held_by_another, "x", holder, 30 * SECOND)

        assert not is_taken("a")
        lease = store.run_sync(leases.take, "x", "a", 30 * SECOND)
        assert lease is not None
        assert [is_taken("a"), is_taken("b")] == [False, True]
        kit.clock.set_back("2 hours")
        assert not is_taken("b"), "it was taken in the future"
        kit.clock.advance(2 * HOUR + 31 * SECOND)
        assert not is_taken("b")
        kit.clock.set_back("31s")
        assert is_taken("b")
        store.run_sync(leases.release, lease)
        assert not is_taken("b")

    def test_renewing_keeps_the_fence_and_lapsing_does_not(self, kit: Kit, store: Store) -> None:
        fences = []
        for length in ("10s", "10s", "40s"):
            lease = store.run_sync(leases.take, "x", "a", 30 * SECOND)
            assert lease is not None
            fences.append(lease.fence)
            kit.clock.advance(length)
        lease = store.run_sync(leases.take, "x", "a", 30 * SECOND)
        assert lease is not None
        assert fences == [1, 1, 1]
        assert lease.fence == 2, "somebody else may have had it meanwhile"

    def test_what_is_given_back_is_free_and_the_fence_goes_on(self, store: Store) -> None:
        lease = store.run_sync(leases.take, "x", "a", DAY)
        assert lease is not None
        assert store.run_sync(leases.release, lease)
        new_lease = store.run_sync(leases.take, "x", "b", DAY)
        assert new_lease is not None
        assert new_lease.fence == lease.fence + 1


class TestJobs:
    def test_a_job_is_kept_if_and_only_if_the_verb_was(self, kit: Kit, store: Store) -> None:
        def add_and_fail(tx: Transaction) -> None:
            jobs.add(tx, "send", {"to": "x"})
            raise Conflict("no")

        with pytest.raises(Conflict):
            store.run_sync(add_and_fail)
        assert store.run_sync(jobs.take, ["send"], "me") == []
        id = store.run_sync(jobs.add, "send", {"to": "x"})
        assert Signal(Topic("job", "send"), "job") in kit.signal_sink.signals
        [job] = store.run_sync(jobs.take, ["send"], "me")
        assert (job.id, job.payload, job.attempts) == (id, {"to": "x"}, 0)

    def test_one_runner_has_it_until_its_time_is_over(self, kit: Kit, store: Store) -> None:
        store.run_sync(jobs.add, "send", None)
        [first] = store.run_sync(jobs.take, ["send"], "a", hold=MINUTE)
        assert store.run_sync(jobs.take, ["send"], "b") == []
        kit.clock.advance("61s")
        [second] = store.run_sync(jobs.take, ["send"], "b")
        assert second.attempts == 1
        with pytest.raises(Conflict):
            store.run_sync(jobs.complete, first.id, "a")
        store.run_sync(jobs.complete, second.id, "b")
        kit.clock.advance("1d")
        assert store.run_sync(jobs.take, ["send"], "c") == []

    def test_pauses_grow_and_the_end_is_told(self, kit: Kit, store: Store) -> None:
        store.run_sync(jobs.add, "send", None)
        for attempt in range(MAX_JOB_ATTEMPTS):
            [job] = store.run_sync(jobs.take, ["send"], "me")
            assert job.attempts == attempt
            store.run_sync(jobs.fail, job, "me", "no route")
            assert store.run_sync(jobs.take, ["send"], "me") == []
            kit.clock.advance(compute_job_delay(attempt))
        assert store.run_sync(jobs.take, ["send"], "me") == []
        [alert] = store.read_sync(inbox.peek, "admin")
        assert "gave up on send" in alert.event.content
        assert "no route" in alert.event.content

    async def test_the_runner_does_each_and_tries_again_what_failed(self, kit: Kit, store: Store) -> None:
        sent_payloads: list[str] = []

        async def send(job: Job) -> None:
            sent_payloads.append(job.payload)
            if job.payload == "later" and job.attempts == 0:
                raise runner.RetryLater("busy", 5 * SECOND)
            if job.payload == "broken" and job.attempts == 0:
                raise ValueError("broken")

        for payload in ("good", "later", "broken"):
            store.run_sync(jobs.add, "send", payload)
        store.run_sync(jobs.add, "other", "not ours")
        assert await runner.run_due_jobs(store, {"send": send}, "me") == 1.0
        assert sorted(sent_payloads) == ["broken", "good", "later"]
        kit.clock.advance("1s")
        assert await runner.run_due_jobs(store, {"send": send}, "me") == 4.0
        kit.clock.advance("4s")
        assert await runner.run_due_jobs(store, {"send": send}, "me") is None
        assert sorted(sent_payloads) == ["broken", "broken", "good", "later", "later"]

    async def test_a_short_hold_is_renewed_while_the_job_runs(self, kit: Kit, store: Store) -> None:
        """A job that takes long stays with its runner; one of a process that was killed is free soon."""
        hold = SECOND // 50

        async def is_held() -> bool:
            due_at = await store.read(jobs.find_next_due, ["send"])
            return due_at is not None and due_at > await store.read(lambda tx: tx.now)

        async def send(_: Job) -> None:
            kit.clock.advance(2 * hold)
            await wait_until_async(is_held, "the hold is renewed")
            assert store.run_sync(jobs.take, ["send"], "another") == []

        store.run_sync(jobs.add, "send", None)
        assert await runner.run_due_jobs(store, {"send": send}, "me", hold=hold) is None

    async def test_a_job_wakes_the_duty_of_its_kind_and_no_other(self, kit: Kit, store: Store) -> None:
        """Each duty has had its first round, and would not look again for an hour."""
        bus, names = SignalBus(), ("jobs", "voices", "channel-sender", "ledger-jobs")
        app = kit.open(signal_sink=bus.on_commit)
        done: list[str] = []

        async def note(job: Job) -> None:
            done.append(job.kind)

        duties = [
            runner.build_job_duty(name, app, {f"of-{name}": note}, "me", interval=3600, is_leased="-" in name)
            for name in names
        ]

        async def wait_for_rounds(total: int) -> None:
            async def are_over() -> bool:
                return sum(duty.rounds for duty in duties) >= total

            await wait_until_async(are_over, f"{total} rounds are over")

        async with bus.open(), AsyncExitStack() as stack:
            for duty in duties:
                stack.enter_context(bus.subscribe(duty.on_signal, duty.name))
            await stack.enter_async_context(run_duties(duties))
            for number, name in enumerate(names):
                await wait_for_rounds(len(names) + number)
                await app.run(jobs.add, f"of-{name}", None)
            await wait_for_rounds(2 * len(names))
        assert done == [f"of-{name}" for name in names]
        assert [duty.rounds for duty in duties] == [2, 2, 2, 2]

    async def test_nothing_is_written_if_nothing_is_due(self, store: Store) -> None:
        async def send(_: Job) -> None:
            raise AssertionError("it is not due")

        job = store.run_sync(jobs.add, "send", None)
        store.run_sync(jobs.take, ["send"], "another")
        before = store.commit_count
        wait = await runner.run_due_jobs(store, {"send": send}, "me")
        assert wait is not None
        assert wait > 0, "until the other has had it for too long"
        store.run_sync(jobs.complete, job, "another")
        assert await runner.run_due_jobs(store, {"send": send}, "me") is None
        assert store.commit_count == before + 1


class TestJanitor:
    async def tidy_and_list_signals(self, store: Store) -> list[str]:
        signals: list[TransportMessage] = []
        bus = SignalBus()
        async with bus.open():
            with bus.subscribe(signals.append):
                await janitor.run_janitor_round(store)
                await janitor.resend_signals(store, bus.dispatch)
        return sorted(signal.topic.recipient for signal in signals if isinstance(signal, Signal))

    async def test_a_lost_signal_is_made_up_for(self, store: Store) -> None:
        push_event(store)
        assert await self.tidy_and_list_signals(store) == ["analyst"]
        assert await self.tidy_and_list_signals(store) == ["analyst"], "until somebody acts on it"
        batch = store.run_sync(inbox.claim, "analyst", owner="me")
        assert batch.claim is not None
        store.run_sync(inbox.ack, batch.claim.id, owner="me", fence=batch.claim.fence)
        assert await self.tidy_and_list_signals(store) == []

    async def test_nobody_is_rung_for_who_is_at_work_or_a_person_or_retired(self, store: Store) -> None:
        for name in ("analyst", "designer", "admin"):
            push_event(store, name)
        store.run_sync(leases.take, "agent:analyst", "somebody", MINUTE)
        store.run_sync(directory.retire, "designer")
        assert await self.tidy_and_list_signals(store) == []

    async def test_an_fyi_wakes_only_after_its_time(self, kit: Kit, store: Store) -> None:
        push_event(store, priority=Priority.FYI)
        assert await self.tidy_and_list_signals(store) == []
        kit.clock.advance("24h")
        assert await self.tidy_and_list_signals(store) == ["analyst"]

    async def test_a_broadcast_that_was_not_taken_is_rung_for(self, store: Store) -> None:
        push_event(store, "*")
        assert await self.tidy_and_list_signals(store) == ["analyst", "designer"]
        store.run_sync(inbox.claim, "analyst", owner="me")
        assert await self.tidy_and_list_signals(store) == ["designer"]

    async def test_it_keeps_house(self, kit: Kit, store: Store) -> None:
        push_event(store, ttl=MINUTE)
        push_event(store)
        store.run_sync(inbox.claim, "designer", owner="me")
        store.run_sync(inbox.claim, "analyst", owner="me", hold=SECOND, limit=1)
        kit.clock.advance("2m")
        await self.tidy_and_list_signals(store)
        [_, account, _] = store.read_sync(account_actions.list_accounts)
        assert account.is_balanced
        assert (account.claimed, account.expired, account.pending) == (0, 1, 1)
        kit.clock.advance("2d")
        await self.tidy_and_list_signals(store)
        assert len(store.read_sync(inbox.list_page)) == 1, "what had expired is forgotten"
        assert store.read_sync(account_actions.list_accounts)[1].is_balanced


class CountedRounds:
    """A round whose beginnings can be waited for."""

    def __init__(self, action: Callable[[int], Awaitable[float | None]]) -> None:
        self.count = 0
        self._action = action
        self._started = asyncio.Condition()

    async def __call__(self) -> float | None:
        self.count += 1
        async with self._started:
            self._started.notify_all()
        return await self._action(self.count)

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(LAST_RESORT), self._started:
            await self._started.wait_for(lambda: self.count >= count)


class TestDuty:
    async def test_it_is_done_again_when_woken_and_when_it_asks(self) -> None:
        async def run_round(count: int) -> float | None:
            return 0.0 if count == 1 else None

        rounds = CountedRounds(run_round)
        duty = Duty("test", rounds, interval=3600)
        async with run_duties([duty]):
            await rounds.wait(2)
            duty.wake()
            await rounds.wait(3)
        assert rounds.count == duty.rounds == 3

    async def test_it_outlives_what_goes_wrong(self) -> None:
        async def run_round(count: int) -> float | None:
            if count == 1:
                raise Unavailable("the store is away")
            if count == 2:
                raise ZeroDivisionError
            return None

        rounds = CountedRounds(run_round)
        duty = Duty("test", rounds, interval=0.001)
        async with run_duties([duty]):
            await rounds.wait(3)
        assert duty.rounds >= 1

    async def test_stopping_finishes_the_round_under_way(self) -> None:
        started, may_finish, is_finished = asyncio.Event(), asyncio.Event(), False

        async def run_round(_: int) -> float | None:
            nonlocal is_finished
            started.set()
            await may_finish.wait()
            is_finished = True
            return None

        duty = Duty("test", CountedRounds(run_round), interval=3600)
        task = asyncio.create_task(duty.run())
        await started.wait()
        duty.stop()
        assert not task.done()
        may_finish.set()
        await asyncio.wait_for(task, LAST_RESORT)
        assert is_finished

    async def test_one_process_leads_and_another_takes_over(self, kit: Kit, store: Store) -> None:
        holders: list[str] = []

        def create_duty(holder: str) -> tuple[CountedRounds, Duty]:
            async def run_round(_: int) -> float | None:
                holders.append(holder)
                return None

            rounds = CountedRounds(run_round)
            return rounds, Duty("test", rounds, interval=0.001, store=store, holder=holder)

        (first_rounds, first_duty), (second_rounds, second_duty) = create_duty("first"), create_duty("second")
        async with run_duties([first_duty]):
            await first_rounds.wait(1)
            async with run_duties([second_duty]):
                await first_rounds.wait(first_rounds.count + 3)
                assert "second" not in holders
                first_duty.stop()  # and gives the lease back
                await second_rounds.wait(1)

    async def test_a_leader_is_only_needed_when_work_is_due(self, store: Store) -> None:
        waits: list[float | None] = [None, 0.001, 0.0]

        async def run_round(_: int) -> float | None:
            return None

        rounds, before = CountedRounds(run_round), store.commit_count
        find_wait = lambda _: waits.pop(0) if waits else None  # noqa: E731 (a query)
        duty = Duty("test", rounds, interval=0.001, store=store, holder="me", find_wait=find_wait)
        task = asyncio.create_task(duty.run())
        await rounds.wait(1)
        duty.stop()
        await asyncio.wait_for(task, LAST_RESORT)
        assert rounds.count == 1
        assert store.commit_count == before + 2, "the lease was taken once, and given back"

    async def test_a_reader_cannot_write(self, store: Store) -> None:
        def write_from_reader(tx: Reader) -> None:
            jobs.add(tx, "send", None)  # type: ignore[arg-type]

        with pytest.raises(Exception, match=r"(?i)read-only|readonly|cannot execute"):
            await store.read(write_from_reader)
