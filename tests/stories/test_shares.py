"""What one entity may have of plans, gates and broadcasts, and which repositories its gates may ask about (X6)."""

import asyncio
import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Row, Store, Transaction
from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, LimitReached, Refused
from gatepost.executor import load_operations
from gatepost.gates import condition_check_background, decision_actions as decisions, gate_actions as gates
from gatepost.gates.condition_check import CommandResult
from gatepost.gates.condition_check_background import GateCommandOptions
from gatepost.gates.decision import Question
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.gateway.dispatch import Dispatcher
from gatepost.gateway.http_exchange import CallerLocks
from gatepost.inbox.event import Push, PushResult
from gatepost.inbox.push import actions as push_actions
from gatepost.inbox.push.api import PushEvents
from gatepost.operations.access import Caller, CallerKind
from gatepost.plans import actions as plans
from gatepost.stores.call_queues import WriteQueue
from gatepost.stores.group_commit import CallOutcome, PendingCall
from gatepost.testing import Kit
from gatepost.testing.conformance.fixtures import yield_to_loop
from tests.plans.plan_specs import parse_spec
from tests.support.store_context import StoreContext
from tests.support.waits import LAST_RESORT

SMALL_POLICY = Policy(plans=2, gates=2, broadcasts=2, allowed_repositories=["acme/shop"])


@pytest.fixture
def store(ctx: StoreContext) -> Store:
    """The same house, where nobody may have more than two of anything."""
    return ctx.kit.open(policy=SMALL_POLICY)


class TestPlans:
    def set_plan(self, store: Store, owner: str = "ann", **fields: str) -> str:
        return store.run_sync(
            plans.set_plan, owner, parse_spec({"name": "p", "instruction": "x", "runAfter": "1h", **fields})
        ).id

    def test_pending_ones_are_limited_for_each_owner(self, store: Store, ctx: StoreContext) -> None:
        first, second = self.set_plan(store), self.set_plan(store)
        with pytest.raises(LimitReached) as error:
            self.set_plan(store)
        assert error.value.message == "'ann' has 2 pending plans already, the limit for one entity"
        assert error.value.hint == "delete some, or raise limits.plans"
        self.set_plan(store, "bob")
        store.run_sync(plans.set_plan, "ann", parse_spec({"id": first, "name": "another name", "runAfter": "2h"}))
        store.run_sync(plans.delete, second, owner="ann")
        self.set_plan(store)

    def test_one_that_is_set_again_counts_again(self, store: Store, ctx: StoreContext) -> None:
        first = self.set_plan(store, runAfter="1m")
        ctx.clock.advance(MINUTE)
        assert store.run_sync(plans.fire) == 1
        self.set_plan(store)
        self.set_plan(store)
        with pytest.raises(LimitReached, match="pending plans"):
            store.run_sync(plans.set_plan, "ann", parse_spec({"id": first, "runAfter": "1h"}))
        store.run_sync(plans.set_plan, "ann", parse_spec({"id": first, "name": "a name"}))


class TestGates:
    def test_pending_ones_are_limited_and_decisions_count(self, store: Store) -> None:
        spec = GateSpec(name="rest", owner="ann", kind=GateKind.TIMER, within=HOUR)
        gate = store.run_sync(gates.add, spec, by="ann")
        store.run_sync(decisions.ask, Question(question="Ship it?", free_text=True, respondents=("husam",)), by="ann")
        for call in (
            lambda: store.run_sync(gates.add, spec, by="admin"),
            lambda: store.run_sync(
                decisions.ask, Question(question="Now?", free_text=True, respondents=("husam",)), by="ann"
            ),
        ):
            with pytest.raises(LimitReached) as error:
                call()
            assert error.value.message == "'ann' has 2 pending gates and decisions already, the limit for one entity"
            assert error.value.hint == "resolve or withdraw some, or raise limits.gates"
        store.run_sync(gates.add, spec, by=None)
        store.run_sync(gates.withdraw, gate.id, by="ann")
        assert len(store.read_sync(gates.list_page, owner="ann", pending=True)) == 2


class TestBroadcasts:
    def push_broadcast(
        self, store: Store, sender: str | None = "ann", key: str | None = None
    ) -> push_actions.PushOutcome:
        [outcome] = store.run_sync(
            push_actions.push_all, [Push(to="*", source="test", sender=sender, content="hear", dedup_key=key)]
        )
        return outcome

    def test_a_day_has_so_many(self, store: Store, ctx: StoreContext) -> None:
        ctx.push_event("first", to="*", sender="ann", dedup_key="k")
        ctx.clock.advance(HOUR)
        assert not isinstance(self.push_broadcast(store), GatepostError)
        outcome = self.push_broadcast(store)
        assert isinstance(outcome, LimitReached)
        assert outcome.message == "'ann' has made 2 broadcasts in the last 24 hours, the limit for one entity"
        assert "limits.broadcasts" in (outcome.hint or "")
        repeat = self.push_broadcast(store, key="k")
        assert not isinstance(repeat, GatepostError)
        assert repeat.duplicate
        assert not isinstance(self.push_broadcast(store, "bob"), GatepostError)
        ctx.clock.advance(DAY - HOUR)
        assert not isinstance(self.push_broadcast(store), GatepostError)
        assert isinstance(self.push_broadcast(store), LimitReached)

    def test_a_batch_is_refused_from_the_first_that_is_too_many(self, store: Store, ctx: StoreContext) -> None:
        pushes = [Push(to="*", source="test", sender="ann", content=str(n)) for n in range(4)]
        outcomes = store.run_sync(push_actions.push_all, [*pushes, Push(to="bob", source="test", sender="ann")])
        assert [isinstance(outcome, LimitReached) for outcome in outcomes] == [False, False, True, True, False]
        assert ctx.list_waiting("bob") == ["0", "1", ""]

    def test_what_nobody_sends_is_not_counted(self, store: Store) -> None:
        assert not any(isinstance(self.push_broadcast(store, None), GatepostError) for _ in range(3))


class TestRepositories:
    @pytest.mark.parametrize("by", ["ann", "admin"])
    @pytest.mark.parametrize(
        ("awaits", "message", "hint"),
        [
            (
                "run:7@acme/bank",
                "`ci` gates may not ask about the repository 'acme/bank': it is not in gates.ci",
                'add "acme/bank" to gates.ci in gatepost.toml',
            ),
            ("pr:7", "'pr:7' names no repository", "write pr:7@OWNER/NAME, and list the repository in gates.ci"),
        ],
    )
    def test_only_those_on_the_list(self, store: Store, by: str, awaits: str, message: str, hint: str) -> None:
        with pytest.raises(Refused) as error:
            store.run_sync(gates.add, GateSpec(name="CI", kind=GateKind.CI, awaits=awaits, owner="ann"), by=by)
        assert (error.value.message, error.value.hint) == (message, hint)
        allowed_spec = GateSpec(name="CI", kind=GateKind.CI, awaits="run:7@Acme/Shop", owner="ann")
        assert store.run_sync(gates.add, allowed_spec, by=by).is_pending

    def test_none_is_on_it_by_default(self, ctx: StoreContext) -> None:
        with pytest.raises(Refused, match=r"gates\.ci"):
            ctx.store.run_sync(gates.add, GateSpec(name="CI", kind=GateKind.CI, awaits="run:7@a/b"), by="ann")


class CountingCommands:
    """Commands that note whom they were run for, and let a run go on and on."""

    def __init__(self) -> None:
        self.run_ids: list[str] = []

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        assert not isinstance(command, str)
        self.run_ids.append(command[3])
        return CommandResult(code=0, stdout='{"status": "in_progress"}')


class TestTurns:
    def add_gates(self, store: Store, owner: str, *runs: int) -> None:
        for run in runs:
            spec = GateSpec(name="CI", owner=owner, kind=GateKind.CI, awaits=f"run:{run}@acme/shop")
            store.run_sync(gates.add, spec, by="admin")

    def check_gates(self, store: Store, *repositories: str) -> list[str]:
        commands = CountingCommands()
        asyncio.run(
            condition_check_background.check_gates(
                store, GateCommandOptions(commands=commands, repositories=repositories)
            )
        )
        return commands.run_ids

    @pytest.fixture
    def store(self, ctx: StoreContext) -> Store:
        return ctx.kit.open(policy=Policy(allowed_repositories=["acme/shop"]))

    def test_many_gates_of_one_do_not_starve_another(self, store: Store) -> None:
        self.add_gates(store, "ann", *range(41))
        self.add_gates(store, "bob", 100)
        run_ids = self.check_gates(store, "acme/shop")
        assert sorted(run_ids, key=int) == [*map(str, range(41)), "100"]
        assert "100" in run_ids[:8]

    @pytest.mark.parametrize("plan", ["enable_hashjoin", "enable_nestloop", "enable_mergejoin"])
    def test_no_more_than_the_limit_is_taken_whatever_the_plan(self, empty_postgres_url: str, plan: str) -> None:
        """PostgreSQL may run a subquery again for each row; what it has locked by then, it skips."""
        settings = [f"{name}%3Doff" for name in ("enable_hashagg", "enable_sort", "enable_material", plan)]
        with Kit(f"{empty_postgres_url}?options=" + "%20".join(f"-c{setting}" for setting in settings)) as kit:
            store = kit.open(policy=Policy(allowed_repositories=["acme/shop"]))
            for name, kind in (("ann", EntityKind.AGENT), ("admin", EntityKind.HUMAN)):
                store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
            self.add_gates(store, "ann", *range(41))
            assert len(store.run_sync(gates.take_due_checks, timeout=MINUTE, limit=8, after="")) == 8

    def test_owners_take_turns_however_many_they_are(self, store: Store, ctx: StoreContext) -> None:
        owners = [f"agent-{number:02}" for number in range(10)]
        for owner in owners:
            ctx.register(owner)
            self.add_gates(store, owner, *(int(owner[-2:]) * 100 + run for run in range(4)))
        ctx.clock.advance(1)
        self.add_gates(store, "bob", 9_999)
        assert "9999" in self.check_gates(store, "acme/shop")[:16]

    def test_a_repository_that_is_no_longer_on_the_list_is_not_asked_about(
        self, store: Store, ctx: StoreContext
    ) -> None:
        self.add_gates(store, "ann", 7)
        assert self.check_gates(store, "acme/site") == []
        [gate] = store.read_sync(gates.list_page, owner="ann")
        reason = "`ci` gates may not ask about the repository 'acme/shop': it is not in gates.ci"
        assert (gate.is_pending, gate.trouble) == (True, reason)
        assert reason in ctx.list_waiting("ann")[0]


class WaitingStore:
    """A store that notes what it is to write, and does so when it is told to."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.may_continue = asyncio.Event()

    async def read(self, *_: object) -> None:
        pass

    async def run(self, _: object, pushes: Sequence[Push], *, lane: str) -> list[push_actions.PushOutcome]:
        self.started.append(pushes[0].content)
        await self.may_continue.wait()
        return [PushResult("evt_1") for _ in pushes]


def build_request(to: str, content: str) -> PushEvents:
    return PushEvents(pushes=(msgspec.Raw(msgspec.json.encode({"to": to, "content": content})),) * 2)


def build_caller(name: str) -> Caller:
    return Caller(CallerKind.ENTITY, name)


class TestWriters:
    async def test_each_caller_has_one_large_batch_under_way(self) -> None:
        store = WaitingStore()
        ctx: Any = SimpleNamespace(store=store, caller_locks=CallerLocks())
        dispatcher = Dispatcher(ctx)
        load_operations()
        batches = [("ann", "team:red"), ("ann", "team:red"), ("bob", "team:red"), ("ann", "bob")]
        tasks = [
            asyncio.create_task(dispatcher.run(build_request(to, f"{name} to {to} {number}"), build_caller(name)))
            for number, (name, to) in enumerate(batches)
        ]
        await yield_to_loop()
        assert sorted(store.started) == ["ann to bob 3", "ann to team:red 0", "bob to team:red 2"]
        store.may_continue.set()
        await asyncio.gather(*tasks)
        assert store.started[3:] == ["ann to team:red 1"]

    def test_few_pushes_to_teams_share_a_transaction(self) -> None:
        """Those of one group are run as one: many teams in it would be one long transaction, whoever asked for it."""
        groups: list[int] = []
        started, may_finish = threading.Event(), threading.Event()

        class Writer:
            def write(self, calls: Sequence[PendingCall], *, waited_seconds: float) -> list[CallOutcome]:
                groups.append(sum(len(call.args[0]) for call in calls))
                started.set()
                assert may_finish.wait(LAST_RESORT)
                return [CallOutcome() for _ in calls]

            def close(self) -> None:
                pass

        writer: Any = Writer()
        queue = WriteQueue(writer, lambda _: None, "test")
        queue.put(PendingCall(push_actions.push_all, ([Push(to="ann", source="t")],)))
        assert started.wait(LAST_RESORT)
        for to in ("team:red", "ann"):
            for _ in range(6):
                queue.put(PendingCall(push_actions.push_all, ([Push(to=to, source="t")] * 10,)))
        may_finish.set()
        queue.close()
        assert groups == [1, 20, 20, 20, 60]

    def test_a_batch_that_is_repeated_asks_once_for_each_push(self, ctx: StoreContext) -> None:
        pushes = [Push(to="team:red", source="t", dedup_key=f"k{number}") for number in range(3)]
        statements: list[str] = []

        def push_counted(tx: Transaction) -> list[push_actions.PushOutcome]:
            all_rows = tx.fetch_all

            def count(statement: str, /, **parameters: Any) -> list[Row]:
                statements.append(statement)
                return all_rows(statement, **parameters)

            tx.fetch_all = count  # type: ignore[method-assign]
            return push_actions.push_all(tx, pushes)

        first, repeat = ctx.store.run_sync(push_counted), ctx.store.run_sync(push_counted)
        assert statements.count("inbox/dedup_keys/find_events") == len(pushes)
        for pushed, repeated in zip(first, repeat, strict=True):
            assert isinstance(pushed, PushResult)
            assert isinstance(repeated, PushResult)
            assert [(delivery.event, delivery.duplicate) for delivery in repeated.deliveries] == [
                (pushed.event, True)
            ] * 2
