"""Events: show one with its state for each recipient, replay it, discard it, mark it as done."""

from gatepost.core.ports import Reader, Transaction
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.inbox import event_api as api, item_actions as items
from gatepost.operations.access import Caller


@api.ShowEvent.handler
def show_event(tx: Reader, request: api.ShowEvent, caller: Caller) -> api.EventDetailView:
    event_items = items.show(tx, request.id)
    visible_items = [api.ItemView.of(item) for item in event_items if caller.entity in (None, item.recipient)]
    if not visible_items:
        raise items.build_missing_error(request.id)
    return api.EventDetailView.merge(visible_items)


@api.ReplayEvent.handler
def replay_event(tx: Transaction, request: api.ReplayEvent, caller: Caller) -> api.ItemsView:
    return api.ItemsView.of(items.replay(tx, request.id, request.name, is_new_chain=caller.is_administrator))


@api.DiscardEvent.handler
def discard_event(tx: Transaction, request: api.DiscardEvent, caller: Caller) -> api.ItemsView:
    return api.ItemsView.of(items.discard(tx, request.id, request.name))


@api.MarkDone.handler
def mark_done(tx: Transaction, request: api.MarkDone, caller: Caller) -> api.ItemsView:
    name = request.name or ADMINISTRATOR
    return api.ItemsView.of([items.mark_done(tx, name, request.id)])
