"""
How a run ends, or stops for a while.

Each verb here is the last transaction of a holder of the run's lease. It releases the lease, and fails as a whole if
the holder has lost it, as `residents/runs/journal_actions.py` explains. Only `hand_over` writes nothing and never
fails, and `finish_run` keeps the lease if gates make the run continue.

    finish_run      the model has said its last words    completed, its summary goes into the mind
    stop_at_limit   a limit is reached                   the same, with a note in place of last words
    skip_run        nothing concerns the agent           skipped, the mind does not know of it
    release_run     the model failed before any effect   failed, the batch goes back to the inbox
    suspend_run     the model failed after an effect     stays open, continues after a rest
    record_refusal  the model refuses to continue        stays open, and after some refusals: failed
    hand_over       the process stops                    stays open, another process continues at once
"""

from typing import Final, Unpack

from msgspec.structs import replace

from gatepost.core.ports import Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import Duration, Instant
from gatepost.errors import Lost
from gatepost.gates import gate_actions as gates, gate_rows
from gatepost.gates.gate import render_reminder
from gatepost.inbox import claim_actions as inbox, item_rows as items
from gatepost.inbox.event import ItemState
from gatepost.jobs import lease_actions as leases
from gatepost.residents import agent_actions as agents, mind_compaction as rules
from gatepost.residents.agent_actions import alert_owner
from gatepost.residents.budget_actions import start_budget_rest
from gatepost.residents.mind_compaction import CycleWeight
from gatepost.residents.model_port import ModelReply, Prompt
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.journal_actions import RunLease, renew_lease, write_step
from gatepost.residents.runs.run import RunStatus
from gatepost.stores.row_mapping import fetch_number

#: how often a model may refuse to continue a run before the run fails
_MAX_REFUSALS: Final = 5
#: cycles in a row that end at a limit before the owner gets an alert
_LIMITS_IN_A_ROW: Final = 3


def finish_run(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    reply: ModelReply,
    *,
    summary: str,
    context_tokens: int | None = None,
    can_continue: bool = True,
    reply_reminder: Prompt | None = None,
) -> bool | Prompt:
    """
    End a cycle with the last reply of its model, and return True if there is more to think about. The `summary` is what
    later remains of the cycle in the mind; `context_tokens` is how much its model can read, if that is known.

    If gates have an instruction for the agent, or people wait for a reply (`reply_reminder`), and it may continue
    (`can_continue`), the run goes on: return the reminder that was written as its next step. A gate gives its
    instruction once.
    """
    if can_continue and run_lease.resident.config.has_mind:
        instructing_gates = gates.list_instructing(tx, run_lease.resident.number)
        reminder = reply_reminder
        if instructing_gates:
            reminder = Prompt(render_reminder(instructing_gates), gates=tuple(gate.id for gate in instructing_gates))
        if reminder is not None:
            renew_lease(tx, run_lease)
            write_step(tx, run_lease.run, step_number, reply)
            write_step(tx, run_lease.run, step_number + 1, reminder)
            for gate in instructing_gates:
                gate_rows.set_instructed_at(tx, gate.id, tx.now)
            return reminder
    leases.release_or_raise(tx, run_lease.lease)
    write_step(tx, run_lease.run, step_number, reply)
    weight = _end_run(tx, run_lease, RunStatus.COMPLETED, summary=summary)
    _update_mind(tx, run_lease, weight, context_tokens)
    return _has_more_work(tx, run_lease)


def stop_at_limit(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    limit: RunLimit,
    note: str,
    *,
    summary: str,
    context_tokens: int | None = None,
    rest_until: Instant | None = None,
) -> bool:
    """
    End a cycle that has reached a limit, with a note of the agent to itself; return True if there is more to think
    about. At the third limit in a row the owner gets an alert. At the limit of a budget the agent rests, `rest_until`
    the period ends, and the owner gets one alert for each period. A pause is the end until the agent is resumed.
    """
    leases.release_or_raise(tx, run_lease.lease)
    run = run_lease.run
    write_step(tx, run, step_number, Prompt(note))
    weight = _end_run(tx, run_lease, RunStatus.COMPLETED, summary=summary, limit_reached=limit)
    _update_mind(tx, run_lease, weight, context_tokens)
    if rest_until is not None:
        start_budget_rest(tx, replace(run_lease.resident, failures=0, batch_limit=None), rest_until)
        return _has_more_work(tx, run_lease)
    if limit is RunLimit.PAUSE:
        return False
    agent = run_lease.resident.number  # cycles that a budget ended do not count
    rows = tx.fetch_all("residents/runs/list_last_limits", agent=agent, before=run.number, limit=_LIMITS_IN_A_ROW)
    limits_in_a_row = next((index for index, row in enumerate(rows) if row.limit_reached is None), len(rows))
    if limits_in_a_row == _LIMITS_IN_A_ROW - 1:
        text = (
            f"the cycles of {run.agent!r} ended at a limit {_LIMITS_IN_A_ROW} times in a row, the last at its {limit}"
        )
        text += f"; `gatepost agent runs {run.agent}` shows them"
        alert_owner(tx, run.agent, text, topic=f"limit:{run.id}", hops=run.outgoing_hops)
    return _has_more_work(tx, run_lease)


def skip_run(tx: Transaction, run_lease: RunLease) -> bool:
    """
    End a cycle that changed nothing: its events are delivered, and the mind does not know of it. Return True if there
    is more to think about.
    """
    leases.release_or_raise(tx, run_lease.lease)
    _end_run(tx, run_lease, RunStatus.SKIPPED)
    agents.record_cycles(tx, run_lease.resident)
    return _has_more_work(tx, run_lease)


def release_run(tx: Transaction, run_lease: RunLease, trouble: str, error: str, retry_in: Duration) -> None:
    """
    End a run whose model failed before any effect: the batch goes back to the inbox, and the agent rests. If the
    content caused the failure, the next batch is half as large; if the batch was a single item, that item has failed.
    """
    leases.release_or_raise(tx, run_lease.lease)
    run = run_lease.run
    turns = [step.turn for step in runs.list_steps(tx, run.number)]
    events = [event for turn in turns if isinstance(turn, Prompt) for event in turn.events]
    stored_run = runs.read(tx, run.id)
    is_single_event = len(events) == 1 and stored_run is not None and stored_run.events == 1
    failed_events = events if trouble == "content" and is_single_event else []
    for gate in (gate for turn in turns if isinstance(turn, Prompt) for gate in turn.gates):
        gate_rows.set_instructed_at(tx, gate, None)  # the mind does not know of this run, so the gate gives it again
    inbox.release(tx, run.claim, owner=run.id, fence=run.claim_fence, failed_events=failed_events)
    runs.end(tx, run.number, RunStatus.FAILED, error=error)
    batch_limit = run_lease.resident.batch_limit
    if trouble == "content":
        batch_limit = max(1, len(events) // 2)
    failed_items = items.list_by_event(tx, failed_events[0], run_lease.resident.number) if failed_events else []
    if any(item.state is ItemState.DEAD for _, item in failed_items):
        batch_limit = None
        text = f"an event made the model of {run.agent!r} fail again and again: {failed_events[0]} ({error})"
        alert_owner(tx, run.agent, text, topic=failed_events[0], hops=run.outgoing_hops)
    _rest_agent(tx, run_lease, retry_in, batch_limit)


def suspend_run(tx: Transaction, run_lease: RunLease, retry_in: Duration) -> None:
    """Let the agent rest after its model failed; the run has had effects, so it stays open and continues later."""
    leases.release_or_raise(tx, run_lease.lease)
    _rest_agent(tx, run_lease, retry_in, run_lease.resident.batch_limit)


def record_refusal(tx: Transaction, run_lease: RunLease, error: str, retry_in: Duration) -> bool | None:
    """
    Count that the model refuses to continue a run, and let the agent rest; return None. After `_MAX_REFUSALS` the run
    fails: its effects stay, its events count as delivered, and the owner gets an alert; return True if there is more to
    think about. Only refusals count, outages do not.
    """
    leases.release_or_raise(tx, run_lease.lease)
    if fetch_number(tx, "residents/runs/count_refusal", number=run_lease.run.number) < _MAX_REFUSALS:
        _rest_agent(tx, run_lease, retry_in, run_lease.resident.batch_limit)
        return None
    _end_run(tx, run_lease, RunStatus.FAILED, error=error)
    run = run_lease.run
    text = f"the run {run.id} of {run.agent!r} could not be ended: {error}"
    alert_owner(tx, run.agent, text, topic=run.id, hops=run.outgoing_hops)
    agents.record_cycles(tx, run_lease.resident)
    return _has_more_work(tx, run_lease)


def hand_over(tx: Transaction, run_lease: RunLease) -> None:
    """Stop at a step: the next holder of the lease continues from there."""
    leases.release(tx, run_lease.lease)
    tx.after_commit(Signal(Topic("inbox", run_lease.run.agent), "handover"))


def _end_run(tx: Transaction, run_lease: RunLease, status: RunStatus, **result: Unpack[runs.RunResult]) -> int:
    """End a run and its claim; return the weight of the run in tokens."""
    run = run_lease.run
    weight = runs.end(tx, run.number, status, **result)
    if weight is None:
        raise Lost(f"the run {run.id!r} has ended")
    inbox.ack(tx, run.claim, owner=run.id, fence=run.claim_fence)
    tx.after_commit(Signal(Topic("run", run.id), "end"))
    return weight


def _update_mind(tx: Transaction, run_lease: RunLease, weight: int, context_tokens: int | None) -> None:
    """Add a cycle to the mind; if the mind is over its limit then, summaries replace the oldest cycles."""
    resident = run_lease.resident
    if not resident.config.has_mind:
        agents.record_cycles(tx, replace(resident, cycles=resident.cycles + 1, tokens=0))
        return
    tokens = resident.tokens + weight
    limits = resident.config.mind
    if context_tokens is not None and context_tokens < limits.max_tokens:
        limits = replace(limits, max_tokens=context_tokens)
    if tokens > limits.max_tokens:
        past_cycles = runs.read_mind(tx, resident.number)
        rows = tx.fetch_all("residents/runs/list_cycle_weights", agent=resident.number, after=past_cycles.run)
        cycles = [CycleWeight(row.number, row.tokens, row.summary) for row in rows]
        new_past_cycles = rules.compact(cycles, past_cycles, limits)
        if new_past_cycles != past_cycles:
            runs.insert_mind(tx, resident.number, new_past_cycles)
        tokens = new_past_cycles.tokens + sum(cycle.tokens for cycle in cycles if cycle.run > new_past_cycles.run)
    agents.record_cycles(tx, replace(resident, cycles=resident.cycles + 1, tokens=tokens))


def _has_more_work(tx: Transaction, run_lease: RunLease) -> bool:
    return agents.is_ready(tx, run_lease.resident.number, include_quiet=False)


def _rest_agent(tx: Transaction, run_lease: RunLease, retry_in: Duration, batch_limit: int | None) -> None:
    resident = run_lease.resident
    agents.set_rest(
        tx, replace(resident, failures=resident.failures + 1, rest_until=tx.now + retry_in, batch_limit=batch_limit)
    )
