"""A task of the janitor is due when it has something to do, and then it is done; else the janitor writes nothing."""

from collections.abc import Callable
from typing import Any

import pytest

from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Duration
from gatepost.directory import entity_actions as directory
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.guests import session_actions as sessions
from gatepost.inbox.event import Priority
from gatepost.jobs import idempotency_actions as idempotency, job_actions as jobs
from gatepost.mail.sent_record import AckRequest
from gatepost.plans import actions as plans
from gatepost.stores.statements import Sql
from gatepost.worker import janitor, retention_actions as retention
from tests.mail.mail_post import Post
from tests.plans.plan_specs import parse_spec
from tests.stores.table_rows import ROWS
from tests.support.store_context import StoreContext

REMEMBERED = 2 * DAY


def insert(ctx: StoreContext, table: str, **fields: Any) -> None:
    row = ROWS[table] | fields
    text = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
    ctx.store.run_sync(lambda tx: tx.execute(Sql(text), **row))


def update(ctx: StoreContext, text: str, **fields: Any) -> None:
    ctx.store.run_sync(lambda tx: tx.execute(Sql(f"UPDATE {text}"), **fields))


def find_number(ctx: StoreContext, name: str) -> int:
    return ctx.store.read_sync(directory.find, name).number


def hold_items(ctx: StoreContext) -> None:
    ctx.push()
    ctx.take_claim(hold=MINUTE)


def hold_items_of_tomorrow(ctx: StoreContext) -> None:
    """By a clock that is set back afterwards."""
    ctx.push()
    ctx.clock.advance(DAY)
    ctx.take_claim(hold=2 * DAY)
    ctx.clock.set_back(DAY)


def deliver_an_item(ctx: StoreContext) -> None:
    ctx.push()
    ctx.ack(ctx.take_claim())


def leave_an_urgent_item(ctx: StoreContext) -> None:
    ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
    ctx.push(priority=Priority.CRITICAL)


def release_items(ctx: StoreContext) -> None:
    ctx.push()
    ctx.release(ctx.take_claim())


def complete_a_job(ctx: StoreContext) -> None:
    id = ctx.store.run_sync(jobs.add, "send", None)
    ctx.store.run_sync(jobs.take, ["send"], "me")
    ctx.store.run_sync(jobs.complete, id, "me")


def fire_a_plan(ctx: StoreContext) -> None:
    ctx.store.run_sync(plans.set_plan, "husam", parse_spec({"name": "soon", "instruction": "go", "runAfter": "1s"}))
    ctx.clock.advance(SECOND)
    ctx.store.run_sync(plans.fire)


def resolve_a_gate(ctx: StoreContext) -> None:
    gate = ctx.store.run_sync(gates.add, GateSpec(name="wait", kind=GateKind.TIMER, within=HOUR), by="ann")
    ctx.store.run_sync(gates.resolve, gate.id, by="admin")


def send_on_a_channel(ctx: StoreContext) -> None:
    insert(ctx, "triggers", number=7, active=False, next_at=None)
    now = ctx.clock.now()
    fields = {"decision": None, "replaces": None, "options": None}
    insert(ctx, "channel_messages", number=7, trigger=7, state="sent", sent_at=now, created_at=now, **fields)


def start_a_run(ctx: StoreContext) -> None:
    number, run, claim = find_number(ctx, "ann"), f"run_{'0' * 32}", f"clm_{'0' * 32}"
    insert(ctx, "agents", entity=number)
    insert(ctx, "claims", id=claim, recipient=number, kind="run", owner=run)
    insert(ctx, "runs", id=run, agent=number, claim=claim, mind=None)


def leave_a_call_open(ctx: StoreContext) -> None:
    start_a_run(ctx)
    insert(ctx, "calls", id=f"call_{'0' * 32}", expires_at=ctx.clock.now() + HOUR)


def retire_a_thinker(ctx: StoreContext) -> None:
    start_a_run(ctx)
    update(ctx, "entities SET retired_at = :at WHERE name = 'ann'", at=ctx.clock.now())


def send_mail_to_a_ledger(ctx: StoreContext) -> None:
    Post(ctx).send()
    update(ctx, "outgoing SET event = NULL, arrival = NULL, deliver_at = :at", at=ctx.clock.now() + HOUR)


@pytest.mark.parametrize(
    ("arrange", "wait", "task"),
    [
        (hold_items, HOUR, "lapse claims"),
        (hold_items_of_tomorrow, 0, "lapse claims"),
        (lambda ctx: ctx.push(ttl=MINUTE), HOUR, "expire items"),
        (deliver_an_item, REMEMBERED, "remove old rows"),
        (release_items, REMEMBERED, "remove old rows"),
        (lambda ctx: ctx.push(to="*", ttl=MINUTE), REMEMBERED, "remove old rows"),
        (complete_a_job, REMEMBERED, "remove old rows"),
        (fire_a_plan, REMEMBERED, "remove old rows"),
        (resolve_a_gate, REMEMBERED, "remove old rows"),
        (lambda ctx: ctx.store.run_sync(idempotency.insert_key, "s", "k", "d"), REMEMBERED, "remove old rows"),
        (send_on_a_channel, REMEMBERED, "remove old rows"),
        (leave_a_call_open, HOUR, "expire calls"),
        (retire_a_thinker, 0, "expire calls"),
        (lambda ctx: Post(ctx).send(ack=AckRequest.REQUIRED, ack_within=HOUR), HOUR, "report unread mail"),
        (send_mail_to_a_ledger, HOUR, "deliver mail"),
        (leave_an_urgent_item, 3 * MINUTE, "report unseen items"),
    ],
)
async def test_a_task_is_due_until_it_is_done(
    ctx: StoreContext, arrange: Callable[[StoreContext], object], wait: Duration, task: str
) -> None:
    await janitor.run_janitor_round(ctx.store)
    arrange(ctx)
    if wait:
        assert ctx.store.read_sync(retention.list_due_tasks) == []
        ctx.clock.advance(wait)
    assert ctx.store.read_sync(retention.list_due_tasks) == [task]
    assert ctx.store.read_sync(janitor.find_wait) == 0.0
    await janitor.run_janitor_round(ctx.store)
    assert ctx.store.read_sync(retention.list_due_tasks) == []


async def test_the_time_is_noted_only_if_something_waits_for_another_time(ctx: StoreContext) -> None:
    """A note that is old tells as much as a new one, as long as no such time was written after it."""

    async def run_rounds() -> int:
        """Return how many transactions the rounds of some minutes needed."""
        before = ctx.store.commit_count
        for _ in range(5):
            if ctx.store.read_sync(janitor.find_wait) is not None:
                await janitor.run_janitor_round(ctx.store)
            ctx.clock.advance(MINUTE)
        return ctx.store.commit_count - before

    assert [await run_rounds(), await run_rounds()] == [1, 0]
    spec = parse_spec({"name": "daily", "instruction": "go", "cron": "0 9 * * *"})
    plan = ctx.store.run_sync(plans.set_plan, "ann", spec)
    assert [await run_rounds(), await run_rounds()] == [1, 0]
    job = ctx.store.run_sync(jobs.add, "send", None)
    assert [await run_rounds(), await run_rounds()] == [1, 0]
    ctx.store.run_sync(jobs.take, ["send"], "me")
    assert [await run_rounds(), await run_rounds()] == [1, 0]
    ctx.store.run_sync(jobs.complete, job, "me")
    ctx.store.run_sync(plans.delete, plan.id)
    assert [await run_rounds(), await run_rounds()] == [1, 0]
