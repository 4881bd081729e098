"""
Followed decisions: a program asks for the outcome again and again, and shows it to the model of the asker
(`gatepost/mcp/tasks.py`).

The outcome comes to the asker's inbox, too, because a program may lose what it follows. So that a model reads it once:

    outcome -> its item is hidden for `FOLLOW_TIME` --> the program asks: the item is claimed for it, as by a drain
                                                    `-> nobody asks: it is shown, and wakes, as every other item does

Nothing records that a program asks, because that is done every few seconds. If none does, the outcome comes that much
later.
"""

from msgspec.structs import replace

from gatepost.core.ports import Transaction
from gatepost.core.times import Duration
from gatepost.errors import NotFound
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import build_event_key
from gatepost.inbox import claim_actions as claims, item_rows as items
from gatepost.inbox.batch_selection import SelectedItem
from gatepost.inbox.claim_actions import ClaimTerms
from gatepost.inbox.claimed_batch import Batch
from gatepost.inbox.event import ItemState


def claim_outcome(tx: Transaction, id: str, *, by: str | None, owner: str, proof_timeout: Duration | None) -> Batch:
    """
    Claim the item that tells the asker how a decision has ended; the batch is empty if it is not pending. With
    `proof_timeout`, the owner is a guest session, and the claim is held for so long until its hooks prove or release
    it.
    """
    decision = decisions.show(tx, id, viewer=by)
    if by not in (None, decision.asker):
        raise NotFound(f"there is no decision {id!r} of {by!r}")
    terms = ClaimTerms(owner=owner)
    recipient, fence = claims.lock_inbox(tx, decision.asker, terms)
    answer = decision.followed_answer
    key = build_event_key(decision, answer.iteration) if answer is not None else None
    item = items.read_states(tx, recipient.number, [key], ()).get(key) if key is not None else None
    is_pending = item is not None and item.state is ItemState.PENDING
    batch = claims.claim_items(tx, recipient, fence, [SelectedItem(item.arrival)] if item and is_pending else [], terms)
    if batch.claim is None or proof_timeout is None:
        return batch
    claims.extend(tx, batch.claim.id, owner=owner, fence=fence, hold=proof_timeout)
    return replace(batch, claim=replace(batch.claim, kind="session", deadline=tx.now + proof_timeout))
