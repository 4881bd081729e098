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

A session's spool has the same promise for another reason: `hooks/drain.py` argues it.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from gatepost import app, settings
from gatepost.actions import inbox, maintenance
from gatepost.cli import here, output, words
from gatepost.cli.here import Json, Limit, To
from gatepost.cli.plain import flag, option
from gatepost.core import wire
from gatepost.core.batch import GUEST_BUDGET, GUEST_LIMIT
from gatepost.core.claim import Batch, RenderedBatch
from gatepost.core.event import Item, ItemState
from gatepost.core.times import SECOND, Duration
from gatepost.errors import GatepostError, Invalid, NotFound, Unavailable
from gatepost.hooks.drain import DrainedBatch
from gatepost.hooks.drain import drain as drained
from gatepost.hooks.session import find_guest
from gatepost.ports import Store
from gatepost.settings import Configuration

if TYPE_CHECKING:
    from gatepost.cli.far import Far

#: bytes of a batch for a program: it reads JSON, and no host cuts that short
_PROGRAM_BUDGET = 1_000_000
#: how long a store that another process writes to is waited for, when there is a spool to be read
_BUSY = 2 * SECOND
#: rows of each kind that a drain cleans up
_SWEEP_LIMIT = 200


def drain(
    to: To = None,
    session: Annotated[
        str | None, option("--session", "ID", "The session whose spool to read; with --to, only who reads.")
    ] = None,
    reconcile: Annotated[bool, flag("--reconcile", "With --session: its spool, and the inbox too.")] = False,
    limit: Limit = "20",
    form: Annotated[str, option("--format", "text|json", "How to print it.")] = "text",
    json: Json = False,
) -> None:
    """
    Print what waits, and mark it as delivered.

    In that order: if the output cannot be written, nothing is marked, and the next drain prints it again. If this is
    killed half-way, that happens when the time set as `inbox.hold` has passed.

    A session's spool is read also when the store is out of reach. What is in both is printed once.

    Examples:
      gatepost inbox drain --to analyst
      GATEPOST_AGENT=analyst gatepost inbox drain --limit 5 --format json
      gatepost inbox drain --session 5f0c2b1e --reconcile
    """
    if form not in ("text", "json"):
        raise Invalid(f"{form!r} is not a format", hint="use text or json")
    program = json or form == "json"
    most = words.number(limit, "--limit", most=1_000)
    reader = words.given(session, "--session", "which")
    if reconcile and reader is None:
        raise Invalid("--reconcile is about the spool of a session", hint="name the session with --session")
    if reader is not None and (reconcile or to is None):
        _of_session(reader, words.given(to, "--to"), reconcile=reconcile, program=program, most=most)
    else:
        _of_inbox(to, reader or f"cli:{os.getpid()}", program=program, most=most)


def _of_inbox(to: str | None, reader: str, *, program: bool, most: int) -> None:
    with here.opened() as place:
        whose = place.whose(to)
        budget = _PROGRAM_BUDGET if program else GUEST_BUDGET
        write = _write_document if program else _write_text
        if place.far is not None:
            taken = _by_gateway(place.far, whose, reader, write, limit=most, budget=budget)
        else:
            batch = drain_inbox(
                place.near,
                whose,
                owner=reader,
                write=lambda read: write(RenderedBatch.from_batch(read)),
                limit=most,
                budget=budget,
            )
            sweep(place.near)
            taken = RenderedBatch.from_batch(batch)
    if taken.claim is None:
        if program:
            output.document([])
        output.talk(f"nothing waits for {whose!r}")
    elif program and taken.deferred_count:
        output.talk(f"{taken.deferred_count} more waiting")


def drain_inbox(
    store: Store,
    name: str,
    *,
    owner: str,
    write: Callable[[Batch], None],
    limit: int = GUEST_LIMIT,
    budget: int = GUEST_BUDGET,
    hold: Duration | None = None,
) -> Batch:
    """Claim the next batch of an inbox, `write` it unless it is empty, ack it and return it."""
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
    Clean up a bounded number of rows after a drain, so that a store without a gateway is cleaned too. What cannot be
    done now is left to the next drain.
    """
    with suppress(GatepostError):
        for verb in (maintenance.lapse_claims, maintenance.expire_items, maintenance.reap):
            store.call(verb, limit=_SWEEP_LIMIT)


def _by_gateway(
    far: "Far", name: str, owner: str, write: Callable[[RenderedBatch], None], *, limit: int, budget: int
) -> RenderedBatch:
    """Do the same as `drain_inbox` through a gateway: ack the batch when it has been written."""
    taken = far.ask(lambda client: client.claim(name, owner=owner, limit=limit, budget=budget))
    if (claim := taken.claim) is None:
        return taken
    try:
        write(taken)
    except BaseException:
        with suppress(GatepostError):
            far.ask(lambda client: client.release(claim))
        raise
    far.ask(lambda client: client.ack(claim))
    return taken


def _of_session(session: str, to: str | None, *, reconcile: bool, program: bool, most: int) -> None:
    configuration = settings.load()
    with ExitStack() as stack:
        store = _store(configuration, stack)
        whose = to or _whose(session, configuration, store)
        found = drained(
            store,
            app.build_spool(configuration),
            session=session,
            agent=whose,
            now=time.time_ns() // 1_000,
            include_pending=reconcile,
            limit=most,
            budget=_PROGRAM_BUDGET if program else GUEST_BUDGET,
            remember_for=configuration.settings.inbox.remember,
        )
        _print(found, whose or "", program=program)
        if store is not None:
            sweep(store)
    for note in found.notes:
        output.talk(note)
    if not found.text:
        where = "the spool, or the inbox," if reconcile else "the spool"
        output.talk(f"nothing waits in {where} of the session {session!r}")
    elif program and found.deferred_count:
        output.talk(f"{found.deferred_count} more waiting")


def _store(configuration: Configuration, stack: ExitStack) -> Store | None:
    """The store, if it can be reached soon: the spool is there without it."""
    chosen = configuration.settings
    hasty = replace(chosen, sqlite=replace(chosen.sqlite, busy=min(chosen.sqlite.busy, _BUSY)))
    try:
        return stack.enter_context(app.prepare_store(replace(configuration, settings=hasty), report=output.talk))
    except Unavailable as error:
        output.talk(f"only the spool is read: {error.message}")
        return None


def _whose(session: str, configuration: Configuration, store: Store | None) -> str | None:
    """Whose session it is, as its hooks have noted here or in the store; else the current agent's."""
    if (guest := find_guest(configuration.home, session)) is not None:
        return guest.agent
    if store is not None:
        from gatepost.actions import sessions

        try:
            return store.query(sessions.find, session).agent
        except (NotFound, Invalid):
            pass
    return configuration.settings.agent


def _print(found: DrainedBatch, whose: str, *, program: bool) -> None:
    items = [Item(event=event, recipient=whose, state=ItemState.CLAIMED) for event in found.events]
    try:
        if program:
            output.document([wire.write_item(item) for item in items])
        elif found.text:
            output.line_out(found.text)
    except BaseException:
        found.release()
        raise
    found.ack()


def _write_text(taken: RenderedBatch) -> None:
    output.line_out(taken.text)


def _write_document(taken: RenderedBatch) -> None:
    output.document([wire.write_item(item) for item in taken.items])
