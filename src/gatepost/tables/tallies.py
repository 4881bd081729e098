"""The accounts of inboxes."""

from gatepost.core.account import Account
from gatepost.ports.store import Reader


def accounts(reader: Reader, recipient: int | None = None) -> list[Account]:
    """The accounts of one recipient, or of all, as of one moment."""
    return [
        Account(
            name=name,
            accepted=int(accepted),
            pending=int(pending),
            claimed=int(claimed),
            delivered=int(delivered),
            expired=int(expired),
            dead=int(dead),
            discarded=int(discarded),
        )
        for name, accepted, pending, claimed, delivered, expired, dead, discarded in reader.all(
            "tallies/accounts", recipient=recipient
        )
    ]
