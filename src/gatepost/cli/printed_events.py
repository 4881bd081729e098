"""
An event that a command prints, such as the answer that it waited for, is in an inbox too. It must not be read there a
second time:

    claim it  ->  print, flush  ->  in a guest session: hold it until a reply of the model proves that it was read
                                    elsewhere: ack it
                  that fails    ->  release it

A host gives the output of a command to the model as that of a tool, so what a hook prints after a tool is the same, and
is proved and released by the same rule (`guests/hooks/delivery_proof.py`). If the event cannot be claimed, because a
hook has shown it meanwhile or its agent is thinking, it is printed all the same.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gatepost import app
from gatepost.cli.current_agent import find_session
from gatepost.cli.gateway_or_store import CommandConnection
from gatepost.client.work_loop import build_claim_ends
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Refused
from gatepost.guests.hooks.drain import get_claim_owner
from gatepost.guests.hooks.session_state import Session, find_guest
from gatepost.guests.session import PrintedBatch
from gatepost.inbox.event import EventType, ItemState
from gatepost.inbox.event_api import MarkDone
from gatepost.inbox.item_api import ClaimBatch, ListInbox

#: how many of the last pending items are searched
_SEARCH_LIMIT = 100


@contextmanager
def deliver_printed(
    connection: CommandConnection, name: str, type: EventType, dedup_key: str, *, session: str | None = None
) -> Iterator[None]:
    """
    While entered, an event is printed that is also in the inbox of an entity; it counts as delivered there. `session`
    is the guest session in which this command runs, if its host does not say so.
    """
    event = _find_event(connection, name, type, dedup_key)
    if event is None:
        yield
        return
    session = find_session(connection.configuration) or session
    guest = find_guest(connection.configuration.home, session) if session else None
    session = guest.session if guest is not None and guest.agent == name else None
    proof_timeout = connection.configuration.settings.hooks.proof
    request = ClaimBatch(
        name=name,
        owner=get_claim_owner(session) if session else f"cli:{dedup_key}",
        events=(event,),
        hold=f"{proof_timeout // SECOND}s" if session else None,
    )
    try:
        claim = connection.send(request).claim
    except Refused:  # a person has no claims
        yield
        with suppress(GatepostError):  # then it stays pending
            connection.send(MarkDone(id=event, name=name))
        return
    except GatepostError:  # its agent is thinking, and reads it there
        claim = None
    if claim is None:
        yield
        return
    ack, release = build_claim_ends(claim)
    try:
        yield
    except BaseException:
        with suppress(GatepostError):  # then the claim lapses
            connection.send(release)
        raise
    if session is not None:
        now = time.time_ns() // 1_000
        batch = PrintedBatch(
            event="PostToolUse",
            printed_at=now,
            expires_at=now + proof_timeout,
            prompts=Session(connection.configuration.home, session).read().prompts,
            claim=(claim.claim_id, claim.owner, claim.fence),
            keys=(dedup_key,),
        )
        with suppress(GatepostError), app.build_spool(connection.configuration).settle_unproved(session) as unproved:
            unproved.add(batch)
            return
    with suppress(GatepostError):  # then the claim lapses, and it is read again
        connection.send(ack)


def _find_event(connection: CommandConnection, name: str, type: EventType, dedup_key: str) -> str | None:
    """Return the pending event with a dedup key; None if there is none, or it cannot be read."""
    request = ListInbox(name=name, state=ItemState.PENDING, type=type, newest_first=True, limit=_SEARCH_LIMIT)
    with suppress(GatepostError):
        return next((item.event_id for item in connection.send(request).items if item.dedup_key == dedup_key), None)
    return None
