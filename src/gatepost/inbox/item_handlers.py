"""Inboxes: their items, the claims on them, and the events of the items."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.accounts import actions
from gatepost.inbox.event import Priority
from gatepost.inbox.event_api import ItemPage, ItemView
from gatepost.inbox.item_api import (
    AccountView,
    AckClaim,
    AckedView,
    BatchView,
    ClaimBatch,
    DrainInbox,
    ItemsRequest,
    ListInbox,
    ListItems,
    MarkSeen,
    PeekInbox,
    ReleaseClaim,
    ReleasedView,
    SeenView,
    ShowAccount,
)
from gatepost.inbox.push import event_limits
from gatepost.operations.access import Caller
from gatepost.operations.pagination import parse_cursor_number, read_page


@ListItems.handler
def list_items(tx: Reader, request: ListItems, caller: Caller) -> ItemPage:
    arrival, _, recipient = (request.after or "0").partition("-")
    return read_page(
        tx,
        ItemPage,
        inbox.page,
        after=parse_cursor_number(arrival, request.after or ""),
        after_recipient=recipient or None,
        newest_first=request.newest_first,
        limit=request.limit,
        view=ItemView.of,
        cursor=lambda item: f"{item.event.arrival}-{item.recipient}",
        **_build_filter(request),
    )


@ListInbox.handler
def list_inbox(tx: Reader, request: ListInbox, caller: Caller) -> ItemPage:
    return read_page(
        tx,
        ItemPage,
        inbox.page,
        request.name,
        after=request.after,
        newest_first=request.newest_first,
        limit=request.limit,
        view=ItemView.of,
        cursor=lambda item: item.event.arrival,
        **_build_filter(request),
    )


@ShowAccount.handler
def show_account(tx: Reader, request: ShowAccount, caller: Caller) -> AccountView:
    [account] = actions.list_accounts(tx, request.name)
    return AccountView.of(account)


@PeekInbox.handler
def peek_inbox(tx: Reader, request: PeekInbox, caller: Caller) -> ItemPage:
    after = (-1, 0)
    if request.after is not None:
        priority, _, arrival = request.after.partition("-")
        after = (parse_cursor_number(priority, request.after), parse_cursor_number(arrival, request.after))
    return read_page(
        tx,
        ItemPage,
        inbox.peek,
        request.name,
        after=after,
        limit=request.limit,
        view=ItemView.of,
        cursor=lambda item: f"{item.event.priority.value}-{item.event.arrival}",
    )


@DrainInbox.handler
def drain_inbox(tx: Transaction, request: DrainInbox, caller: Caller) -> BatchView:
    owner = request.session or f"http:{request.name}"
    return BatchView.of(inbox.claim(tx, request.name, owner=owner, limit=request.limit, budget=request.budget))


@DrainInbox.follow_up
def end_drain(request: DrainInbox, batch: BatchView, is_sent: bool) -> AckClaim | ReleaseClaim | None:
    """Ack what was sent; release what was lost, so that the next reader gets it at once."""
    claim = batch.claim
    if claim is None:
        return None
    end = AckClaim if is_sent else ReleaseClaim
    return end(name=claim.recipient, claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence)


@ClaimBatch.handler
def claim_batch(tx: Transaction, request: ClaimBatch, caller: Caller) -> BatchView:
    hold = parse_field("hold", request.hold or None, parse_duration)
    return BatchView.of(
        inbox.claim(tx, request.name, owner=request.owner, limit=request.limit, budget=request.budget, hold=hold)
    )


@AckClaim.handler
def ack_claim(tx: Transaction, request: AckClaim, caller: Caller) -> AckedView:
    delivered = inbox.ack(tx, request.claim_id, recipient=request.name, owner=request.owner, fence=request.fence)
    return AckedView(delivered=delivered)


@ReleaseClaim.handler
def release_claim(tx: Transaction, request: ReleaseClaim, caller: Caller) -> ReleasedView:
    released = inbox.release(
        tx,
        request.claim_id,
        recipient=request.name,
        owner=request.owner,
        fence=request.fence,
        failed_events=request.failed,
    )
    return ReleasedView(released=released)


@MarkSeen.handler
def mark_seen(tx: Transaction, request: MarkSeen, caller: Caller) -> SeenView:
    return SeenView(seen=inbox_items.mark_seen(tx, request.name, request.events))


def _build_filter(request: ItemsRequest) -> inbox.ItemFilter:
    return inbox.ItemFilter(
        state=request.state,
        type=request.type,
        priority=None if request.priority is None else Priority(request.priority),
        sender=request.sender,
        ref=event_limits.parse_ref(request.ref) if request.ref else None,
        since=parse_field("since", request.since or None, parse_instant),
        until=parse_field("until", request.until or None, parse_instant),
        text=request.text or None,
        channel=request.channel or None,
    )
