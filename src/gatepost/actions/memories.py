"""What agents remember. Memories belong to whoever made them: keys are looked up among one's own."""

from collections.abc import Iterable, Mapping

from gatepost.actions import directory
from gatepost.core import memory as rules
from gatepost.core.entity import Entity
from gatepost.core.instants import Instant
from gatepost.core.memory import Memory
from gatepost.errors import Invalid
from gatepost.ports import Reader, Transaction
from gatepost.tables import memories


def set(tx: Transaction, name: str, wishes: Mapping[str, str]) -> int:
    """Write values under keys, over what is there; return how many. All of them, or none."""
    whose = directory.find_live(tx, name).number
    checked = {rules.key(key): rules.value(value) for key, value in wishes.items()}
    new = sum(memories.read(tx, whose, key) is None for key in checked)
    if new and memories.count(tx, whose) + new > rules.MOST:
        raise Invalid(
            f"that would be more than {rules.MOST} memories", hint="delete those that are not needed any more"
        )
    for key, value in checked.items():
        memories.set(tx, whose, key, value)
    return len(checked)


def page(
    tx: Reader,
    name: str | Entity,
    *,
    keys: Iterable[str] | None = None,
    after: tuple[Instant, str] | None = None,
    limit: int = rules.MOST,
) -> list[Memory]:
    """
    The memories of an agent, the newest first: all, or those under these keys. `after` says of the last one seen when
    it was set, and its key.
    """
    whose = directory.find(tx, name).number
    if keys is None:
        return memories.page(tx, whose, after, limit)
    found = [memories.read(tx, whose, rules.key(key)) for key in dict.fromkeys(keys)]
    return sorted((one for one in found if one), key=lambda one: (-one.updated_at, one.key))[:limit]


def delete(tx: Transaction, name: str, keys: Iterable[str]) -> int:
    """Forget what is under these keys; return how many there were."""
    whose = directory.find_live(tx, name).number
    return sum(memories.delete(tx, whose, rules.key(key)) for key in dict.fromkeys(keys))
