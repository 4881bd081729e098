"""
The accounts of inboxes, which say whether anything was lost: the items that an inbox has accepted are the sum over all
states. They are counted from the rows; other counts find rows that should not exist.
"""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory
from gatepost.inbox.account_api import Account, AccountTotal
from gatepost.stores.row_mapping import Mapper, fetch_row

_ACCOUNT: Final = Mapper(Account)
_MAX_UNBALANCED: Final = 100


def list_accounts(tx: Reader, name: str | None = None) -> list[Account]:
    """Return the account of one inbox, or of all, at one moment."""
    return _ACCOUNT.fetch_all(tx, "inbox/accounts/read", recipient=directory.find_number(tx, name), now=tx.now)


def list_page(
    tx: Reader, *, unbalanced: bool = False, after: int = 0, limit: int
) -> tuple[list[Account], AccountTotal]:
    """
    Return some of the accounts, or of those that do not balance, and the sums of all of them. First are those that do
    not balance, then those with the most items that wait or are dead; `after` is the number of those seen before.
    """
    parameters = {"unbalanced": unbalanced, "after": after, "limit": limit, "recipient": None, "now": tx.now}
    rows = tx.fetch_all("inbox/accounts/list_page", **parameters)
    row = rows[0]
    total = AccountTotal(
        inboxes=row.inboxes,
        unbalanced=row.total_unbalanced,
        accepted=row.total_accepted,
        pending=row.total_pending,
        claimed=row.total_claimed,
        delivered=row.total_delivered,
        expired=row.total_expired,
        dead=row.total_dead,
        discarded=row.total_discarded,
    )
    return [_ACCOUNT.read(row) for row in rows if row.name is not None], total


def find_unbalanced(tx: Reader) -> tuple[list[Account], AccountTotal]:
    """Return the first accounts that do not balance, and the sums of all."""
    return list_page(tx, unbalanced=True, limit=_MAX_UNBALANCED)


def find_orphans(tx: Reader) -> list[str]:
    """Return a sentence for each kind of row that belongs to nothing, with the number of rows and the first one."""
    findings = []
    for statement, label, link in (
        ("inbox/integrity/count_lost_events", "events in no inbox", "is"),
        ("inbox/integrity/count_stuck_items", "items claimed by nobody", "is for"),
        ("inbox/integrity/count_lost_keys", "dedup keys of no item", "is"),
        ("inbox/integrity/count_incomplete_entities", "entities without name or inbox", "is"),
    ):
        row = fetch_row(tx, statement)
        if row.total:
            findings.append(f"{label}: {int(row.total)}, the first {link} {row.first or ''!r}")
    return findings
