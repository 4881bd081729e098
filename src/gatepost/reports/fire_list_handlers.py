"""
List when plans and cron triggers will fire, when they have fired, and what webhooks delivered.

An entity sees the plans that it owns, and the triggers that it owns; an administrator (`owner=None`) sees all. Past
fires are read from the items that they made, so they are shown for as long as those are remembered (the setting
`inbox.remember`).
"""

from collections.abc import Callable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import islice
from typing import Final

from msgspec.structs import replace

from gatepost.channels.triggers import actions as triggers, cron_fire_actions as schedules
from gatepost.channels.triggers.rows import build as build_trigger
from gatepost.channels.triggers.trigger import Trigger
from gatepost.channels.webhooks import delivery_actions as deliveries
from gatepost.core.address import parse as parse_address
from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import MAX_INSTANT, Instant, parse_duration, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import Invalid
from gatepost.inbox.item_rows import find_state
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import parse_cursor_number, parse_cursor_pair, read_page
from gatepost.plans import actions as plans
from gatepost.plans.cron import Cron
from gatepost.reports import fire_list_api as api
from gatepost.reports.fire_list_api import START, Fire, FireKind, FirePosition, PastFire, Recurrence

#: before every past fire
NEWEST: Final = (2**62, 0)


@api.ListFires.handler
def list_fires(tx: Reader, request: api.ListFires, caller: Caller) -> Page[api.FireView]:
    length = parse_field("within", request.within, parse_duration)
    return read_page(
        tx,
        request,
        list_next,
        owner=request.owner,
        until=min(tx.now + length, MAX_INSTANT),
        after=_parse_next(request.after),
        cursor=lambda fire: f"{fire.at}-{fire.kind}-{fire.id}",
    )


@api.ListPlanFires.handler
def list_plan_fires(tx: Reader, request: api.ListPlanFires, caller: Caller) -> Page[api.PastFireView]:
    return _read_past(tx, request, list_of_plan, request.id, caller)


@api.ListTriggerFires.handler
def list_trigger_fires(tx: Reader, request: api.ListTriggerFires, caller: Caller) -> Page[api.PastFireView]:
    return _read_past(tx, request, list_of_trigger, request.name, caller)


def _read_past(
    tx: Reader,
    request: api.ListPlanFires | api.ListTriggerFires,
    query: Callable[..., list[PastFire]],
    name: str,
    caller: Caller,
) -> Page[api.PastFireView]:
    after = NEWEST if request.after is None else parse_cursor_pair(request.after)
    return read_page(tx, request, query, name, viewer=caller.entity, after=after, cursor=_build_past)


def _parse_next(cursor: str | None) -> FirePosition:
    if cursor is None:
        return START
    at, _, rest = cursor.partition("-")
    kind, _, id = rest.partition("-")
    return parse_cursor_number(at, cursor), kind, id


def _build_past(fire: PastFire) -> str:
    arrival, recipient = fire.position
    return f"{arrival}-{recipient}"


def list_next(
    tx: Reader, *, owner: str | None = None, until: Instant, after: FirePosition = START, limit: int = 100
) -> list[Fire]:
    """Return the fires until an instant, the next first; `after` is the position of the last one seen."""
    recurrences = _list_plans(tx, owner, until)
    recurrences += [_build_recurrence(trigger) for trigger in _list_triggers(tx, owner, until)]
    return list(islice(iter_fires(recurrences, until, after), limit))


def iter_fires(recurrences: Sequence[Recurrence], until: Instant, after: FirePosition = START) -> Iterator[Fire]:
    """Yield the fires after a position and before an instant, in the order of time. A slot is computed when needed."""
    heap: list[tuple[Instant, str, str, int]] = []
    for number, recurrence in enumerate(recurrences):
        first = recurrence.first
        at = first.at if first.at >= after[0] else recurrence.find_next(after[0] - 1)
        if at is not None and (at, first.kind.value, first.id) <= after:
            at = recurrence.find_next(at)
        if at is not None and at < until:
            heap.append((at, first.kind.value, first.id, number))
    heapify(heap)
    while heap:
        at, kind, id, number = heappop(heap)
        first = recurrences[number].first
        yield replace(first, at=at)
        following = recurrences[number].find_next(at)
        if following is not None and following < until:
            heappush(heap, (following, kind, id, number))


def list_of_plan(
    tx: Reader, id: str, *, viewer: str | None = None, after: tuple[int, int] = NEWEST, limit: int = 100
) -> list[PastFire]:
    """Return the fires of a plan, the newest first; `after` is the position of the last one seen."""
    plan = plans.show(tx, id, owner=viewer)
    recipient = directory.find(tx, plan.owner).number
    return _list_past(tx, plans.build_dedup_key(plan.id), recipient=recipient, after=after, limit=limit)


def list_of_trigger(
    tx: Reader, name: str, *, viewer: str | None = None, after: tuple[int, int] = NEWEST, limit: int = 100
) -> list[PastFire]:
    """Return the fires of a cron trigger or the deliveries of another, one for each recipient, the newest first."""
    trigger = triggers.find_own(tx, name, viewer)
    if trigger.config.schedule is not None:
        return _list_past(tx, schedules.build_dedup_key(trigger), after=after, limit=limit)
    fires = _list_past(tx, deliveries.build_dedup_key(trigger.name, ""), after=after, limit=limit)
    return [replace(fire, due_at=None) for fire in fires]


def _list_past(
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
            subject=row.subject,
            content=row.content,
            position=(row.arrival, row.recipient),
        )
        for row in rows
    ]


def _parse_slot(text: str) -> Instant | None:
    try:
        return parse_instant(text)
    except Invalid:
        return None


def _list_plans(tx: Reader, owner: str | None, until: Instant) -> list[Recurrence]:
    """Return when pending plans that are enabled, of one owner or of all, are due."""
    rows = tx.fetch_all("reports/fires/list_plans", owner=directory.find_number(tx, owner), until=until)
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
        for row in rows
    ]


def _list_triggers(tx: Reader, owner: str | None, until: Instant) -> list[Trigger]:
    stored = [build_trigger(row) for row in tx.fetch_all("reports/fires/list_triggers", until=until)]
    due = [replace(trigger, owner=triggers.find_owner(tx, trigger)) for trigger in stored]
    if owner is None:
        return due
    number = directory.find(tx, owner).number
    entities_by_address = directory.resolve(tx, {parse_address(trigger.owner) for trigger in due})
    owned_addresses = {
        str(address)
        for address, entities in entities_by_address.items()
        if any(entity.number == number for entity in entities)
    }
    return [trigger for trigger in due if str(parse_address(trigger.owner)) in owned_addresses]


def _build_recurrence(trigger: Trigger) -> Recurrence:
    schedule = trigger.config.schedule
    assert trigger.next_at is not None
    return Recurrence(
        first=Fire(
            at=trigger.next_at,
            kind=FireKind.TRIGGER,
            id=trigger.name,
            name=trigger.name,
            owner=trigger.owner,
            is_recurring=schedule is not None and schedule.at is None,
            is_heartbeat=trigger.config.heartbeat is not None,
        ),
        schedule=schedule,
        since=trigger.created_at,
    )
