"""Checks of the store: each returns the number of rows that should not exist, and the first of them."""

from gatepost.ports import Reader


def count_lost_events(tx: Reader) -> tuple[int, str]:
    """Count events that no inbox has."""
    return _count(tx, "integrity/count_lost_events")


def count_stuck_items(tx: Reader) -> tuple[int, str]:
    """Count claimed items without an open claim; the first is the name of a recipient."""
    return _count(tx, "integrity/count_stuck_items")


def count_incomplete_entities(tx: Reader) -> tuple[int, str]:
    """Count entities without a name or an inbox."""
    return _count(tx, "integrity/count_incomplete_entities")


def read_schema_version(tx: Reader) -> tuple[int, int]:
    """Return the version of the schema, and the oldest version of the code that may use it."""
    row = tx.fetch_one("schema/read_version")
    assert row is not None
    return row.version, row.oldest


def _count(tx: Reader, statement: str) -> tuple[int, str]:
    row = tx.fetch_one(statement)
    assert row is not None
    return int(row.total), row.first or ""
