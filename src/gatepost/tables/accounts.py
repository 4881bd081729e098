"""The accounts of inboxes."""

from typing import Final

from gatepost.core.event import Account
from gatepost.ports import Reader
from gatepost.tables.rows import Mapper

_build_account: Final = Mapper(Account).read


def read_accounts(tx: Reader, recipient: int | None = None) -> list[Account]:
    """Return the accounts of one recipient, or of all, at one moment."""
    return [_build_account(row) for row in tx.fetch_all("accounts/read", recipient=recipient)]
