"""
The accounts of inboxes, which say whether anything was lost: the items that an inbox has accepted are the sum over all
states. They are counted from the rows; other counts find rows that should not exist.
"""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory
from gatepost.inbox.account_api import Account
from gatepost.stores.row_mapping import Mapper, fetch_row

_ACCOUNT: Final = Mapper(Account)


def list_accounts(tx: Reader, name: str | None = None) -> list[Account]:
    """Return the account of one inbox, or of all, at one moment."""
    return _ACCOUNT.fetch_all(tx, "inbox/accounts/read", recipient=directory.find_number(tx, name), now=tx.now)


def find_unbalanced(tx: Reader) -> tuple[list[Account], int, int]:
    """
    Return the accounts that do not balance, the number of all inboxes, and the number of items that all have accepted.
    """
    accounts = list_accounts(tx)
    return (
        [account for account in accounts if not account.is_balanced],
        len(accounts),
        sum(account.accepted for account in accounts),
    )


def find_orphans(tx: Reader) -> list[str]:
    """Return a sentence for each kind of row that belongs to nothing, with the number of rows and the first one."""
    findings = []
    for statement, label, link in (
        ("inbox/integrity/count_lost_events", "events in no inbox", "is"),
        ("inbox/integrity/count_stuck_items", "items claimed by nobody", "is for"),
        ("inbox/integrity/count_incomplete_entities", "entities without name or inbox", "is"),
    ):
        row = fetch_row(tx, statement)
        if row.total:
            findings.append(f"{label}: {int(row.total)}, the first {link} {row.first or ''!r}")
    return findings
