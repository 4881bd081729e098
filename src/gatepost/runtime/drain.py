"""
Drain: how a guest reads its inbox, through whichever door.

    claim  ->  write out, flush  ->  ack

The order is the promise. Items are acked only after they were written out, so whatever goes wrong before that gives
them out again: delivery to a guest is at least once, and a repeat happens only across a failure.

- *Killed in between*, at any instruction: the claim is open and nobody acks it. At its deadline it lapses, and the
  items go to the next reader. Nothing has to run in this process for that.
- *The write fails* (the pipe is broken, the disk is full, the caller hung up): it is certain that the reader did not
  get all of it, so the batch is released at once instead of holding everybody up until the deadline, and the next
  reader is rung for. The error goes on to the caller: nobody may take a failed drain for an empty one. No failure is
  counted against the items, for it was not theirs. If the release fails too, the claim lapses as if we had been killed.
- *The ack fails*: the items have been shown and will be shown again. The caller gets the error, after the output. If
  the claim had lapsed and another reader has the items, that is a Conflict, and the fence sees to it that this late ack
  touches nothing of theirs.

What "written out" means is for `write` to say, and it must mean it: return only when the last byte was accepted by
whoever it is for (the pipe, the file, the socket), raise otherwise. A reader that dies with the batch in its pipe has
it, as far as anybody can tell.
"""

from collections.abc import Callable
from contextlib import suppress

from gatepost.actions import inbox, maintenance
from gatepost.core.batch import GUEST_BUDGET, GUEST_LIMIT
from gatepost.core.claim import Batch
from gatepost.core.times import Duration
from gatepost.errors import GatepostError
from gatepost.ports import Store

#: how much old business a drain clears away
SWEEP_LIMIT = 200


def drain(
    store: Store,
    name: str,
    *,
    owner: str,
    write: Callable[[Batch], None],
    limit: int = GUEST_LIMIT,
    budget: int = GUEST_BUDGET,
    hold: Duration | None = None,
) -> Batch:
    """Deliver the next batch of an inbox by `write`, which is not called when nothing waits; return the batch."""
    batch = store.call(inbox.claim, name, owner=owner, limit=limit, budget=budget, hold=hold)
    if batch.claim is None:
        return batch
    id, fence = batch.claim.id, batch.claim.fence
    try:
        write(batch)
    except BaseException:
        with suppress(GatepostError):
            store.call(inbox.release, id, owner=owner, fence=fence)
        raise
    store.call(inbox.ack, id, owner=owner, fence=fence)
    return batch


def sweep(store: Store) -> None:
    """
    Keep house a little after a drain, so that a machine without a gateway keeps it too: a bounded batch of each, and
    what cannot be done now is left to the next one.
    """
    with suppress(GatepostError):
        for verb in (maintenance.lapse_claims, maintenance.expire_items, maintenance.reap):
            store.call(verb, limit=SWEEP_LIMIT)
