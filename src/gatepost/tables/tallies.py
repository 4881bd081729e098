"""The accounts of inboxes."""

from typing import Final

from gatepost.core.account import Account
from gatepost.ports import Reader
from gatepost.tables.rows import Mapper

_account: Final = Mapper(Account).read


def accounts(tx: Reader, recipient: int | None = None) -> list[Account]:
    """The accounts of one recipient, or of all, as of one moment."""
    return [_account(row) for row in tx.fetch_all("tallies/accounts", recipient=recipient)]
