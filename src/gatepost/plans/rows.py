"""Plans, and their due times."""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import Instant
from gatepost.plans.plan import Plan, PlanStatus
from gatepost.stores.row_mapping import Mapper, fetch_number, fetch_row, get_columns, zip_columns

_PLAN: Final = Mapper(Plan)


def insert(tx: Transaction, plan: Plan, owner: int, gate: int | None) -> int:
    return fetch_number(
        tx,
        "plans/plans/insert",
        **get_columns(plan, "id name instruction cron zone catch_up active next_at hops"),
        owner=owner,
        gate=gate,
        now=plan.created_at,
    )


def count_pending(tx: Reader, owner: int, limit: int) -> int:
    """Count the pending plans of an owner, up to a limit."""
    return fetch_number(tx, "plans/plans/count_pending", owner=owner, limit=limit)


def lock(tx: Transaction, id: str) -> Plan | None:
    """Read a plan and lock it until the commit."""
    return read(tx, id) if tx.fetch_one("plans/plans/lock", id=id) else None


def read(tx: Reader, id: str) -> Plan | None:
    return _PLAN.fetch_one(tx, "plans/plans/read", id=id)


def list_page(tx: Reader, *, owner: int | None, status: PlanStatus | None, after: int, limit: int) -> list[Plan]:
    """Return plans in the order of creation."""
    return _PLAN.fetch_page(tx, "plans/plans/list_page", owner=owner, status=status, after=after, limit=limit)


def update(tx: Transaction, plan: Plan, gate: int | None) -> None:
    """Save what a user can change of a plan; the times when it fired stay."""
    tx.execute(
        "plans/plans/update",
        **get_columns(plan, "number name instruction cron zone catch_up status active next_at hops ended_at"),
        gate=gate,
    )


def delete(tx: Transaction, plan: Plan) -> None:
    tx.execute("plans/plans/delete", number=plan.number)


def take_due(tx: Transaction, limit: int) -> list[Plan]:
    """Lock plans that are due, the oldest slot first; skip those that another transaction has locked."""
    return _PLAN.fetch_all(tx, "plans/plans/take_due", now=tx.now, limit=limit)


def advance(tx: Transaction, plans: Sequence[Plan]) -> None:
    """Save plans after they have fired."""
    rows = [
        (plan.number, plan.status.value, plan.next_at, plan.last_at, plan.fired, plan.ended_at, plan.hops)
        for plan in sorted(plans, key=lambda plan: plan.number)
    ]
    tx.execute_many("plans/plans/advance", zip_columns("number status next_at last_at fired ended_at hops", rows))


def list_recurring(tx: Reader, after: int, limit: int) -> list[Plan]:
    """Return recurring plans that are enabled and not due yet, in the order of creation."""
    return _PLAN.fetch_all(tx, "plans/plans/list_recurring", now=tx.now, after=after, limit=limit)


def reschedule(tx: Transaction, plan: Plan) -> None:
    """Set the next slot of a recurring plan after now, unless the plan was changed or has fired meanwhile."""
    assert plan.recurrence is not None
    slot = plan.recurrence.find_next(tx.now)
    tx.execute("plans/plans/reschedule", number=plan.number, previous_at=plan.next_at, next_at=slot)


def lock_by_gate(tx: Transaction, gate: int) -> list[Plan]:
    """Return the plans that wait for a gate, disabled ones too, and lock them."""
    return _PLAN.fetch_all(tx, "plans/plans/lock_by_gate", gate=gate)


def find_next_due(tx: Reader) -> Instant | None:
    row = fetch_row(tx, "plans/plans/find_next_due")
    next_at: Instant | None = row.next_at
    return next_at


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    """Delete plans that ended before then."""
    return tx.execute("plans/plans/reap", before=before, limit=limit)
