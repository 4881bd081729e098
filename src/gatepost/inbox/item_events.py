"""What happens in inboxes, for the rooms that react to it (`reactions.py`)."""

from collections.abc import Sequence
from typing import NamedTuple

from gatepost.inbox.event import Event, Item


class Pushed(NamedTuple):
    """An urgent event was stored; `persons` are the numbers of those who had not got it before."""

    event: Event
    persons: Sequence[int]


class ItemsRead(NamedTuple):
    """The items of a claim were read; some are mail whose sender waits to hear it."""

    claim: int


class ItemsDiscarded(NamedTuple):
    """These items of one event are about to be discarded."""

    items: Sequence[Item]
