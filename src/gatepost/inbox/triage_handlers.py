"""Triage: groups of items, and what is done with many items at once."""

from msgspec import UNSET
from msgspec.structs import replace

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import format_rfc3339, parse_duration, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.inbox import triage_actions as triage, triage_api as api
from gatepost.inbox.event import ItemState
from gatepost.inbox.item_handlers import build_filter
from gatepost.inbox.item_rows import ItemFilter
from gatepost.inbox.triage import TriageResult
from gatepost.inbox.triage_actions import Selection
from gatepost.operations.access import Caller


@api.ListItemGroups.handler
def list_item_groups(tx: Reader, request: api.ListItemGroups, caller: Caller) -> api.ItemGroupsView:
    filters = _resolve_sender(tx, build_filter(request))
    filters["state"] = filters.get("state") or ItemState.PENDING
    groups = triage.list_groups(tx, request.name, filters)
    return api.ItemGroupsView(
        groups=[api.ItemGroupView.of(group) for group in groups],
        total=sum(group.count for group in groups),
        at=format_rfc3339(tx.now),
    )


@api.CompleteItems.handler
def complete_items(tx: Transaction, request: api.CompleteItems, caller: Caller) -> api.TriageView:
    return _build_view(triage.complete(tx, request.name, _build_selection(tx, request)))


@api.UndoDone.handler
def undo_done(tx: Transaction, request: api.UndoDone, caller: Caller) -> api.TriageView:
    count = triage.undo(tx, request.name, events=request.events, receipt=request.receipt)
    return api.TriageView(count=count, more=False)


@api.DiscardItems.handler
def discard_items(tx: Transaction, request: api.DiscardItems, caller: Caller) -> api.TriageView:
    return _build_view(triage.discard(tx, request.name, _build_selection(tx, request)))


@api.SnoozeItems.handler
def snooze_items(tx: Transaction, request: api.SnoozeItems, caller: Caller) -> api.TriageView:
    result, hidden_until = triage.snooze(
        tx,
        request.name,
        _build_selection(tx, request),
        until=parse_field("until", request.until, parse_instant),
        length=parse_field("within", request.within, parse_duration),
        awaits=request.awaits,
    )
    return replace(_build_view(result), hidden_until=format_rfc3339(hidden_until))


@api.UnsnoozeItems.handler
def unsnooze_items(tx: Transaction, request: api.UnsnoozeItems, caller: Caller) -> api.TriageView:
    return _build_view(triage.unsnooze(tx, request.name, _build_selection(tx, request)))


def _build_view(result: TriageResult) -> api.TriageView:
    return api.TriageView(count=result.count, more=result.has_more, receipt=result.receipt or UNSET)


def _build_selection(
    tx: Reader, request: api.CompleteItems | api.DiscardItems | api.SnoozeItems | api.UnsnoozeItems
) -> Selection:
    if request.matching is None:
        return Selection(events=request.events)
    return Selection(events=request.events, filters=_resolve_sender(tx, build_filter(request.matching)))


def _resolve_sender(tx: Reader, filters: ItemFilter) -> ItemFilter:
    if (sender := filters.get("sender")) is not None:
        filters["sender"] = directory.find(tx, sender).name
    return filters
