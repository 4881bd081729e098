"""What was answered to requests that may be repeated."""

from gatepost.core.times import Instant
from gatepost.ports import Reader, Transaction


def begin(tx: Transaction, scope: str, key: str, digest: str) -> bool:
    """Say whether the key is new; if somebody else is at it just now, wait until they are through."""
    return tx.execute("replies/insert", scope=scope, key=key, digest=digest, now=tx.now) == 1


def answer(tx: Transaction, scope: str, key: str, body: str) -> None:
    tx.execute("replies/answer", scope=scope, key=key, body=body)


def read(tx: Reader, scope: str, key: str) -> tuple[str, str] | None:
    """The digest of the request, and the answer as JSON."""
    row = tx.fetch_one("replies/read", scope=scope, key=key)
    return (row.digest, row.body) if row else None


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("replies/reap", before=before, limit=limit)
