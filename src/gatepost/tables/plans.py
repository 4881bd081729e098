"""Plans, and which of them are due."""

from collections.abc import Sequence
from typing import Final

from gatepost.core.plan import Plan, PlanStatus
from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction
from gatepost.tables.events import zip_columns
from gatepost.tables.rows import Mapper, get_columns

_plan: Final = Mapper(Plan).read

_ADVANCED = ("number", "status", "next_at", "last_at", "fired", "ended_at", "hops")


def insert(tx: Transaction, plan: Plan, owner: int, gate: int | None) -> int:
    row = tx.fetch_one(
        "plans/insert",
        **get_columns(plan, "id name instruction cron zone catch_up next_at hops"),
        owner=owner,
        gate=gate,
        now=plan.created_at,
    )
    assert row is not None
    return int(row.number)


def count_pending(tx: Reader, owner: int, limit: int) -> int:
    """Count the pending plans of an owner, up to a limit."""
    row = tx.fetch_one("plans/count_pending", owner=owner, limit=limit)
    assert row is not None
    return int(row.total)


def lock(tx: Transaction, id: str) -> Plan | None:
    """Read a plan that nobody else changes, or fires, until the commit."""
    return read(tx, id) if tx.fetch_one("plans/lock", id=id) else None


def read(tx: Reader, id: str) -> Plan | None:
    row = tx.fetch_one("plans/read", id=id)
    return _plan(row) if row else None


def page(tx: Reader, *, owner: int | None, status: PlanStatus | None, after: int, limit: int) -> list[Plan]:
    """Plans in the order they were made."""
    return [_plan(row) for row in tx.fetch_page("plans/list", owner=owner, status=status, after=after, limit=limit)]


def change(tx: Transaction, plan: Plan, gate: int | None) -> None:
    """Write what may be wished of a plan; what it has fired stays."""
    tx.execute(
        "plans/change",
        **get_columns(plan, "number name instruction cron zone catch_up status next_at hops ended_at"),
        gate=gate,
    )


def delete(tx: Transaction, plan: Plan) -> None:
    tx.execute("plans/delete", number=plan.number)


def due(tx: Transaction, limit: int) -> list[Plan]:
    """Take plans whose slot has come, the longest due first, but for those that somebody else is firing now."""
    return [_plan(row) for row in tx.fetch_all("plans/due", now=tx.now, limit=limit)]


def advance(tx: Transaction, plans: Sequence[Plan]) -> None:
    """Write what firing has made of plans."""
    rows = [
        (plan.number, plan.status.value, plan.next_at, plan.last_at, plan.fired, plan.ended_at, plan.hops)
        for plan in sorted(plans, key=lambda plan: plan.number)
    ]
    tx.execute_many("plans/advance", dict(zip(_ADVANCED, zip_columns(rows), strict=True)))


def recurring(tx: Reader, after: int, limit: int) -> list[Plan]:
    """Return plans that recur and are not due yet, in the order they were made."""
    return [_plan(row) for row in tx.fetch_all("plans/recurring", now=tx.now, after=after, limit=limit)]


def reschedule(tx: Transaction, plan: Plan) -> None:
    """Set the next slot of a recurring plan by the time it is now, unless it was changed or fired meanwhile."""
    assert plan.recurrence is not None
    slot = plan.recurrence.find_next(tx.now)
    tx.execute("plans/reschedule", number=plan.number, previous_at=plan.next_at, next_at=slot)


def of_gate(tx: Transaction, gate: int) -> list[Plan]:
    """Take the plans that wait for a gate."""
    return [_plan(row) for row in tx.fetch_all("plans/of_gate", gate=gate)]


def next_due(tx: Reader) -> Instant | None:
    row = tx.fetch_one("plans/next_due")
    assert row is not None
    next_at: Instant | None = row.next_at
    return next_at


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete those that were over before then."""
    return tx.execute("plans/reap", before=before, limit=limit)
