"""Decisions: `/api/decisions`. Whoever neither asked nor was asked does not see one."""

from typing import Annotated, Any

from fastapi import APIRouter, Query

from gatepost.actions import decisions
from gatepost.actions.directory import ADMINISTRATOR
from gatepost.actions.pages import limit_page
from gatepost.core import times, wire
from gatepost.gateway import waits
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, dated, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.waits import AnswerWish, NewDecision, Revision

router = APIRouter(prefix="/api/decisions", tags=["decisions"], responses=documented(401, 403, 404, 422, 503))


@router.post("", status_code=201, responses=shaped(waits.Decision, 201) | documented(409, 413))
async def ask(body: NewDecision, who: Who, write: Write) -> Any:
    """Ask for a decision. A gate keeps whoever asks from stopping until it is answered."""
    asker, question = who.as_(body.asker), body.wish()
    return await write(lambda tx: wire.write_decision(decisions.ask(tx, question, by=asker), tx.now), lane=asker or "")


@router.get("", responses=shaped(waits.DecisionPage))
async def list_decisions(
    who: Who,
    house: House,
    asker: str | None = None,
    asked: str | None = None,
    session: str | None = None,
    pending: bool | None = None,
    since: Annotated[str | None, Query(description="only those answered since then")] = None,
    after: After = 0,
    limit: Limit = 100,
) -> Any:
    """The decisions that the caller asked or was asked, in that order; for the administrator all."""
    for name in (asker, asked):
        who.as_(name)
    found = await house.store.read(
        limit_page(decisions.page),
        concerning=who.as_(None),
        asker=asker,
        asked=asked,
        session=session,
        pending=pending,
        since=times.parse_instant(since) if since is not None else None,
        after=after,
        limit=limit,
    )
    return page(found, limit, lambda one: wire.write_decision(one, found.now), lambda one: one.number)


@router.get("/{id}", responses=shaped(waits.Decision))
async def show(id: str, who: Who, house: House) -> Any:
    """A decision that the caller asked or was asked; the administrator sees all."""
    found, now = await house.store.read(dated(decisions.show), id, viewer=who.as_(None))
    return wire.write_decision(found, now)


@router.put("/{id}/answer", responses=shaped(waits.Decision) | documented(409, 413))
async def answer(id: str, body: AnswerWish, who: Who, write: Write) -> Any:
    """Answer a decision. The first answer counts, whichever way it comes; a later one is told who answered what."""
    by = who.as_(body.by) or ADMINISTRATOR
    return await write(lambda tx: wire.write_decision(decisions.answer(tx, id, body.reply(), by=by), tx.now), lane=id)


@router.put("/{id}/question", responses=shaped(waits.Decision) | documented(409, 413))
async def revise(id: str, body: Revision, who: Who, write: Write) -> Any:
    """Ask anew what was sent back: the next round."""
    by, question = who.as_(body.asker) or ADMINISTRATOR, body.wish()
    return await write(lambda tx: wire.write_decision(decisions.revise(tx, id, question, by=by), tx.now), lane=id)


@router.delete("/{id}", responses=shaped(waits.Decision) | documented(409))
async def withdraw(id: str, who: Who, write: Write, reason: str = "", by: waits.Who = None) -> Any:
    """Withdraw a question: it need not be answered any more."""
    actor = who.as_(by) or ADMINISTRATOR
    return await write(
        lambda tx: wire.write_decision(decisions.withdraw(tx, id, by=actor, reason=reason), tx.now), lane=id
    )
