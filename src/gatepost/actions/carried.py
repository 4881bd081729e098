"""How a guest reads what reached it by two roads: its session's spool, and its inbox here (`core/carried.py`)."""

from collections.abc import Collection, Iterable, Sequence

from gatepost.actions import inbox
from gatepost.actions.inbox import Terms
from gatepost.core import batch as rules
from gatepost.core import carried
from gatepost.core.carried import Known, Reading
from gatepost.core.entity import Entity
from gatepost.core.entry import Entry
from gatepost.core.event import State
from gatepost.core.text import storable
from gatepost.errors import Invalid
from gatepost.ports import Reader, Transaction
from gatepost.tables import claims, items


def gather(
    tx: Transaction,
    name: str,
    lines: Sequence[Entry],
    *,
    owner: str,
    shown: Collection[str] = (),
    unproved: Collection[str] = (),
    reconcile: bool = True,
    cap: int = rules.GUEST_CAP,
    budget: int = rules.GUEST_BUDGET,
) -> Reading:
    """
    Take the next batch of an inbox and a spool together: what of it is here is claimed. Without `reconcile` only those
    items here are taken of which a line tells. What is pending here though its key was `shown` is marked as delivered;
    what the session has printed and is still `unproved` is neither taken nor marked.
    """
    terms = Terms(owner=owner, cap=cap, budget=budget)
    reader, fence = inbox.enter(tx, name, terms)
    keys = [entry.dedup_key for entry in lines if entry.dedup_key]
    noted = {*shown, *unproved}
    known = _known(tx, reader.number, [*keys, *noted], [*(entry.id for entry in lines), *noted])
    _deliver(tx, reader, fence, [known[key] for key in shown if key in known], terms)
    found = carried.sort_out(lines, now=tx.now, shown=noted, known=known)
    printed = {known[key].arrival for key in unproved if key in known and known[key].state is State.PENDING}
    here = inbox.candidates(tx, reader.number, terms, without=printed) if reconcile else []
    here += items.candidates_at(tx, reader.number, sorted(found.stored))
    chosen = rules.choose([*here, *carried.candidates(found.fresh)], cap=cap, budget=budget)
    batch = inbox.take(tx, reader, fence, [one for one in chosen if one.arrival < carried.BEHIND], terms)
    held = max(0, items.waiting(tx, reader.number, rules.COUNTED) - len(printed))
    return carried.reading(found, chosen, at=tx.now, claim=batch.claim, items=batch.items, held=held)


def deliver(tx: Transaction, name: str, keys: Iterable[str], *, owner: str) -> None:
    """Mark the pending items with these keys as delivered, without showing them."""
    terms = Terms(owner=owner)
    reader, fence = inbox.enter(tx, name, terms)
    _deliver(tx, reader, fence, _known(tx, reader.number, keys, ()).values(), terms)


def _deliver(tx: Transaction, reader: Entity, fence: int, known: Iterable[Known], terms: Terms) -> None:
    """Mark what was shown by the other road, while this store was out of reach or had not heard of it yet."""
    pending = sorted({item.arrival for item in known if item.state is State.PENDING})
    if pending:
        receipt = inbox.claimed(tx, reader, fence, terms)
        items.take(tx, reader.number, pending, receipt.number)
        claims.end(tx, receipt.id, terms.owner, fence, "acked")
        items.deliver(tx, receipt.number)


def _known(tx: Reader, recipient: int, keys: Iterable[str], names: Iterable[str]) -> dict[str, Known]:
    """What is known here of these keys and ids of events, by each of them."""
    whole = sorted({key for key in keys if _storable(key)})
    events = sorted({name for name in names if carried.ours(name)})
    return items.known(tx, recipient, whole, events) if whole or events else {}


def _storable(key: str) -> bool:
    try:
        return bool(storable("key", key))
    except Invalid:
        return False
