"""The accounts of inboxes, which say whether anything was lost."""

from gatepost.core.ports import Reader
from gatepost.core.times import Duration
from gatepost.directory import entity_actions as directory
from gatepost.inbox import item_rows as items
from gatepost.inbox.accounts import rows
from gatepost.inbox.event import Account


def measure_lag(tx: Reader) -> Duration:
    """Return for how long the oldest pending item of an agent or a service has waited."""
    oldest = items.find_oldest_pending(tx)
    return max(0, tx.now - oldest) if oldest is not None else 0


def list_accounts(tx: Reader, name: str | None = None) -> list[Account]:
    """Return the account of one inbox, or of all: how many items it accepted, and how many are in each state."""
    return rows.read_accounts(tx, directory.find_number(tx, name))


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
    events, event = rows.count_lost_events(tx)
    items, recipient = rows.count_stuck_items(tx)
    entities, entity = rows.count_incomplete_entities(tx)
    findings = [
        (events, f"events in no inbox: {events}, the first is {event!r}"),
        (items, f"items claimed by nobody: {items}, the first is for {recipient!r}"),
        (entities, f"entities without name or inbox: {entities}, the first is {entity!r}"),
    ]
    return [text for count, text in findings if count]
