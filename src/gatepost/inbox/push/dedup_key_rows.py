"""The keys by which an inbox recognises a repeat. An item has its key until it is removed, or the key is freed."""

from collections.abc import Callable, Sequence
from typing import Any

from gatepost.core.ports import Reader, Transaction
from gatepost.inbox.item_rows import NewItem

#: the keys of recipients, by their numbers
TakenKeys = set[tuple[int, str]]


def list_taken_later(tx: Reader, names: Sequence[str], keys: Sequence[str]) -> Callable[[], TakenKeys]:
    """Return a function that returns which of these keys these entities have, once another statement has run."""
    if not keys:
        return set
    fetch = tx.fetch_later("inbox/dedup_keys/list_taken", names=sorted(set(names)), keys=sorted(set(keys)))
    return lambda: {(row.recipient, row.dedup_key) for row in fetch()}


def take(tx: Transaction, rows: Sequence[NewItem], taken_keys: TakenKeys | None = None) -> list[NewItem]:
    """
    Let items take their keys; return those that are no repeat. An item without a key is none. If it is known which keys
    were taken a moment ago, and none of these was, nobody has to wait for the answer.
    """
    keyed_rows = [row for row in rows if row[2] is not None]
    if not keyed_rows:
        return list(rows)
    columns: dict[str, list[Any]] = {
        "recipient": [row[0] for row in keyed_rows],
        "dedup_key": [row[2] for row in keyed_rows],
        "arrival": [row[1] for row in keyed_rows],
    }
    if taken_keys is not None:
        wanted_keys = {(row[0], row[2]) for row in keyed_rows}
        if len(wanted_keys) == len(keyed_rows) and wanted_keys.isdisjoint(taken_keys):
            tx.execute_many_later("inbox/dedup_keys/insert_new", columns, may_collide=True)
            return list(rows)
    if tx.execute_many("inbox/dedup_keys/insert", columns) == len(keyed_rows):
        return list(rows)
    recipients: dict[str, list[int]] = {}
    for recipient, _, key, *_ in keyed_rows:
        recipients.setdefault(key or "", []).append(recipient)
    fetches = [
        tx.fetch_later("inbox/dedup_keys/find_arrivals", recipients=numbers, dedup_key=key)
        for key, numbers in recipients.items()
    ]
    new_items = {(row.recipient, row.arrival) for fetch in fetches for row in fetch()}
    return [row for row in rows if row[2] is None or (row[0], row[1]) in new_items]


def find_events(tx: Reader, recipients: Sequence[int], key: str) -> dict[int, str]:
    """Return the id of the first event with this key, by recipient."""
    rows = tx.fetch_all("inbox/dedup_keys/find_events", recipients=list(recipients), dedup_key=key)
    return {row.recipient: row.event for row in rows}


def free(tx: Transaction, recipients: Sequence[int], key: str) -> None:
    """Take this key from items that are not pending any more, so that another item can have it."""
    tx.execute_later("inbox/dedup_keys/free", recipients=list(recipients), dedup_key=key, now=tx.now)
