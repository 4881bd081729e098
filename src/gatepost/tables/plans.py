"""Plans, and which of them are due."""

from collections.abc import Sequence
from typing import Final

from gatepost.core.instants import Instant
from gatepost.core.plan import Plan, Status
from gatepost.ports.store import Reader, Work
from gatepost.tables.events import zip_columns
from gatepost.tables.rows import Columns, columns

_plan: Final = Columns(
    Plan,
    "number id owner name instruction cron zone catch_up status next_at last_at fired created_at ended_at gate hops",
).read


_ADVANCED = ("number", "status", "next_at", "last_at", "fired", "ended_at", "hops")


def insert(work: Work, plan: Plan, owner: int, gate: int | None) -> int:
    row = work.one(
        "plans/insert",
        **columns(plan, "id name instruction cron zone catch_up next_at hops"),
        owner=owner,
        gate=gate,
        now=plan.created_at,
    )
    assert row is not None
    return int(row[0])


def count_pending(reader: Reader, owner: int, limit: int) -> int:
    """Count the pending plans of an owner, up to a limit."""
    row = reader.one("plans/count_pending", owner=owner, limit=limit)
    assert row is not None
    return int(row[0])


def lock(work: Work, id: str) -> Plan | None:
    """Read a plan that nobody else changes, or fires, until the commit."""
    return read(work, id) if work.one("plans/lock", id=id) else None


def read(reader: Reader, id: str) -> Plan | None:
    row = reader.one("plans/read", id=id)
    return _plan(row) if row else None


def page(reader: Reader, *, owner: int | None, status: Status | None, after: int, most: int) -> list[Plan]:
    """Plans in the order they were made."""
    return [_plan(row) for row in reader.page("plans/list", owner=owner, status=status, after=after, most=most)]


def change(work: Work, plan: Plan, gate: int | None) -> None:
    """Write what may be wished of a plan; what it has fired stays."""
    work.run(
        "plans/change",
        **columns(plan, "number name instruction cron zone catch_up status next_at hops ended_at"),
        gate=gate,
    )


def delete(work: Work, plan: Plan) -> None:
    work.run("plans/delete", number=plan.number)


def due(work: Work, most: int) -> list[Plan]:
    """Take plans whose slot has come, the longest due first, but for those that somebody else is firing now."""
    return [_plan(row) for row in work.all("plans/due", now=work.now, most=most)]


def advance(work: Work, plans: Sequence[Plan]) -> None:
    """Write what firing has made of plans."""
    rows = [
        (plan.number, plan.status.value, plan.next_at, plan.last_at, plan.fired, plan.ended_at, plan.hops)
        for plan in sorted(plans, key=lambda plan: plan.number)
    ]
    work.many("plans/advance", dict(zip(_ADVANCED, zip_columns(rows), strict=True)))


def recurring(reader: Reader, after: int, most: int) -> list[Plan]:
    """Return plans that recur and are not due yet, in the order they were made."""
    return [_plan(row) for row in reader.all("plans/recurring", now=reader.now, after=after, most=most)]


def reschedule(work: Work, plan: Plan) -> None:
    """Set the next slot of a recurring plan by the time it is now, unless it was changed or fired meanwhile."""
    assert plan.recurring is not None
    slot = plan.recurring.next(work.now)
    work.run("plans/reschedule", number=plan.number, old=plan.next_at, next_at=slot)


def of_gate(work: Work, gate: int) -> list[Plan]:
    """Take the plans that wait for a gate."""
    return [_plan(row) for row in work.all("plans/of_gate", gate=gate)]


def next_due(reader: Reader) -> Instant | None:
    row = reader.one("plans/next_due")
    assert row is not None
    due: Instant | None = row[0]
    return due


def reap(work: Work, before: Instant, most: int) -> int:
    """Delete those that were over before then."""
    return work.run("plans/reap", before=before, most=most)
