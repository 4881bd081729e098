"""What agents remember. Memories belong to whoever made them: keys are looked up among one's own."""

from collections.abc import Iterable, Mapping

from gatepost.actions import directory
from gatepost.core import memory as rules
from gatepost.core.entity import Entity
from gatepost.core.instants import Instant
from gatepost.core.memory import Memory
from gatepost.errors import Invalid
from gatepost.ports.store import Reader, Work
from gatepost.tables import memories


def set(work: Work, name: str, wishes: Mapping[str, str]) -> int:
    """Write values under keys, over what is there; return how many. All of them, or none."""
    whose = directory.find_live(work, name).number
    checked = {rules.key(key): rules.value(value) for key, value in wishes.items()}
    new = sum(memories.read(work, whose, key) is None for key in checked)
    if new and memories.count(work, whose) + new > rules.MOST:
        raise Invalid(
            f"that would be more than {rules.MOST} memories", hint="delete those that are not needed any more"
        )
    for key, value in checked.items():
        memories.set(work, whose, key, value)
    return len(checked)


def page(
    reader: Reader,
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
    whose = directory.find(reader, name).number
    if keys is None:
        return memories.page(reader, whose, after, limit)
    found = [memories.read(reader, whose, rules.key(key)) for key in dict.fromkeys(keys)]
    return sorted((one for one in found if one), key=lambda one: (-one.updated_at, one.key))[:limit]


def delete(work: Work, name: str, keys: Iterable[str]) -> int:
    """Forget what is under these keys; return how many there were."""
    whose = directory.find_live(work, name).number
    return sum(memories.delete(work, whose, rules.key(key)) for key in dict.fromkeys(keys))
