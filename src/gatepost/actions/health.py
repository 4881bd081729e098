"""Whether the books are right: what `gatepost doctor` and `/health` ask."""

from gatepost.actions import maintenance
from gatepost.core.account import Account
from gatepost.ports import Reader
from gatepost.tables import checks


def find_unbalanced(tx: Reader) -> tuple[list[Account], int, int]:
    """Inboxes whose accounts do not balance; and how many inboxes there are, and what they accepted in all."""
    accounts = maintenance.list_accounts(tx)
    return (
        [account for account in accounts if not account.is_balanced],
        len(accounts),
        sum(account.accepted for account in accounts),
    )


def find_orphans(tx: Reader) -> list[str]:
    """What belongs to nobody, and how much of it."""
    events, event = checks.lost_events(tx)
    items, recipient = checks.stuck_items(tx)
    entities, entity = checks.half_entities(tx)
    findings = [
        (events, f"events in no inbox: {events}, the first is {event!r}"),
        (items, f"items claimed by nobody: {items}, the first is for {recipient!r}"),
        (entities, f"entities without name or inbox: {entities}, the first is {entity!r}"),
    ]
    return [text for count, text in findings if count]
