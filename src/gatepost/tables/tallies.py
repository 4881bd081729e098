"""The accounts of inboxes."""

from typing import Final

from gatepost.core.account import Account
from gatepost.ports import Reader

_COUNTS: Final = ("accepted", "pending", "claimed", "delivered", "expired", "dead", "discarded")


def accounts(tx: Reader, recipient: int | None = None) -> list[Account]:
    """The accounts of one recipient, or of all, as of one moment."""
    rows = tx.fetch_all("tallies/accounts", recipient=recipient)
    return [Account(name=name, **dict(zip(_COUNTS, map(int, counts), strict=True))) for name, *counts in rows]
