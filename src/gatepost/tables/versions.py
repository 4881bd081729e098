"""The version of the schema, for those who do not migrate it."""

from gatepost.ports import Reader


def read(tx: Reader) -> tuple[int, int]:
    """The version that the store has, and the oldest code that may use it."""
    row = tx.fetch_one("versions/read")
    assert row is not None
    return row.version, row.oldest
