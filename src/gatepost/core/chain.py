"""
Chains of events (I13): the `hops` of an event count the events that led to it. A chain that is too long wakes nobody.

What an agent sends has one hop more than the longest chain behind it: in the batch of its run, and in the items that
reached its inbox in the last five minutes, back to the last item from a person. It does not matter how the agent read
them, or whether it did. An item is from a person if its sender is human and it has no hops: if a program reports in a
person's name what an agent did, the item has hops.
"""

from typing import Final

from gatepost.core.times import HOUR, MINUTE, Duration, Instant

#: the largest number of hops that is counted
MAX_HOPS: Final = 10_000
#: after a pause of this length a new chain begins: an agent that looks again every ten minutes is no runaway
CHAIN_PAUSE: Final[Duration] = 5 * MINUTE
#: items of an inbox that are checked; in a loop with more items of others in between, those cost more than the loop
MAX_ITEMS: Final = 50


def compute_next_hops(hops: int) -> int:
    """Return the hops of the next event of a chain."""
    return min(hops + 1, MAX_HOPS)


def build_alert_topic(sender: str | None, recipient: str, now: Instant) -> str:
    """Return the topic of an alert. All events from one sender to one recipient within an hour share one alert."""
    return f"hops:{sender or '-'}:{recipient}:{now // HOUR}"
