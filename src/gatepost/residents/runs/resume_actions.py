"""
Take the run of an agent: resume the open one that another process left (it crashed, it stopped, the agent rested), or
begin a new one with a batch of the inbox.

Only the holder of the agent's lease writes its run. A lease lasts `LEASE_LENGTH` after its holder's last commit; then
the janitor finds the run (`find_abandoned`), and the next holder resumes it after its last step. Why nothing is lost or
done twice by that is argued in `residents/runs/journal_actions.py`.
"""

from dataclasses import dataclass
from typing import Final

from gatepost.core import address
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import SECOND, Duration
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.directory.entity_rows import ENTITY
from gatepost.inbox import batch_selection as batch, claim_actions as inbox, expiry_actions as expiry
from gatepost.jobs import lease_actions as leases
from gatepost.jobs.lease_actions import name_agent_lease
from gatepost.residents import agent_actions as agents, mind_compaction as rules
from gatepost.residents.agent_config import Resident
from gatepost.residents.budget_actions import find_exhausted_budget, start_budget_rest
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.journal_actions import RunLease, build_inbox_prompt, count_max_hops
from gatepost.residents.runs.run import Run, Step
from gatepost.residents.system_prompt_actions import CycleContext, read_cycle_context

#: how long a lease lasts if its holder commits nothing
LEASE_LENGTH: Final = 30 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedRun:
    """A run to begin, or to continue from its last step."""

    run_lease: RunLease
    steps: tuple[Step, ...]
    #: None for an agent that is a function: it has no mind
    context: CycleContext | None


def read_readiness(tx: Reader, name: str, *, include_quiet: bool = False) -> tuple[Resident | None, bool]:
    """
    Return an agent, None if it is a guest, and True if it has something to think about now; with `include_quiet`, items
    that do not wake it count too.
    """
    _, resident = _find_entity_and_resident(tx, name)
    return resident, resident is not None and agents.is_ready(tx, resident.number, include_quiet=include_quiet)


def _find_entity_and_resident(tx: Reader, name: str) -> tuple[Entity, Resident | None]:
    row = tx.fetch_one("residents/agents/find_by_name", name=address.check_entity_address(name))
    if row is None:
        raise directory.build_unknown_error(tx, name)
    return ENTITY.read(row), agents.RESIDENT.read(row) if row.config is not None else None


def take_run(tx: Transaction, name: str, holder: str, *, length: Duration = LEASE_LENGTH) -> LeasedRun | None:
    """
    Take an agent's lease, and resume its open run or begin a new one. Return None if there is nothing to do, if the
    agent may not think now, or if another process has the lease.
    """
    lease = leases.take(tx, name_agent_lease(address.check_entity_address(name)), holder, length)
    if lease is None:
        return None
    # Only after the lease: its last holder may just have ended a cycle.
    agent, resident = _find_entity_and_resident(tx, name)
    if agent.name != name:  # an alias, which has no lease of its own
        leases.release(tx, lease)
        return take_run(tx, agent.name, holder, length=length)
    run_and_steps = _resume_or_begin_run(tx, agent, resident) if resident is not None else None
    if resident is None or run_and_steps is None:
        leases.release(tx, lease)
        return None
    run, run_steps = run_and_steps
    return LeasedRun(
        run_lease=RunLease(lease=lease, length=length, run=run, resident=resident),
        steps=run_steps,
        context=read_cycle_context(tx, agent, resident.config, run) if resident.config.has_mind else None,
    )


def _resume_or_begin_run(tx: Transaction, agent: Entity, resident: Resident) -> tuple[Run, tuple[Step, ...]] | None:
    """Return the open run, or a new one; None if the agent may not think now, or has nothing to think about."""
    is_resting = resident.rest_until is not None and resident.rest_until > tx.now
    if not agent.is_live or resident.paused_at is not None or is_resting:
        return None
    row = tx.fetch_one("residents/runs/find_open", agent=agent.number)
    run = runs.read(tx, row.id) if row else None
    if run is not None:
        return run, tuple(runs.list_steps(tx, run.number))
    if (exhausted_budget := find_exhausted_budget(tx, resident, is_new_cycle=True)) is not None:
        start_budget_rest(tx, resident, exhausted_budget.until)
        return None
    return _begin_run(tx, agent, resident)


def _begin_run(tx: Transaction, agent: Entity, resident: Resident) -> tuple[Run, tuple[Step, ...]] | None:
    id = tx.new_id("run")
    loop = resident.config.loop
    inbox_batch = inbox.claim(
        tx,
        agent,
        owner=id,
        kind="run",
        limit=resident.batch_limit or batch.RESIDENT_LIMIT,
        budget=max(batch.MIN_BUDGET, rules.compute_byte_limit(loop.max_tokens // 2)),
    )
    if inbox_batch.claim is None:
        return None
    first_prompt = build_inbox_prompt(inbox_batch)
    run = runs.create(
        tx,
        resident.number,
        tokens=rules.weigh(first_prompt),
        id=id,
        agent=resident.name,
        cycle=resident.cycles + 1,
        cause=inbox_batch.items[0].event.type,
        claim=inbox_batch.claim.id,
        claim_fence=inbox_batch.claim.fence,
        events=len(inbox_batch.items),
        hops=count_max_hops(tx, inbox_batch.items),
        version=resident.version,
        model=resident.config.model.name,
    )
    runs.insert_step(tx, run.number, 1, first_prompt)
    tx.after_commit(Signal(Topic("run", run.id), "step"))
    return run, (Step(number=1, turn=first_prompt, at=tx.now),)


def find_abandoned(tx: Reader, *, after: int = 0) -> tuple[list[str], int | None]:
    """
    Return the names of agents with an open run that no process works on, from the number `after` on, and where the next
    batch begins, None at the end.
    """
    rows = tx.fetch_all("residents/runs/list_abandoned", after=after, now=tx.now, limit=expiry.BATCH_SIZE)
    return [row.name for row in rows], rows[-1].number if len(rows) == expiry.BATCH_SIZE else None
