"""
Runs as others see them: what a resident did, step by step, what it has in mind, and the calls it waits for.

A call of a tool that nobody here can do is answered later, from outside. Its result comes as an event like any other,
and when the last call of a run has been answered, or has run out of time, the run is completed.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from gatepost.actions import directory, inbox, intake, leases, upkeep
from gatepost.core import ids
from gatepost.core import mind as rules
from gatepost.core.event import Json, Push, Type
from gatepost.core.lease import name_of
from gatepost.core.mind import Carried, Turn
from gatepost.core.ring import Ring
from gatepost.core.run import CallStatus, OpenCall, Run, Status, Step
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, calls, minds, runs
from gatepost.tables import steps as journal

#: the cause of a ring that tells whoever thinks to look whether it still may
CANCEL: Final = "cancel"


@dataclass(frozen=True, slots=True)
class Mind:
    """What a resident has in mind: what it carries of old cycles, and the turns of the later ones."""

    carried: Carried
    turns: tuple[Turn, ...]

    @property
    def tokens(self) -> int:
        return self.carried.tokens + sum(map(rules.weigh, self.turns))


def show(tx: Reader, id: str) -> Run:
    found = runs.read(tx, ids.check("run", id))
    if found is None:
        raise NotFound(f"there is no run {id!r}", hint="`gatepost agent runs NAME` shows which there are")
    return found


def page(
    tx: Reader,
    *,
    agent: str | None = None,
    status: Status | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Run]:
    """Runs of one agent, or of all, the newest first; `before` is the number of the last one seen."""
    return runs.page(tx, agent=directory.number(tx, agent), status=status, before=before, most=limit)


def steps(tx: Reader, id: str, *, after: int = 0, limit: int = journal.ALL) -> list[Step]:
    """The steps of a run in order; `after` is the number of the last one seen."""
    return journal.of_run(tx, show(tx, id).number, after=after, most=limit)


def waited_for(tx: Reader, id: str) -> list[OpenCall]:
    """The calls of a run that somebody outside answers, or has answered."""
    return calls.of_run(tx, show(tx, id).number)


def mind(tx: Reader, name: str) -> Mind:
    """What a resident would begin its next cycle with."""
    resident = agents.read(tx, directory.find(tx, name).number)
    if resident is None:
        raise NotFound(f"{name!r} is a guest: it thinks elsewhere", hint="give it a model to have it think here")
    carried = minds.read(tx, resident.number)
    return _recalled(tx, resident.number, carried)


def mind_before(tx: Reader, run: Run, agent: int) -> Mind:
    """What an agent had in mind when a run of its began."""
    return _recalled(tx, agent, minds.of_run(tx, run.carried), run.number)


def _recalled(tx: Reader, agent: int, carried: Carried, before: int = 2**62) -> Mind:
    return Mind(carried, journal.of_mind(tx, agent, after=carried.run, before=before))


def cancel(tx: Transaction, id: str) -> Run:
    """Stop a run. What it has done stays done, and what it was shown counts as delivered."""
    run = show(tx, id)
    if run.status is not Status.RUNNING or runs.end(tx, run.number, Status.CANCELLED) is None:
        raise Conflict(f"{id!r} is {show(tx, id).status}, not running")
    inbox.ack(tx, run.claim, owner=run.id, fence=run.claim_fence)
    leases.drop(tx, name_of(run.agent))
    tx.after_commit(Ring(run.agent, CANCEL))
    tx.after_commit(Ring(f"run:{run.id}", CANCEL))
    return show(tx, id)


def answer(tx: Transaction, run: str, call: str, result: Json) -> OpenCall:
    """Give the result of a call; the agent is told."""
    of = show(tx, run)
    found = calls.read(tx, call) if call.isprintable() else None
    if found is None:
        raise NotFound(f"there is no call {call!r}", hint="`GET /api/runs/{id}` shows what a run waits for")
    if found[1] != of.number:
        raise Refused(f"the call {call!r} belongs to another run")
    return _ended(tx, found[0], of, CallStatus.RESOLVED, result)


def expire(tx: Transaction) -> int:
    """Let calls go that nobody has answered in time, and runs whose agent has retired; return how many."""
    late = calls.late(tx, upkeep.BATCH)
    for call, _ in late:
        _ended(tx, call, show(tx, call.run), CallStatus.EXPIRED, {"status": "expired", "error": "nobody answered"})
    orphans = runs.of_retired(tx, upkeep.BATCH)
    for id in orphans:
        cancel(tx, id)
    return len(late) + len(orphans)


def abandoned(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """Who has a run open that nobody is at work on; from a number on, and where to go on."""
    rows = runs.abandoned(tx, after, upkeep.BATCH)
    return [name for _, name in rows], rows[-1][0] if len(rows) == upkeep.BATCH else None


def _ended(tx: Transaction, call: OpenCall, run: Run, status: CallStatus, result: Json) -> OpenCall:
    if not calls.end(tx, call.id, status, result):
        raise Conflict(f"the call {call.id!r} is {call.status} already")
    told = Push(
        to=run.agent,
        type=Type.TOOL_RESULT,
        source=call.tool,
        data={"toolCallId": call.id, "toolName": call.tool, "originRunId": run.id, "result": result},
        key=f"tool:{call.id}",
        hops=run.onward,
    )
    with suppress(Refused):  # it has retired: nobody waits for the result
        intake.push(tx, told)
    runs.answered(tx, run.number)
    tx.after_commit(Ring(f"run:{run.id}", "answer"))
    found = calls.read(tx, call.id)
    assert found is not None
    return found[0]
