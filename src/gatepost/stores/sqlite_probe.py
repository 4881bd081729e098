"""
Checks whether an agent has items to read in a SQLite store.

Nearly every hook of a guest does this, so it is one statement on a bare connection. It has its own module because the
modules of the store take longer to import than the check takes.
"""

import sqlite3

from gatepost.core.times import Instant
from gatepost.errors import Unavailable
from gatepost.stores.statements import get_statement


def has_items(path: str, agent: str, *, now: Instant, busy_timeout: float) -> bool:
    """Return True if the agent has items to read. Wait up to `busy_timeout` seconds for a writer."""
    try:
        database = sqlite3.connect(path, timeout=busy_timeout, isolation_level=None)
        try:
            row = database.execute(
                get_statement("sqlite", "inbox/inboxes/has_items"), {"agent": agent, "now": now}
            ).fetchone()
        finally:
            database.close()
    except sqlite3.Error as error:
        raise Unavailable(f"the store {path!r} cannot be read: {error}") from None
    return row is not None
