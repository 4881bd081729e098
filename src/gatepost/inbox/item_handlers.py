"""Inboxes: list their items, claim them, mark them as seen, and show the account; and events, with their items."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.inbox import (
    account_actions as accounts,
    claim_actions as claims,
    event_api,
    item_actions as items,
    item_api as api,
)
from gatepost.inbox.account_api import AccountView
from gatepost.inbox.event import Priority
from gatepost.inbox.item_rows import ItemFilter
from gatepost.inbox.push import event_limits
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import parse_cursor_number, parse_cursor_pair, read_page


@api.ListItems.handler
def list_items(tx: Reader, request: api.ListItems, caller: Caller) -> Page[event_api.ItemView]:
    arrival, _, recipient = (request.after or "0").partition("-")
    return read_page(
        tx,
        request,
        claims.list_page,
        after=parse_cursor_number(arrival, request.after or ""),
        after_recipient=recipient or None,
        newest_first=request.newest_first,
        cursor=lambda item: f"{item.event.arrival}-{item.recipient}",
        **build_filter(request),
    )


@api.ListInbox.handler
def list_inbox(tx: Reader, request: api.ListInbox, caller: Caller) -> Page[event_api.ItemView]:
    return read_page(
        tx,
        request,
        claims.list_page,
        request.name,
        after=request.after,
        newest_first=request.newest_first,
        cursor=lambda item: item.event.arrival,
        **build_filter(request),
    )


@api.ShowAccount.handler
def show_account(tx: Reader, request: api.ShowAccount, caller: Caller) -> AccountView:
    [account] = accounts.list_accounts(tx, request.name)
    return AccountView.of(account)


@api.PeekInbox.handler
def peek_inbox(tx: Reader, request: api.PeekInbox, caller: Caller) -> Page[event_api.ItemView]:
    return read_page(
        tx,
        request,
        claims.peek,
        request.name,
        after=(-1, 0) if request.after is None else parse_cursor_pair(request.after),
        cursor=lambda item: f"{item.event.priority.value}-{item.event.arrival}",
    )


@api.DrainInbox.handler
def drain_inbox(tx: Transaction, request: api.DrainInbox, caller: Caller) -> api.BatchView:
    owner = request.session or f"http:{request.name}"
    return api.BatchView.of(claims.claim(tx, request.name, owner=owner, limit=request.limit, budget=request.budget))


@api.DrainInbox.follow_up
def end_drain(request: api.DrainInbox, batch: api.BatchView, is_sent: bool) -> api.AckClaim | api.ReleaseClaim | None:
    """Ack what was sent; release what was lost, so that the next reader gets it at once."""
    claim = batch.claim
    if claim is None:
        return None
    end = api.AckClaim if is_sent else api.ReleaseClaim
    return end(name=claim.recipient, claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence)


@api.ClaimBatch.handler
def claim_batch(tx: Transaction, request: api.ClaimBatch, caller: Caller) -> api.BatchView:
    hold = parse_field("hold", request.hold or None, parse_duration)
    return api.BatchView.of(
        claims.claim(
            tx,
            request.name,
            owner=request.owner,
            limit=request.limit,
            budget=request.budget,
            hold=hold,
            events=[items.find_event_id(tx, event) for event in request.events],
        )
    )


@api.AckClaim.handler
def ack_claim(tx: Transaction, request: api.AckClaim, caller: Caller) -> api.AckedView:
    delivered = claims.ack(tx, request.claim_id, recipient=request.name, owner=request.owner, fence=request.fence)
    return api.AckedView(delivered=delivered)


@api.ReleaseClaim.handler
def release_claim(tx: Transaction, request: api.ReleaseClaim, caller: Caller) -> api.ReleasedView:
    released = claims.release(
        tx,
        request.claim_id,
        recipient=request.name,
        owner=request.owner,
        fence=request.fence,
        failed_events=[items.find_event_id(tx, event) for event in request.failed],
    )
    return api.ReleasedView(released=released)


@api.MarkSeen.handler
def mark_seen(tx: Transaction, request: api.MarkSeen, caller: Caller) -> api.SeenView:
    return api.SeenView(seen=items.mark_seen(tx, request.name, request.events))


def build_filter(request: api.FilterFields) -> ItemFilter:
    """Return the filter that a request, or a part of it, has."""
    return ItemFilter(
        state=request.state,
        type=request.type,
        message_type=request.message_type or None,
        priority=None if request.priority is None else Priority(request.priority),
        sender=request.sender,
        ref=event_limits.parse_ref(request.ref) if request.ref else None,
        since=parse_field("since", request.since or None, parse_instant),
        until=parse_field("until", request.until or None, parse_instant),
        text=request.text or None,
        channel=request.channel or None,
        origin=request.origin or None,
        hidden=request.hidden,
    )


@event_api.ShowEvent.handler
def show_event(tx: Reader, request: event_api.ShowEvent, caller: Caller) -> event_api.EventDetailView:
    event_items = items.show(tx, request.id)
    visible_items = [event_api.ItemView.of(item) for item in event_items if caller.entity in (None, item.recipient)]
    if not visible_items:
        raise items.build_missing_error(request.id)
    return event_api.EventDetailView.merge(visible_items)


@event_api.ReplayEvent.handler
def replay_event(tx: Transaction, request: event_api.ReplayEvent, caller: Caller) -> event_api.ItemsView:
    return event_api.ItemsView.of(items.replay(tx, request.id, request.name, is_new_chain=caller.is_administrator))


@event_api.DiscardEvent.handler
def discard_event(tx: Transaction, request: event_api.DiscardEvent, caller: Caller) -> event_api.ItemsView:
    return event_api.ItemsView.of(items.discard(tx, request.id, request.name))


@event_api.MarkDone.handler
def mark_done(tx: Transaction, request: event_api.MarkDone, caller: Caller) -> event_api.ItemsView:
    name = request.name or ADMINISTRATOR
    return event_api.ItemsView.of([items.mark_done(tx, name, request.id)])
