"""
Who should wake. An event wakes its recipient when it is committed, unless it is for information only (fyi) or its chain
is too long. An fyi item wakes its recipient after a while (`policy.fyi_wait`). A signal may be lost, so workers also
look for inboxes whose recipient should wake.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from gatepost.core.ports import Reader
from gatepost.directory.attention import Attention
from gatepost.directory.attention_actions import get_max_priority
from gatepost.inbox.expiry_actions import BATCH_SIZE
from gatepost.reactions import RoomQuestion


class Reception(NamedTuple):
    """Why what is pushed to an entity may wait."""

    #: it has had sessions in other programs, and each is lost
    is_lost: bool
    attention: Attention | None

    def find_obstacle(self, priority: int) -> Attention | None:
        """Return the attention that keeps an item of this priority from waking the entity; None if nothing does."""
        return self.attention if priority > get_max_priority(self.attention) else None


#: of an entity that can be reached, and that everything wakes
OPEN_RECEPTION: Final = Reception(is_lost=False, attention=None)


class FindReceptions(RoomQuestion[Callable[[], Mapping[str, Reception]]]):
    """
    What keeps pushes from reaching or waking these entities, by name; without those that nothing does. The answer is a
    function that returns it, so that the query can be sent with the next statement.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names


def find_inboxes_to_wake(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """
    Return the names of entities that should wake and that nobody works for: their items were committed, but the signal
    may have been lost. Read one batch of inboxes with items, from the number `after` on; return also where the next
    batch begins, None at the end.
    """
    rows = tx.fetch_all(
        "inbox/inboxes/list_pending",
        after=after,
        limit=BATCH_SIZE,
        now=tx.now,
        fyi_before=tx.now - tx.policy.fyi_wait,
    )
    return [row.name for row in rows if row.is_waking], rows[-1].number if len(rows) == BATCH_SIZE else None


def find_agents_behind(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """Return the names of agents that have not taken the last broadcast that wakes, and where the next batch begins."""
    if tx.fetch_one("inbox/inboxes/has_waking_broadcast", now=tx.now) is None:
        return [], None  # the inboxes of all agents need not be looked at
    rows = tx.fetch_all("inbox/inboxes/list_behind", after=after, limit=BATCH_SIZE, now=tx.now)
    return [row.name for row in rows], rows[-1].number if len(rows) == BATCH_SIZE else None
