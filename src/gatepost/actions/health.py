"""Whether the books are right: what `gatepost doctor` and `/health` ask."""

from gatepost.actions import upkeep
from gatepost.core.account import Account
from gatepost.ports import Reader
from gatepost.tables import checks


def unbalanced(tx: Reader) -> tuple[list[Account], int, int]:
    """Inboxes whose accounts do not balance; and how many inboxes there are, and what they accepted in all."""
    accounts = upkeep.accounts(tx)
    return [each for each in accounts if not each.balanced], len(accounts), sum(each.accepted for each in accounts)


def orphans(tx: Reader) -> list[str]:
    """What belongs to nobody, and how much of it."""
    events, event = checks.lost_events(tx)
    items, recipient = checks.stuck_items(tx)
    entities, entity = checks.half_entities(tx)
    found = [
        (events, f"events in no inbox: {events}, the first is {event!r}"),
        (items, f"items claimed by nobody: {items}, the first is for {recipient!r}"),
        (entities, f"entities without name or inbox: {entities}, the first is {entity!r}"),
    ]
    return [words for count, words in found if count]
