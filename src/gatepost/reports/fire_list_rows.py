"""The next fires of plans and triggers, and the items that past fires made."""

from collections.abc import Sequence

from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader
from gatepost.core.times import Instant, parse_instant
from gatepost.errors import Invalid
from gatepost.inbox.item_rows import find_state
from gatepost.plans.cron import Cron
from gatepost.reports.fire_list_api import Fire, FireKind, PastFire, Recurrence


def list_plans(tx: Reader, *, owner: int | None, until: Instant) -> list[Recurrence]:
    """Return when pending plans that are enabled, of one owner or of all, are due."""
    return [
        Recurrence(
            first=Fire(
                at=row.next_at,
                kind=FireKind.PLAN,
                id=row.id,
                name=row.name,
                owner=row.owner,
                is_recurring=row.cron is not None,
            ),
            schedule=Cron(row.cron, row.zone or "UTC") if row.cron is not None else None,
        )
        for row in tx.fetch_all("reports/fires/list_plans", owner=owner, until=until)
    ]


def list_triggers(tx: Reader, *, until: Instant) -> Sequence[Trigger]:
    """Return the active triggers that are due before an instant."""
    return [triggers.build(row) for row in tx.fetch_all("reports/fires/list_triggers", until=until)]


def list_past(
    tx: Reader, prefix: str, *, recipient: int | None = None, after: tuple[int, int], limit: int
) -> list[PastFire]:
    """
    Return the items whose dedup keys begin with a prefix and end with a slot, the newest first; `after` is the position
    of the last one seen.
    """
    before, after_recipient = after
    rows = tx.fetch_all(
        "reports/fires/list_past",
        prefix=prefix,
        until_key=f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}",
        recipient=recipient,
        before=before,
        after_recipient=after_recipient,
        limit=limit,
    )
    return [
        PastFire(
            due_at=_parse_slot(row.dedup_key.removeprefix(prefix)),
            fired_at=row.created_at,
            event=row.event,
            recipient=row.recipient_name,
            state=find_state(row, tx.now),
            ended_at=row.ended_at,
            position=(row.arrival, row.recipient),
        )
        for row in rows
    ]


def _parse_slot(text: str) -> Instant | None:
    try:
        return parse_instant(text)
    except Invalid:
        return None
