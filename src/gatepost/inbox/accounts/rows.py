"""Accounts of inboxes, counted from their rows, and rows that should not be."""

from typing import Final

from gatepost.core.ports import Reader
from gatepost.inbox.event import Account
from gatepost.stores.row_mapping import Mapper, fetch_row

_ACCOUNT: Final = Mapper(Account)


def read_accounts(tx: Reader, recipient: int | None = None) -> list[Account]:
    """Return the accounts of one recipient, or of all, at one moment."""
    return _ACCOUNT.fetch_all(tx, "inbox/accounts/read", recipient=recipient)


def count_lost_events(tx: Reader) -> tuple[int, str]:
    """Count the events that no inbox has, which should not exist; return also the first of them."""
    return _count(tx, "inbox/integrity/count_lost_events")


def count_stuck_items(tx: Reader) -> tuple[int, str]:
    """Count claimed items without an open claim, which should not exist; return also the recipient of the first."""
    return _count(tx, "inbox/integrity/count_stuck_items")


def count_incomplete_entities(tx: Reader) -> tuple[int, str]:
    """Count entities without a name or an inbox, which should not exist; return also the first of them."""
    return _count(tx, "inbox/integrity/count_incomplete_entities")


def _count(tx: Reader, statement: str) -> tuple[int, str]:
    row = fetch_row(tx, statement)
    return int(row.total), row.first or ""
