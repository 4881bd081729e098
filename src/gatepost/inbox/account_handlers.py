"""The accounts of inboxes, and a check of the store."""

from gatepost.core.ports import Reader
from gatepost.core.times import format_rfc3339
from gatepost.inbox import account_actions
from gatepost.inbox.account_api import (
    AccountPage,
    AccountTotalView,
    AccountView,
    CheckStore,
    ListAccounts,
    StoreCheckView,
)
from gatepost.operations.access import Caller


@ListAccounts.handler
def list_accounts(tx: Reader, request: ListAccounts, caller: Caller) -> AccountPage:
    accounts, total = account_actions.list_page(
        tx, unbalanced=request.unbalanced, after=request.after, limit=request.limit + 1
    )
    return AccountPage(
        items=[AccountView.of(account) for account in accounts[: request.limit]],
        next=str(request.after + request.limit) if len(accounts) > request.limit else None,
        total=AccountTotalView.of(total),
    )


@CheckStore.handler
def check_store(tx: Reader, request: CheckStore, caller: Caller) -> StoreCheckView:
    unbalanced, total = account_actions.find_unbalanced(tx)
    return StoreCheckView(
        at=format_rfc3339(tx.now),
        inboxes=total.inboxes,
        accepted=total.accepted,
        unbalanced=[account.name for account in unbalanced],
        orphans=account_actions.find_orphans(tx),
    )
