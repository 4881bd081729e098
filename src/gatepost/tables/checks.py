"""What cannot be, and is looked for all the same: each the number found, and the first of them."""

from gatepost.ports.store import Reader


def lost_events(reader: Reader) -> tuple[int, str]:
    """Events that are nobody's."""
    return _found(reader, "checks/lost_events")


def stuck_items(reader: Reader) -> tuple[int, str]:
    """Items claimed by nobody, and whose."""
    return _found(reader, "checks/stuck_items")


def half_entities(reader: Reader) -> tuple[int, str]:
    """Entities without a name or an inbox."""
    return _found(reader, "checks/half_entities")


def _found(reader: Reader, statement: str) -> tuple[int, str]:
    row = reader.one(statement)
    assert row is not None
    return int(row[0]), row[1] or ""
