"""The fires of plans and cron triggers."""

from gatepost.core.ports import Reader
from gatepost.core.text import parse_field
from gatepost.core.times import MAX_INSTANT, parse_duration
from gatepost.operations.access import Caller
from gatepost.operations.pagination import parse_cursor_number, read_page
from gatepost.reports import fire_actions as fires
from gatepost.reports.fire import START, Fire, FirePosition, PastFire
from gatepost.reports.fire_api import (
    FirePage,
    FireView,
    ListFires,
    ListPlanFires,
    ListTriggerFires,
    PastFirePage,
    PastFireView,
)


@ListFires.handler
def list_fires(tx: Reader, request: ListFires, caller: Caller) -> FirePage:
    length = parse_field("within", request.within, parse_duration)
    return read_page(
        tx,
        FirePage,
        fires.list_next,
        owner=request.owner,
        until=min(tx.now + length, MAX_INSTANT),
        after=_parse_next(request.after),
        limit=request.limit,
        view=FireView.of,
        cursor=_build_next,
    )


@ListPlanFires.handler
def list_plan_fires(tx: Reader, request: ListPlanFires, caller: Caller) -> PastFirePage:
    return read_page(
        tx,
        PastFirePage,
        fires.list_of_plan,
        request.id,
        owner=caller.entity,
        after=_parse_past(request.after),
        limit=request.limit,
        view=PastFireView.of,
        cursor=_build_past,
    )


@ListTriggerFires.handler
def list_trigger_fires(tx: Reader, request: ListTriggerFires, caller: Caller) -> PastFirePage:
    return read_page(
        tx,
        PastFirePage,
        fires.list_of_trigger,
        request.name,
        by=caller.entity,
        after=_parse_past(request.after),
        limit=request.limit,
        view=PastFireView.of,
        cursor=_build_past,
    )


def _build_next(fire: Fire) -> str:
    return f"{fire.at}-{fire.kind}-{fire.id}"


def _parse_next(cursor: str | None) -> FirePosition:
    if cursor is None:
        return START
    at, _, rest = cursor.partition("-")
    kind, _, id = rest.partition("-")
    return parse_cursor_number(at, cursor), kind, id


def _build_past(fire: PastFire) -> str:
    arrival, recipient = fire.position
    return f"{arrival}-{recipient}"


def _parse_past(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return fires.NEWEST
    arrival, _, recipient = cursor.partition("-")
    return parse_cursor_number(arrival, cursor), parse_cursor_number(recipient, cursor)
