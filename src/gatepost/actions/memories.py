"""The memories of agents. A memory belongs to the agent that set it; every agent has its own keys."""

from collections.abc import Iterable, Mapping

from gatepost.actions import directory
from gatepost.core import memory as rules
from gatepost.core.entity import Entity
from gatepost.core.memory import Memory
from gatepost.core.times import Instant
from gatepost.errors import Invalid
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents


def set_memories(tx: Transaction, name: str, values: Mapping[str, str]) -> int:
    """Write values under keys, all of them or none, and replace those that exist; return how many."""
    owner = directory.find_live(tx, name).number
    entries = {rules.check_key(key): rules.check_value(value) for key, value in values.items()}
    new_count = sum(agents.read_memory(tx, owner, key) is None for key in entries)
    if new_count and agents.count_memories(tx, owner) + new_count > rules.MAX_MEMORIES:
        raise Invalid(
            f"that would be more than {rules.MAX_MEMORIES} memories", hint="delete those that are not needed any more"
        )
    for key, value in entries.items():
        agents.set_memory(tx, owner, key, value)
    return len(entries)


def page(
    tx: Reader,
    name: str | Entity,
    *,
    keys: Iterable[str] | None = None,
    after: tuple[Instant, str] | None = None,
    limit: int = rules.MAX_MEMORIES,
) -> list[Memory]:
    """
    Return the memories of an agent, the newest first: all, or those under these keys. `after` is the time and the key
    of the last memory seen.
    """
    owner = directory.find(tx, name).number
    if keys is None:
        return agents.list_memories(tx, owner, after, limit)
    rows = [agents.read_memory(tx, owner, rules.check_key(key)) for key in dict.fromkeys(keys)]
    return sorted((memory for memory in rows if memory), key=lambda memory: (-memory.updated_at, memory.key))[:limit]


def delete(tx: Transaction, name: str, keys: Iterable[str]) -> int:
    """Delete the memories under these keys; return how many existed."""
    owner = directory.find_live(tx, name).number
    return sum(agents.delete_memory(tx, owner, rules.check_key(key)) for key in dict.fromkeys(keys))
