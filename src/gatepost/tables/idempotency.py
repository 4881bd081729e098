"""Idempotency keys: the replies to requests that a client may repeat."""

from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction


def insert_key(tx: Transaction, scope: str, key: str, digest: str) -> bool:
    """Return False if the key was seen before; wait for a transaction that is storing it now."""
    return tx.execute("idempotency_keys/insert", scope=scope, key=key, digest=digest, now=tx.now) == 1


def save_reply(tx: Transaction, scope: str, key: str, body: str) -> None:
    tx.execute("idempotency_keys/save_reply", scope=scope, key=key, body=body)


def read_reply(tx: Reader, scope: str, key: str) -> tuple[str, str] | None:
    """Return the digest of the request, and the reply as JSON."""
    row = tx.fetch_one("idempotency_keys/read", scope=scope, key=key)
    return (row.digest, row.body) if row else None


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("idempotency_keys/reap", before=before, limit=limit)
