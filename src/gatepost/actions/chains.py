"""Find the chain of events behind what a sender sends next, and count its hops (see `core/chain.py`)."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from gatepost.core import chain
from gatepost.core.address import Address, EntityAddress
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import Push
from gatepost.ports import Reader
from gatepost.tables import items


def count_next_hops(tx: Reader, sender: Entity | None) -> int:
    """Return the hops of the next event of a sender; only an agent continues a chain."""
    return _count_hops(tx, [sender]).get(sender.number, 0) if sender is not None else 0


def _count_hops(tx: Reader, senders: Iterable[Entity]) -> dict[int, int]:
    """Return the hops of the next event of each agent among these senders, by its number, with one query for all."""
    agents = [sender.number for sender in senders if sender.kind is EntityKind.AGENT]
    if not agents:
        return {}
    since, until = tx.now - chain.CHAIN_PAUSE, tx.now + chain.CHAIN_PAUSE
    longest = items.find_longest_chains(tx, agents, since=since, until=until, limit=chain.MAX_ITEMS)
    return {agent: chain.compute_next_hops(hops) for agent, hops in longest.items()}


def apply_hops(
    tx: Reader, pushes: Sequence[Push], entities_by_address: Mapping[Address, list[Entity]]
) -> Sequence[Push]:
    """Return the pushes with the hops of their senders' chains; hops that a push names count only if they are more."""
    matches = {push.sender: entities_by_address.get(EntityAddress(push.sender)) for push in pushes if push.sender}
    senders = {name: candidates[0] for name, candidates in matches.items() if candidates}
    hops = _count_hops(tx, senders.values())
    if not any(hops.values()):
        return pushes
    min_hops: dict[str | None, int] = {name: hops.get(sender.number, 0) for name, sender in senders.items()}
    return [
        replace(push, hops=min_hops[push.sender]) if 0 <= push.hops < min_hops.get(push.sender, 0) else push
        for push in pushes
    ]
