"""
`gatepost inbox drain`: an agent reads the items that wait in its inbox, in the spool of its session, or in both.

    claim  ->  write, flush  ->  ack

The order is the promise of `drain_inbox`. Items are acked only after they were written, so a failure before that makes
them available again: delivery to a guest is at least once, and a repeat happens only across a failure.

- *Killed in between*, at any instruction: the claim is open and no process acks it. It lapses at its deadline, and the
  items go to the next reader. Nothing has to run in this process for that.
- *The write fails* (a broken pipe, a full disk, a closed connection): it is certain that the reader did not get all of
  the batch, so it is released at once instead of blocking other readers until the deadline, and the next reader is
  signalled. The caller gets the error: a failed drain must not look like an empty one. It does not count as an attempt
  of the items, because they did not cause it. If the release fails too, the claim lapses as after a kill.
- *The ack fails*: the items were shown and will be shown again. The caller gets the error, after the output. If the
  claim had lapsed and another reader has the items, the error is a Conflict, and the fence ensures that this late ack
  does not touch the claim of the other reader.

`write` must return only when the receiver (the pipe, the file, the socket) has accepted the last byte, and raise
otherwise. A reader that dies with the batch in its pipe has received it, as far as anyone can know.

A session's spool has the same promise for another reason: `guests/hooks/drain.py` argues it.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.current_agent import choose_recipient
from gatepost.cli.gateway_or_store import connect, find_gateway
from gatepost.cli.parameters import JsonFlag, flag, number, option
from gatepost.core.address import check_entity_address
from gatepost.core.ports import Store
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError, Invalid, NotFound, Unavailable
from gatepost.guests.hooks.session_state import find_guest
from gatepost.inbox import expiry_actions as expiry
from gatepost.inbox.batch_selection import GUEST_BUDGET
from gatepost.inbox.claimed_batch import check_owner
from gatepost.inbox.event import Item, ItemState
from gatepost.inbox.event_api import ItemView
from gatepost.inbox.item_api import AckClaim, BatchView, ClaimBatch, ReleaseClaim
from gatepost.operations.operation import Request
from gatepost.settings import Configuration

if TYPE_CHECKING:  # other verbs of the inbox are in the same process, and must start fast
    from gatepost.guests.hooks.drain import DrainedBatch

#: bytes of a batch for a program: it reads JSON, and no host cuts that short
_PROGRAM_BUDGET = 1_000_000
#: how long a store that another process writes to is waited for, when there is a spool to be read
_BUSY_TIMEOUT = 2 * SECOND
#: rows of each kind that a drain cleans up
_SWEEP_LIMIT = 200


def drain(
    to: Annotated[str | None, option("--to", "NAME", "whose inbox; by default that of the current agent")] = None,
    session: Annotated[
        str | None,
        option("--session", "ID", "the guest session whose spool to read; with --to, only the name of the reader"),
    ] = None,
    reconcile: Annotated[bool, flag("--reconcile", "with --session: read its spool, and the inbox too")] = False,
    limit: Annotated[int, number("--limit", "how many at most", maximum=1_000, short="-n")] = 20,
    form: Annotated[str, option("--format", "text|json", "the output format", choices=("text", "json"))] = "text",
    json: JsonFlag = False,
) -> None:
    """
    Print the pending items, and then mark them as delivered.

    If the output cannot be written, nothing is marked, and the next drain prints the items again. If this command is
    killed, that happens after the time of the setting `inbox.hold`.

    The spool of a session is read even if the store cannot be reached. An item that is in both is printed once.

    Examples:
      gatepost inbox drain --to analyst
      GATEPOST_AGENT=analyst gatepost inbox drain --limit 5 --format json
      gatepost inbox drain --session 5f0c2b1e --reconcile
    """
    as_json = json or form == "json"
    if reconcile and session is None:
        raise Invalid("--reconcile is about the spool of a guest session", hint="name it with --session")
    if session is not None and (reconcile or to is None):
        _drain_session(session, to, reconcile=reconcile, as_json=as_json, limit=limit)
    else:
        _drain_inbox(to, session or f"cli:{os.getpid()}", as_json=as_json, limit=limit)


def _drain_inbox(to: str | None, reader: str, *, as_json: bool, limit: int) -> None:
    budget = _PROGRAM_BUDGET if as_json else GUEST_BUDGET
    with connect() as connection:
        recipient = check_entity_address(choose_recipient(to, connection.configuration))
        request = ClaimBatch(name=recipient, owner=check_owner(reader), limit=limit, budget=budget)
        batch = drain_inbox(connection.send, request, _write_json if as_json else _write_text)
        if connection.store is not None:
            sweep(connection.store)
    if batch.claim is None:
        if as_json:
            output.document([])
        output.talk(f"the inbox of {recipient!r} is empty")
    elif as_json and batch.held:
        output.talk(f"{batch.held} more pending")


def _write_text(batch: BatchView) -> None:
    output.line_out(batch.text)


def _write_json(batch: BatchView) -> None:
    output.document(msgspec.to_builtins(batch.items))


def drain_inbox(
    send: Callable[[Request[Any]], Any], request: ClaimBatch, write: Callable[[BatchView], None]
) -> BatchView:
    """Claim the next batch of an inbox, `write` it unless it is empty, ack it and return it."""
    batch: BatchView = send(request)
    claim = batch.claim
    if claim is None:
        return batch
    fields: dict[str, Any] = {
        "name": claim.recipient,
        "claim_id": claim.claim_id,
        "owner": claim.owner,
        "fence": claim.fence,
    }
    try:
        write(batch)
    except BaseException:
        with suppress(GatepostError):
            send(ReleaseClaim(**fields))
        raise
    send(AckClaim(**fields))
    return batch


def sweep(store: Store) -> None:
    """
    Clean up a bounded number of rows after a drain, so that a store without a gateway is cleaned too. What cannot be
    done now is left to the next drain.
    """
    from gatepost.worker import retention_actions as retention

    with suppress(GatepostError):
        for verb in (expiry.lapse_claims, expiry.expire_items, retention.reap):
            store.run_sync(verb, limit=_SWEEP_LIMIT)


def _drain_session(session: str, to: str | None, *, reconcile: bool, as_json: bool, limit: int) -> None:
    from gatepost import app
    from gatepost.guests.hooks import drain

    configuration = settings.load()
    find_gateway(configuration)  # the items of another store than that of the gateway are not drained
    with ExitStack() as stack:
        store = _try_open_store(configuration, stack)
        agent = to or _find_agent(session, configuration, store)
        batch = drain.drain(
            store,
            app.build_spool(configuration),
            session=session,
            agent=agent,
            now=time.time_ns() // 1_000,
            include_pending=reconcile,
            limit=limit,
            budget=_PROGRAM_BUDGET if as_json else GUEST_BUDGET,
            remember_for=configuration.settings.inbox.remember,
        )
        _print_session_batch(batch, agent or "", as_json=as_json)
        if store is not None:
            sweep(store)
    for note in batch.notes:
        output.talk(note)
    if not batch.text:
        place = "the spool and the inbox" if reconcile else "the spool"
        output.talk(f"no items in {place} of the session {session!r}")
    elif as_json and batch.deferred_count:
        output.talk(f"{batch.deferred_count} more pending")


def _try_open_store(configuration: Configuration, stack: ExitStack) -> Store | None:
    """Return the store, or None if it cannot be opened in a short time: the spool can be read without it."""
    from gatepost import app

    sqlite = configuration.settings.sqlite
    short_wait = replace(sqlite, busy=min(sqlite.busy, _BUSY_TIMEOUT))
    short_configuration = configuration._replace(settings=replace(configuration.settings, sqlite=short_wait))
    try:
        return stack.enter_context(app.prepare_store(short_configuration, can_create=False))
    except Unavailable as error:
        output.talk(f"only the spool is read: {error.message}")
        return None


def _find_agent(session: str, configuration: Configuration, store: Store | None) -> str | None:
    """Return the agent of a session, as its hooks noted it in the home or in the store; else the one that is set."""
    if (guest := find_guest(configuration.home, session)) is not None:
        return guest.agent
    if store is not None:
        from gatepost.guests import session_actions as sessions

        with suppress(NotFound, Invalid):
            return store.read_sync(sessions.find, session).agent
    return configuration.settings.agent


def _print_session_batch(batch: "DrainedBatch", agent: str, *, as_json: bool) -> None:
    items = [Item(event=event, recipient=agent, state=ItemState.CLAIMED) for event in batch.events]
    try:
        if as_json:
            output.document([msgspec.to_builtins(ItemView.of(item)) for item in items])
        elif batch.text:
            output.line_out(batch.text)
    except BaseException:
        batch.release()
        raise
    batch.ack()
