"""Show and cancel runs: what a resident did, step by step, and its mind."""

from dataclasses import dataclass
from typing import Final

from gatepost.core import ids
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict, NotFound
from gatepost.inbox import claim_actions as inbox
from gatepost.jobs import lease_actions as leases
from gatepost.jobs.lease_actions import name_agent_lease
from gatepost.residents import agent_actions as agents, mind_compaction as rules
from gatepost.residents.mind_compaction import MindSummaries
from gatepost.residents.model_port import Turn
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.run import Run, RunStatus, Step

#: the cause of a signal to the process that runs a cycle: stop it
CANCEL: Final = "cancel"


@dataclass(frozen=True, slots=True)
class AgentMind:
    """What a resident has in mind: the summaries of old cycles, and the turns of the later ones."""

    past_cycles: MindSummaries
    turns: tuple[Turn, ...]

    @property
    def tokens(self) -> int:
        return self.past_cycles.tokens + sum(map(rules.weigh, self.turns))


def show(tx: Reader, id: str) -> Run:
    run = runs.read(tx, ids.check("run", id))
    if run is None:
        raise build_missing_error(id)
    return run


def build_missing_error(id: str) -> NotFound:
    """Return the error for a run that does not exist, or that the caller may not see."""
    return NotFound(f"there is no run {id!r}", hint="`gatepost agent runs NAME` lists them")


def list_page(
    tx: Reader,
    *,
    agent: str | None = None,
    status: RunStatus | None = None,
    cause: str | None = None,
    model: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    before: int | None = None,
    limit: int = 100,
) -> list[Run]:
    """
    Return runs of one agent, or of all, the newest first; `before` is the number of the last run seen. Those that
    started at `since` or later and before `until` are selected.
    """
    if until is not None:
        end = runs.find_first_since(tx, until)
        before = end if before is None else min(before, end)
    return runs.RUN.fetch_page(
        tx,
        "residents/runs/list_page",
        agent=directory.find_number(tx, agent),
        status=status,
        cause=cause,
        model=model,
        first=0 if since is None else runs.find_first_since(tx, since),
        since=since,
        until=until,
        before=before,
        limit=limit,
    )


def list_steps(tx: Reader, id: str, *, after: int = 0, limit: int = runs.NO_LIMIT) -> list[Step]:
    """Return the steps of a run in order; `after` is the number of the last step seen."""
    return runs.list_steps(tx, show(tx, id).number, after=after, limit=limit)


def read_mind(tx: Reader, name: str) -> AgentMind:
    """Return the mind with which a resident would begin its next cycle."""
    resident = agents.read(tx, directory.find(tx, name).number)
    if resident is None:
        raise NotFound(
            f"{name!r} is a guest: it thinks elsewhere",
            hint=f"give it a model first: `gatepost agent set {name} --model M`",
        )
    return _load_mind(tx, resident.number, runs.read_mind(tx, resident.number))


def read_mind_before(tx: Reader, run: Run, agent: int) -> AgentMind:
    """Return the mind that an agent had when one of its runs began."""
    mind = None
    if run.mind_number is not None:
        mind = runs.MIND.fetch_one(tx, "residents/minds/read_of_run", number=run.mind_number)
    return _load_mind(tx, agent, mind or MindSummaries(), run.number)


def _load_mind(tx: Reader, agent: int, past_cycles: MindSummaries, before: int = 2**62) -> AgentMind:
    rows = tx.fetch_all("residents/steps/list_by_mind", agent=agent, after=past_cycles.run, before=before)
    return AgentMind(past_cycles, tuple(runs.decode_turn(row.kind, row.body) for row in rows))


def cancel(tx: Transaction, id: str) -> Run:
    """Stop a run. Its effects stay, and its items count as delivered."""
    run = show(tx, id)
    if run.status is not RunStatus.RUNNING or runs.end(tx, run.number, RunStatus.CANCELLED) is None:
        raise Conflict(f"{id!r} is {show(tx, id).status}, not running")
    inbox.ack(tx, run.claim, owner=run.id, fence=run.claim_fence)
    leases.drop(tx, name_agent_lease(run.agent))
    tx.after_commit(Signal(Topic("inbox", run.agent), CANCEL))
    tx.after_commit(Signal(Topic("run", run.id), CANCEL))
    return show(tx, id)
