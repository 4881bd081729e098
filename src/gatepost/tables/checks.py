"""What cannot be, and is looked for all the same: each the number found, and the first of them."""

from gatepost.ports import Reader


def lost_events(tx: Reader) -> tuple[int, str]:
    """Events that are nobody's."""
    return _found(tx, "checks/lost_events")


def stuck_items(tx: Reader) -> tuple[int, str]:
    """Items claimed by nobody, and whose."""
    return _found(tx, "checks/stuck_items")


def half_entities(tx: Reader) -> tuple[int, str]:
    """Entities without a name or an inbox."""
    return _found(tx, "checks/half_entities")


def _found(tx: Reader, statement: str) -> tuple[int, str]:
    row = tx.fetch_one(statement)
    assert row is not None
    return int(row.total), row.first or ""
