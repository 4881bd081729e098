"""The accounts of inboxes, and a check of the store."""

from typing import Final

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
from gatepost.inbox.event import ItemState
from gatepost.operations.access import Caller

_MAX_NAMES: Final = 100


@ListAccounts.handler
def list_accounts(tx: Reader, request: ListAccounts, caller: Caller) -> AccountPage:
    accounts = account_actions.list_accounts(tx)
    listed = [account for account in accounts if not (request.unbalanced and account.is_balanced)]
    listed.sort(key=lambda account: (account.is_balanced, -account.pending - account.claimed - account.dead))
    end = request.after + request.limit
    sums = {name: sum(getattr(account, name) for account in accounts) for name in ("accepted", *ItemState)}
    unbalanced = sum(not account.is_balanced for account in accounts)
    return AccountPage(
        items=[AccountView.of(account) for account in listed[request.after : end]],
        next=str(end) if end < len(listed) else None,
        total=AccountTotalView(inboxes=len(accounts), unbalanced=unbalanced, **sums),
    )


@CheckStore.handler
def check_store(tx: Reader, request: CheckStore, caller: Caller) -> StoreCheckView:
    unbalanced, inbox_count, accepted_count = account_actions.find_unbalanced(tx)
    return StoreCheckView(
        at=format_rfc3339(tx.now),
        inboxes=inbox_count,
        accepted=accepted_count,
        unbalanced=[account.name for account in unbalanced[:_MAX_NAMES]],
        orphans=account_actions.find_orphans(tx),
    )
