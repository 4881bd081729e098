"""
Chains of events (I13): an event's `hops` count the events that led to it, and a chain that is too long wakes nobody.

What an agent sends has one hop more than the longest chain behind it: of the batch of its run, and of the items that
reached its inbox in the last five minutes, back to the last one from a person. It does not matter how the agent read
them, or whether it did. An item is from a person if its sender is human and it has no hops: a message by which a
program passes on what an agent did, in a person's name, has some.
"""

from typing import Final

from gatepost.core.times import HOUR, MINUTE, Duration, Instant

#: links of a chain of events that are counted: one that is longer stays so long
MAX_HOPS: Final = 10_000
#: what comes so long after it was set begins a new chain: who looks again every ten minutes does not run away
CHAIN_PAUSE: Final[Duration] = 5 * MINUTE
#: items of an inbox that are looked at for one; a loop that others interrupt more than that costs less than they do
MAX_ITEMS: Final = 50


def compute_next_hops(hops: int) -> int:
    """Return the hops of what follows a chain."""
    return min(hops + 1, MAX_HOPS)


def build_alert_topic(sender: str | None, recipient: str, now: Instant) -> str:
    """Return what an alert is about: all events of one sender to one recipient within an hour share one alert."""
    return f"hops:{sender or '-'}:{recipient}:{now // HOUR}"
