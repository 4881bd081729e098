"""Whether the books are right: what `gatepost doctor` and `/health` ask."""

from gatepost.actions import upkeep
from gatepost.core.account import Account
from gatepost.ports.store import Reader
from gatepost.tables import checks


def unbalanced(reader: Reader) -> tuple[list[Account], int, int]:
    """Inboxes whose accounts do not balance; and how many inboxes there are, and what they accepted in all."""
    accounts = upkeep.accounts(reader)
    return [each for each in accounts if not each.balanced], len(accounts), sum(each.accepted for each in accounts)


def orphans(reader: Reader) -> list[str]:
    """What belongs to nobody, and how much of it."""
    events, event = checks.lost_events(reader)
    items, recipient = checks.stuck_items(reader)
    entities, entity = checks.half_entities(reader)
    found = [
        (events, f"events in no inbox: {events}, the first is {event!r}"),
        (items, f"items claimed by nobody: {items}, the first is for {recipient!r}"),
        (entities, f"entities without name or inbox: {entities}, the first is {entity!r}"),
    ]
    return [words for count, words in found if count]
