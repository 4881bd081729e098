"""Runs: `/api/runs`, what residents did step by step, and the calls they wait for."""

from typing import Any

from fastapi import APIRouter

from gatepost.actions import runs
from gatepost.actions.pages import limit_page
from gatepost.core import agent_config, wire
from gatepost.core.run import OpenCall, Run, RunStatus, Step
from gatepost.errors import NotFound
from gatepost.gateway import thoughts
from gatepost.gateway.auth import administrator
from gatepost.gateway.problems import documented
from gatepost.gateway.requests import After, House, Limit, Who, Write, page
from gatepost.gateway.shapes import shaped
from gatepost.gateway.wire import ReplayWish, ToolResult
from gatepost.ports import Reader
from gatepost.runtime.replay import replay as replayed

router = APIRouter(prefix="/api/runs", tags=["runs"], responses=documented(401, 403, 404, 422, 503))


@router.get("", responses=shaped(thoughts.RunPage))
async def list_runs(
    who: Who,
    house: House,
    agent: str | None = None,
    status: thoughts.RunStatus | None = None,
    after: After = 0,
    limit: Limit = 100,
) -> Any:
    """The runs of the caller, the newest first; for the administrator all, or those of an agent."""
    wanted = RunStatus(status) if status else None
    found = await house.store.read(
        limit_page(runs.page), agent=who.as_(agent), status=wanted, before=after or None, limit=limit
    )
    return page(found, limit, wire.write_run, lambda one: one.number)


@router.get("/{id}", responses=shaped(thoughts.RunShown))
async def show(id: str, who: Who, house: House) -> Any:
    """A run of the caller's, and the calls that somebody outside answers; the administrator sees all."""
    run, calls = await house.store.read(_waiting, id, who.as_(None))
    return wire.write_run(run) | {"calls": [wire.write_call(one) for one in calls]}


@router.get("/{id}/steps", responses=shaped(thoughts.StepPage))
async def list_steps(id: str, who: Who, house: House, after: After = 0, limit: Limit = 1000) -> Any:
    """What was shown, said and done in a run, in order."""
    found = await house.store.read(limit_page(_journal), id, who.as_(None), after=after, limit=limit)
    return page(found, limit, wire.write_step, lambda one: one.number)


@router.post("/{id}/tool-results", responses=shaped(thoughts.OpenCall) | documented(409))
async def answer(id: str, body: ToolResult, who: Who, house: House, write: Write) -> Any:
    """Give the result of a call that a run waits for: its agent is told."""
    run = await house.store.read(_own, id, who.as_(None))
    return await write(
        lambda tx: wire.write_call(runs.answer_call(tx, run.id, body.call_id, body.result)), lane=run.agent
    )


@router.post("/{id}/cancel", responses=shaped(thoughts.Run) | documented(409))
async def cancel(id: str, who: Who, house: House, write: Write) -> Any:
    """Stop a run; what it has done stays done."""
    administrator(who)
    run = await house.store.read(_own, id, None)
    return await write(lambda tx: wire.write_run(runs.cancel(tx, run.id)), lane=run.agent)


@router.post("/{id}/replay", responses=shaped(thoughts.Replayed))
async def replay(id: str, body: ReplayWish, who: Who, house: House) -> Any:
    """Show what another model would have said and done in a past run. Nothing is done, and nothing stored."""
    administrator(who)
    model = await house.models(agent_config.parse({"model": body.model}).model)
    run = await house.store.read(_own, id, None)
    told = await replayed(house.store, run.id, model)
    return wire.write_replay(run.id, model.name, steps=told.original, turns=told.turns, is_same=told.is_same)


def _own(tx: Reader, id: str, me: str | None) -> Run:
    """A run, if it is one's own; the administrator (None) may see all."""
    run = runs.show(tx, id)
    if me is not None and run.agent != me:
        raise NotFound(f"there is no run {id!r} of {me!r}")
    return run


def _waiting(tx: Reader, id: str, me: str | None) -> tuple[Run, list[OpenCall]]:
    run = _own(tx, id, me)
    return run, runs.list_open_calls(tx, run.id)


def _journal(tx: Reader, id: str, me: str | None, *, after: int, limit: int) -> list[Step]:
    return runs.list_steps(tx, _own(tx, id, me).id, after=after, limit=limit)
