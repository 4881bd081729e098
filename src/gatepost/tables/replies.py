"""What was answered to requests that may be repeated."""

from gatepost.core.instants import Instant
from gatepost.ports.store import Reader, Work


def begin(work: Work, scope: str, key: str, digest: str) -> bool:
    """Say whether the key is new; if somebody else is at it just now, wait until they are through."""
    return work.run("replies/insert", scope=scope, key=key, digest=digest, now=work.now) == 1


def answer(work: Work, scope: str, key: str, body: str) -> None:
    work.run("replies/answer", scope=scope, key=key, body=body)


def read(reader: Reader, scope: str, key: str) -> tuple[str, str] | None:
    """The digest of the request, and the answer as JSON."""
    row = reader.one("replies/read", scope=scope, key=key)
    return (row[0], row[1]) if row else None


def reap(work: Work, before: Instant, most: int) -> int:
    return work.run("replies/reap", before=before, most=most)
