"""
Run a request with an idempotency key once, however often it is sent.

A client that repeats a request, because it did not get the answer, sends the same key again. Why the verb runs only
once, and every repeat gets the answer of the first request:

- The key is written before the verb runs, in the same transaction. A repeat that comes meanwhile conflicts at the
  unique index and waits there (on SQLite, for the writer); when the first transaction ends, it finds the answer.
- The answer is written after the verb, in the same transaction: there is no effect without its answer.
- A verb that raises leaves neither, so a client whose request was refused may try again with the same key.

    key -> new?  yes: verb -> answer      no, same request: the stored answer      no, another request: `Reused`
"""

import json
from collections.abc import Callable
from typing import Concatenate, ParamSpec

from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, RetryTransaction, Transaction
from gatepost.core.times import Instant
from gatepost.errors import Reused

P = ParamSpec("P")


def run_once(
    tx: Transaction,
    scope: str,
    key: str,
    digest: str,
    verb: Callable[Concatenate[Transaction, P], Json],
    *args: P.args,
    **kwargs: P.kwargs,
) -> Json:
    """
    Run a verb that returns JSON, or return what it returned the first time. The `scope` separates the keys of different
    callers; the `digest` covers everything that must be equal in two requests with the same key. The key was checked
    (`Operation.check_key`).
    """
    if not insert_key(tx, scope, key, digest):
        row = read_reply(tx, scope, key)
        if row is None:
            raise RetryTransaction(f"the answer to the key {key!r} was just forgotten")
        if row[0] != digest:
            raise Reused(
                f"the idempotency key {key!r} was used for another request", hint="use a new key for a new request"
            )
        return json.loads(row[1])
    value = verb(tx, *args, **kwargs)
    save_reply(tx, scope, key, json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
    return value


def insert_key(tx: Transaction, scope: str, key: str, digest: str) -> bool:
    """Return False if the key was seen before; wait for a transaction that is storing it now."""
    return tx.execute("jobs/idempotency_keys/insert", scope=scope, key=key, digest=digest, now=tx.now) == 1


def save_reply(tx: Transaction, scope: str, key: str, body: str) -> None:
    tx.execute_later("jobs/idempotency_keys/save_reply", scope=scope, key=key, body=body)


def read_reply(tx: Reader, scope: str, key: str) -> tuple[str, str] | None:
    """Return the digest of the request, and the reply as JSON."""
    row = tx.fetch_one("jobs/idempotency_keys/read", scope=scope, key=key)
    return (row.digest, row.body) if row else None


def reap(tx: Transaction, before: Instant, limit: int) -> int:
    return tx.execute("jobs/idempotency_keys/reap", before=before, limit=limit)
