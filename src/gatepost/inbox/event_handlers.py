"""Events: show one with its state for each recipient, replay it, discard it, mark it as done."""

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event_api import (
    DiscardEvent,
    EventDetailView,
    ItemsView,
    ItemView,
    MarkDone,
    ReplayEvent,
    ShowEvent,
)
from gatepost.operations.access import Caller


@ShowEvent.handler
def show_event(tx: Reader, request: ShowEvent, caller: Caller) -> EventDetailView:
    items = inbox_items.show(tx, request.id)
    visible_items = [ItemView.of(item) for item in items if caller.entity in (None, item.recipient)]
    if not visible_items:
        raise inbox_items.build_missing_error(request.id)
    return EventDetailView.merge(visible_items)


@ReplayEvent.handler
def replay_event(tx: Transaction, request: ReplayEvent, caller: Caller) -> ItemsView:
    return ItemsView.of(inbox_items.replay(tx, request.id, request.name, is_new_chain=caller.is_administrator))


@DiscardEvent.handler
def discard_event(tx: Transaction, request: DiscardEvent, caller: Caller) -> ItemsView:
    return ItemsView.of(inbox_items.discard(tx, request.id, request.name))


@MarkDone.handler
def mark_done(tx: Transaction, request: MarkDone, caller: Caller) -> ItemsView:
    name = request.name or directory.ADMINISTRATOR
    return ItemsView.of([inbox_items.mark_done(tx, name, request.id)])
