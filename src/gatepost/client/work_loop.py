"""
A loop over the items of an inbox, for a program that works on them one by one.

    claim one item, and wait for it  ->  the body of the loop  ->  ack
                                         it raises, or leaves the loop  ->  release

No item is missed between a claim that finds nothing and the wait, because both are one request. Delivery is at least
once: what was not acked comes again, and critical items that were claimed together are acked together.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from gatepost.client.request_retries import RetrySchedule
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.item_api import AckClaim, BatchView, ClaimBatch, ClaimView, ReleaseClaim
from gatepost.operations.operation import Request

#: seconds that one request waits for an item
_WAIT: Final = 30.0


def build_claim(name: str, hold: str) -> ClaimBatch:
    """Return the request for the next item of an inbox, which waits for one."""
    return ClaimBatch(name=name, owner=f"work:{os.urandom(8).hex()}", limit=1, hold=hold, wait=_WAIT)


def build_claim_ends(claim: ClaimView) -> tuple[AckClaim, ReleaseClaim]:
    """Return the two requests that end a claim."""
    fields: Any = {
        "name": claim.recipient,
        "claim_id": claim.claim_id,
        "owner": claim.owner,
        "fence": claim.fence,
    }
    return AckClaim(**fields), ReleaseClaim(**fields)


def work(send: Callable[[Request[Any]], Any], name: str, hold: str, retry_time: float) -> Iterator[ItemView]:
    """Return the items of an inbox, one at a time, for ever."""
    claim, retries = build_claim(name, hold), RetrySchedule(retry_time)
    while True:
        try:
            batch: BatchView = send(claim)
        except Unavailable:
            pause = retries.next_pause()
            if pause is None:
                raise
            time.sleep(pause)
            continue
        retries = RetrySchedule(retry_time)
        if batch.claim is None:
            continue
        ack, release = build_claim_ends(batch.claim)
        try:
            yield from batch.items
        except BaseException:
            with suppress(GatepostError):  # then the claim lapses
                send(release)
            raise
        send(ack)
