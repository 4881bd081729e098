"""
Chains of events: the `hops` of an event count the events that led to it. A chain that is too long wakes nobody.

What an agent sends has one hop more than the longest chain behind it: in the batch of its run, and in the items that
reached its inbox in the last five minutes, back to the last item from a person. It does not matter how the agent read
them, or whether it did. An item is from a person if its sender is human and it has no hops: if a program reports in a
person's name what an agent did, the item has hops.

What Gatepost itself pushes names its `cause`. It carries the hops of an event, if that is not older than five minutes;
of an agent, it has the hops that the agent's next event would have. An alert of a chain that is too long wakes the
owner, but nobody whom an agent that is an owner writes to because of it.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core.ports import Reader
from gatepost.core.times import HOUR, Instant
from gatepost.directory import entity_rows as entities
from gatepost.directory.entity import Entity, EntityKind
from gatepost.inbox.event import CHAIN_PAUSE, Event, Push, Ref, compute_next_hops

#: items of an inbox that are checked; a loop with more foreign items between its steps is not the greatest cost there
MAX_CHAIN_ITEMS: Final = 50


def count_next_hops(tx: Reader, sender: Entity | None) -> int:
    """Return the hops of the next event of a sender; only an agent continues a chain."""
    return _count_hops(tx, [sender]).get(sender.number, 0) if sender is not None else 0


def _count_hops(tx: Reader, senders: Iterable[Entity]) -> dict[int, int]:
    """Return the hops of the next event of each agent among these senders, by its number, with one query for all."""
    agents = [sender.number for sender in senders if sender.kind is EntityKind.AGENT]
    if not agents:
        return {}
    since, until = tx.now - CHAIN_PAUSE, tx.now + CHAIN_PAUSE
    rows = tx.fetch_all(
        "inbox/items/find_longest_chains", entities=sorted(set(agents)), since=since, until=until, limit=MAX_CHAIN_ITEMS
    )
    longest = {row.recipient: row.hops for row in rows}  # each inbox is read back to its last item from a person
    return {agent: compute_next_hops(hops) for agent, hops in longest.items()}


def continue_chains(tx: Reader, pushes: Sequence[Push], senders: Sequence[Entity | None]) -> list[Push]:
    """
    Return the pushes with the hops of the chains of their senders and causes; hops that a push names count only if they
    are more. `senders` has the sender of each push.
    """
    causes = {push.cause for push in pushes if push.cause is not None}
    if not causes and not any(senders):
        return list(pushes)
    names = [cause.id for cause in causes if cause.type == "agent"]
    agents = entities.find_by_names(tx, names).values() if names else ()
    hops = _count_hops(tx, [*(sender for sender in senders if sender is not None), *agents])
    cause_hops = {Ref("agent", agent.name): hops.get(agent.number, 0) for agent in agents}
    if events := [cause.id for cause in causes if cause.type == "event"]:
        rows = tx.fetch_all("inbox/events/read_hops", ids=sorted(events), since=tx.now - CHAIN_PAUSE)
        cause_hops |= {Ref("event", row.id): row.hops for row in rows}
    min_hops = [
        max(hops.get(sender.number, 0) if sender else 0, cause_hops.get(push.cause, 0) if push.cause else 0)
        for push, sender in zip(pushes, senders, strict=True)
    ]
    return [
        replace(push, hops=least) if 0 <= push.hops < least else push
        for push, least in zip(pushes, min_hops, strict=True)
    ]


def build_alert_text(event: Event, recipient: str) -> str:
    """Return what the owner of a recipient (`*`: of all agents) hears of a chain that is too long."""
    origin = f" from {event.sender.name!r}" if event.sender else ""
    audience = "every agent" if recipient == "*" else repr(recipient)
    return (
        f"a chain of {event.hops} events{origin} reached {audience}:"
        f" the last one was stored and woke nobody (event {event.id})"
    )


def build_alert_topic(sender: str | None, recipient: str, now: Instant) -> str:
    """Return the topic of that alert. All events from one sender to one recipient within an hour share one alert."""
    return f"hops:{sender or '-'}:{recipient}:{now // HOUR}"
