"""Check the store for `gatepost doctor`: accounts that do not balance, and rows without an owner."""

from gatepost.actions import maintenance
from gatepost.core.event import Account
from gatepost.ports import Reader
from gatepost.tables import inboxes


def find_unbalanced(tx: Reader) -> tuple[list[Account], int, int]:
    """
    Return the accounts that do not balance, the number of all inboxes, and the number of items that all have accepted.
    """
    accounts = maintenance.list_accounts(tx)
    return (
        [account for account in accounts if not account.is_balanced],
        len(accounts),
        sum(account.accepted for account in accounts),
    )


def find_orphans(tx: Reader) -> list[str]:
    """Return a sentence for each kind of row that belongs to nothing, with the number of rows and the first one."""
    events, event = inboxes.count_lost_events(tx)
    items, recipient = inboxes.count_stuck_items(tx)
    entities, entity = inboxes.count_incomplete_entities(tx)
    findings = [
        (events, f"events in no inbox: {events}, the first is {event!r}"),
        (items, f"items claimed by nobody: {items}, the first is for {recipient!r}"),
        (entities, f"entities without name or inbox: {entities}, the first is {entity!r}"),
    ]
    return [text for count, text in findings if count]
