"""
What one cycle of a resident writes, transaction by transaction.

    take -> (replied -> act, act, ... -> urgent)* -> finish
                 |  after something was done: stumble, and go on from here later
                 `- before that: release, as if nothing had been

Why nothing is lost, shown twice or done twice, though the process may be killed at any instruction, or put to sleep
and woken when somebody else has long taken over:

- A cycle's every transaction holds the agent's lease (`leases.hold`, and `leases.give_back` the last): it names the
  fence, and takes the row. Whoever took the lease later made the fence grow, so a transaction of an earlier holder
  finds no row and fails whole; and while it runs nobody can take the lease. So the transactions of all holders stand in
  one line, and each builds on all before it: also the first, which reads how the agent stands only when it has the row.
- The batch, the run and the first step are committed together (`take`). A run that is open is gone on with by whoever
  takes the lease next; only when there is none is a new batch claimed. So an event is in the steps of one run, once.
- Steps are numbered without a gap, and a step is committed before the next begins. What a built-in tool does is
  committed with its result. So whoever resumes knows exactly what has been done: what has a result.
- A run ends together with its claim, and with what it adds to the mind. "There is nothing more to do" and "the lease is
  given back" are one transaction too: whatever is committed later rings later, and finds the lease free.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from gatepost.actions import budgets, directory, gates, inbox, jobs, leases, prompt, push
from gatepost.actions.prompt import CycleContext
from gatepost.actions.tools import BUILT_IN_TOOLS, ToolContext, call_tool
from gatepost.actions.tools.context import MAX_RESULT_SIZE
from gatepost.core import address, batch, retry_policy
from gatepost.core import mind as rules
from gatepost.core.agent import CODE, Resident
from gatepost.core.claim import Batch
from gatepost.core.entity import Entity
from gatepost.core.event import Item, ItemState, Priority
from gatepost.core.gate import render_reminder
from gatepost.core.lease import Lease, name_agent_lease
from gatepost.core.mind import CallResult, ModelReply, Prompt, ToolCall, Turn
from gatepost.core.run import Run, RunLimit, RunStatus, Step
from gatepost.core.signals import Signal
from gatepost.core.times import DAY, SECOND, Duration, Instant
from gatepost.errors import Lost, Refused
from gatepost.ports import Reader, Transaction
from gatepost.tables import agents, calls, entities, items, minds, runs, steps
from gatepost.tables import gates as gate_rows

#: how long a lease lasts when nothing is committed meanwhile
LEASE_LENGTH: Final = 30 * SECOND
#: the kind of errand that is a tool to be used
TOOL_JOB: Final = "tool"
#: how often a model may refuse to go on with what was begun
_MAX_REFUSALS: Final = 5
#: items looked at for a preview, and those of them that are critical
_PREVIEW_LIMIT: Final = 50
#: cycles in a row that end at a limit before the owner is told
_LIMITS_IN_A_ROW: Final = 3
#: how long somebody outside may take to answer a call
_CALL_TIMEOUT: Final = DAY

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLease:
    """The right to write a run: the lease of its agent, and for how long to keep it."""

    lease: Lease
    length: Duration
    run: Run
    resident: Resident


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """A run to go on with, from its last step; code has nothing in mind."""

    run_lease: RunLease
    steps: tuple[Step, ...]
    context: CycleContext | None


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a built-in tool came to, where the agent is now and, if that was asked, what has come meanwhile."""

    result: CallResult
    active_space: str | None
    waiting_items: list[Item] | None = None


def read_readiness(tx: Reader, name: str, *, include_quiet: bool = False) -> tuple[Resident | None, bool]:
    """An agent, if it lives here, and whether it has something to think about now."""
    _, resident = _find_entity_and_resident(tx, name)
    return resident, resident is not None and agents.stirring(tx, resident.number, looking=include_quiet)


def _find_entity_and_resident(tx: Reader, name: str) -> tuple[Entity, Resident | None]:
    row = agents.at_home(tx, address.check_entity_address(name))
    if row is None:
        raise directory.build_unknown_error(tx, name)
    return row


def take_run(tx: Transaction, name: str, holder: str, *, length: Duration = LEASE_LENGTH) -> RunState | None:
    """Take an agent's lease, and with it what it has to think about; None when that is nothing, or not ours to do."""
    lease = leases.take(tx, name_agent_lease(address.check_entity_address(name)), holder, length)
    if lease is None:
        return None
    agent, resident = _find_entity_and_resident(
        tx, name
    )  # not before: whoever had the lease may just have ended a cycle
    if agent.name != name:  # an alias, which has no lease of its own
        leases.release(tx, lease)
        return take_run(tx, agent.name, holder, length=length)
    run_and_steps = _resume_or_begin_run(tx, agent, resident) if resident is not None else None
    if resident is None or run_and_steps is None:
        leases.release(tx, lease)
        return None
    run, run_steps = run_and_steps
    has_mind = resident.config.model.name != CODE
    return RunState(
        run_lease=RunLease(lease=lease, length=length, run=run, resident=resident),
        steps=run_steps,
        context=prompt.read_cycle_context(tx, agent, resident.config, run) if has_mind else None,
    )


def _resume_or_begin_run(tx: Transaction, agent: Entity, resident: Resident) -> tuple[Run, tuple[Step, ...]] | None:
    """The run that was not ended, or a new one; None when it may not think now, or has nothing to think about."""
    is_resting = resident.rest_until is not None and resident.rest_until > tx.now
    if not agent.is_live or resident.paused_at is not None or is_resting:
        return None
    run = runs.open_of(tx, agent.number)
    if run is not None:
        return run, tuple(steps.of_run(tx, run.number))
    if (exhausted_budget := budgets.find_exhausted(tx, resident, is_new_cycle=True)) is not None:
        budgets.start_rest(tx, resident, exhausted_budget.until)
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
    first_prompt = _build_prompt(inbox_batch)
    run = runs.begin(
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
        hops=_count_max_hops(tx, inbox_batch.items),
        version=resident.version,
        model=resident.config.model.name,
    )
    steps.insert(tx, run.number, 1, first_prompt)
    tx.after_commit(_build_step_signal(run))
    return run, (Step(number=1, turn=first_prompt, at=tx.now),)


def renew_lease(tx: Transaction, run_lease: RunLease) -> None:
    """Say that somebody is still at work."""
    leases.hold(tx, run_lease.lease, run_lease.length)


def record_reply(tx: Transaction, run_lease: RunLease, step_number: int, reply: ModelReply) -> None:
    """Write down what the model said."""
    renew_lease(tx, run_lease)
    _write_reply(tx, run_lease, step_number, reply)


def run_tool(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    call: ToolCall,
    key: str,
    arguments: Mapping[str, Any],
    active_space: str | None,
    *,
    include_waiting: bool = False,
) -> ToolOutcome:
    """Let a built-in tool do what it does, and write down what it came to; `look` into the inbox after that."""
    renew_lease(tx, run_lease)
    agent, hops, weight = entities.at_work(tx, run_lease.run.number)
    if not agent.is_live:
        raise Refused(f"{agent.name!r} is retired")
    run = run_lease.run if hops == run_lease.run.hops else replace(run_lease.run, hops=hops)
    max_bytes = count_pullable_bytes(run_lease, weight)
    ctx = ToolContext(
        tx=tx,
        agent=agent,
        run=run,
        call=f"{run.id}/{key}",
        active_space=active_space,
        max_bytes=min(MAX_RESULT_SIZE, max_bytes),
    )
    result = CallResult(call.id, call.tool, _encode(call_tool(ctx, call.tool, arguments)).decode())
    _write_step(
        tx,
        run,
        step_number,
        result,
        key=key,
        effects=int(BUILT_IN_TOOLS[call.tool].has_effect),
        events=len(ctx.taken_items),
        hops=_count_max_hops(tx, ctx.taken_items),
    )
    return ToolOutcome(result, ctx.active_space, list_waiting_items(tx, agent.number) if include_waiting else None)


def record_result(
    tx: Transaction, run_lease: RunLease, step_number: int, result: CallResult, key: str, *, has_effect: bool
) -> None:
    """Write down what was done elsewhere, or why it was not done."""
    renew_lease(tx, run_lease)
    _write_step(tx, run_lease.run, step_number, result, key=key, effects=int(has_effect))


def defer_call(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    call: ToolCall,
    key: str,
    arguments: Mapping[str, Any] | None = None,
) -> CallResult:
    """
    Write down a call that will be answered later; the agent goes on meanwhile. With `arguments` it is an errand of
    ours, else somebody outside answers it.
    """
    renew_lease(tx, run_lease)
    id = tx.new_id("call")
    calls.insert(tx, run_lease.run.number, replace(call, id=id), tx.now + _CALL_TIMEOUT)
    if arguments is not None:
        jobs.add(tx, TOOL_JOB, {"run": run_lease.run.id, "call": id, "tool": call.tool, "arguments": arguments})
    pending = {"status": "pending", "callId": id, "message": "the result will come to your inbox"}
    result = CallResult(call.id, call.tool, _encode(pending).decode())
    _write_step(tx, run_lease.run, step_number, result, key=key, effects=1)
    return result


def list_waiting_items(tx: Reader, agent: int) -> list[Item]:
    """What has come meanwhile, most urgent first."""
    return items.peek(tx, agent, _PREVIEW_LIMIT)


def count_pullable_bytes(run_lease: RunLease, weight: int) -> int:
    """
    Return the bytes of items that a cycle which weighs so much may take in: half of what is left of its tokens, so that
    the other half is there for what comes of them. 0 when that is too little for an item.
    """
    max_bytes = rules.compute_byte_limit((run_lease.resident.config.loop.max_tokens - weight) // 2)
    return max_bytes if max_bytes >= batch.MIN_BUDGET else 0


def pull_critical_items(tx: Transaction, run_lease: RunLease, step_number: int, max_bytes: int) -> Prompt | None:
    """Take what is critical into the cycle, in full as far as it fits into so many bytes."""
    renew_lease(tx, run_lease)
    critical_items = [
        item for item in list_waiting_items(tx, run_lease.resident.number) if item.event.priority is Priority.CRITICAL
    ]
    if not critical_items:
        return None
    run = run_lease.run
    critical_batch = inbox.pull(
        tx, run.claim, owner=run.id, fence=run.claim_fence, limit=len(critical_items), budget=max_bytes
    )
    if not critical_batch.items:
        return None
    critical_prompt = _build_prompt(critical_batch)
    _write_step(
        tx,
        run,
        step_number,
        critical_prompt,
        events=len(critical_batch.items),
        hops=_count_max_hops(tx, critical_batch.items),
    )
    return critical_prompt


def finish_run(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    reply: ModelReply,
    *,
    summary: str,
    context_tokens: int | None = None,
    can_continue: bool = True,
) -> bool | Prompt:
    """
    End a cycle with what the model said last; its summary is what will be left of it, and `room` the tokens that its
    model could read, where that was found out. Return whether there is more to think about. If gates have something to
    say to the agent first, and it may go on (`gated`), return what it is told instead. Each gate says it once.
    """
    has_mind = run_lease.resident.config.model.name != CODE
    if can_continue and has_mind and (instructing_gates := gates.list_instructing(tx, run_lease.resident.number)):
        renew_lease(tx, run_lease)
        _write_reply(tx, run_lease, step_number, reply)
        reminder = Prompt(render_reminder(instructing_gates), gates=tuple(gate.id for gate in instructing_gates))
        _write_step(tx, run_lease.run, step_number + 1, reminder)
        for gate in instructing_gates:
            gate_rows.instruct(tx, gate.id, tx.now)
        return reminder
    leases.release_or_raise(tx, run_lease.lease)
    _write_reply(tx, run_lease, step_number, reply)
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
    End a cycle that has reached a limit, with a note of the agent to itself. The third time in a row its owner is told;
    of a budget, at which the agent rests until an instant, once a period. Return whether there is more to think about.
    """
    leases.release_or_raise(tx, run_lease.lease)
    run = run_lease.run
    _write_step(tx, run, step_number, Prompt(note))
    weight = _end_run(tx, run_lease, RunStatus.COMPLETED, summary=summary, limit=limit)
    _update_mind(tx, run_lease, weight, context_tokens)
    if rest_until is not None:
        budgets.start_rest(tx, replace(run_lease.resident, failures=0, batch_limit=None), rest_until)
        return _has_more_work(tx, run_lease)
    last_limits = runs.last_limits(tx, run_lease.resident.number, before=run.number, limit=_LIMITS_IN_A_ROW)
    limits_in_a_row = next(
        (index for index, past_limit in enumerate(last_limits) if past_limit is None), len(last_limits)
    )
    if limits_in_a_row == _LIMITS_IN_A_ROW - 1:
        text = (
            f"the cycles of {run.agent!r} ended at a limit {_LIMITS_IN_A_ROW} times in a row, the last at its {limit}"
        )
        _alert_owner(tx, run_lease, f"{text}; `gatepost agent runs {run.agent}` shows them", topic=f"limit:{run.id}")
    return _has_more_work(tx, run_lease)


def skip_run(tx: Transaction, run_lease: RunLease) -> bool:
    """End a cycle that changed nothing: its events are delivered, and the mind does not know of it."""
    leases.release_or_raise(tx, run_lease.lease)
    _end_run(tx, run_lease, RunStatus.SKIPPED)
    agents.completed(tx, run_lease.resident.number, cycles=run_lease.resident.cycles, tokens=run_lease.resident.tokens)
    return _has_more_work(tx, run_lease)


def release_run(tx: Transaction, run_lease: RunLease, trouble: str, error: str, retry_in: Duration) -> None:
    """
    The model failed before anything was done: give the batch back, as if nothing had been. If the content is to blame,
    the next batch is half as large; and an item that was alone has failed of its own.
    """
    leases.release_or_raise(tx, run_lease.lease)
    run = run_lease.run
    turns = [step.turn for step in steps.of_run(tx, run.number)]
    events = [event for turn in turns if isinstance(turn, Prompt) for event in turn.events]
    stored_run = runs.read(tx, run.id)
    is_single_event = len(events) == 1 and stored_run is not None and stored_run.events == 1
    failed_events = events if trouble == "content" and is_single_event else []
    for gate in (gate for turn in turns if isinstance(turn, Prompt) for gate in turn.gates):
        gate_rows.instruct(tx, gate, None)  # the mind does not know of this run: it is told again
    inbox.release(tx, run.claim, owner=run.id, fence=run.claim_fence, failed_events=failed_events)
    runs.end(tx, run.number, RunStatus.FAILED, error=error)
    batch_limit = run_lease.resident.batch_limit
    if trouble == "content":
        batch_limit = retry_policy.halve_batch(len(events))
    if failed_events and _is_item_dead(tx, run_lease.resident, failed_events[0]):
        batch_limit = None
        text = f"an event made the model of {run.agent!r} fail again and again: {failed_events[0]} ({error})"
        _alert_owner(tx, run_lease, text, topic=failed_events[0])
    _rest_agent(tx, run_lease, retry_in, batch_limit)


def suspend_run(tx: Transaction, run_lease: RunLease, retry_in: Duration) -> None:
    """The model failed after something was done: the run stays open, and is gone on with later."""
    leases.release_or_raise(tx, run_lease.lease)
    _rest_agent(tx, run_lease, retry_in, run_lease.resident.batch_limit)


def record_refusal(tx: Transaction, run_lease: RunLease, error: str, retry_in: Duration) -> bool | None:
    """
    The model will not go on with what was begun: it is asked again later, and after some times no more. Then what was
    done stays done, the events count as delivered, the owner is told, and it is returned whether there is more to think
    about. Only refusals count: an outage is nobody's fault.
    """
    leases.release_or_raise(tx, run_lease.lease)
    if runs.refused(tx, run_lease.run.number) < _MAX_REFUSALS:
        _rest_agent(tx, run_lease, retry_in, run_lease.resident.batch_limit)
        return None
    _end_run(tx, run_lease, RunStatus.FAILED, error=error)
    _alert_owner(
        tx,
        run_lease,
        f"the run {run_lease.run.id} of {run_lease.run.agent!r} could not be ended: {error}",
        topic=run_lease.run.id,
    )
    agents.completed(tx, run_lease.resident.number, cycles=run_lease.resident.cycles, tokens=run_lease.resident.tokens)
    return _has_more_work(tx, run_lease)


def hand_over(tx: Transaction, run_lease: RunLease) -> None:
    """Stop in the middle, at a step: whoever takes the lease next goes on from there."""
    leases.release(tx, run_lease.lease)
    tx.after_commit(Signal(run_lease.run.agent, "handover"))


def _write_reply(tx: Transaction, run_lease: RunLease, step_number: int, reply: ModelReply) -> None:
    _write_step(
        tx,
        run_lease.run,
        step_number,
        reply,
        steps=1,
        prompt_tokens=reply.usage.prompt,
        completion_tokens=reply.usage.completion,
        model=reply.model,
    )


def _write_step(
    tx: Transaction, run: Run, step_number: int, turn: Turn, *, key: str | None = None, **counts: Any
) -> None:
    steps.insert(tx, run.number, step_number, turn, key)
    if not runs.count(tx, run.number, tokens=rules.weigh(turn), **counts):
        raise Lost(f"the run {run.id!r} has ended")
    tx.after_commit(_build_step_signal(run))


def _build_step_signal(run: Run) -> Signal:
    return Signal(f"run:{run.id}", "step")


def _end_run(
    tx: Transaction,
    run_lease: RunLease,
    status: RunStatus,
    *,
    summary: str = "",
    error: str | None = None,
    limit: RunLimit | None = None,
) -> int:
    """End a run and its claim; return what it weighs."""
    run = run_lease.run
    weight = runs.end(tx, run.number, status, summary=summary, error=error, limit=limit)
    if weight is None:
        raise Lost(f"the run {run.id!r} has ended")
    inbox.ack(tx, run.claim, owner=run.id, fence=run.claim_fence)
    tx.after_commit(Signal(f"run:{run.id}", "end"))
    return weight


def _update_mind(tx: Transaction, run_lease: RunLease, weight: int, context_tokens: int | None) -> None:
    """Add a cycle to the mind; when that outgrows its limit, old cycles are replaced by their summaries."""
    resident = run_lease.resident
    if resident.config.model.name == CODE:  # it has no mind
        agents.completed(tx, resident.number, cycles=resident.cycles + 1, tokens=0)
        return
    tokens = resident.tokens + weight
    limits = resident.config.mind
    if context_tokens is not None and context_tokens < limits.max_tokens:
        limits = replace(limits, max_tokens=context_tokens)
    if tokens > limits.max_tokens:
        past_cycles = minds.read(tx, resident.number)
        cycles = runs.weights(tx, resident.number, past_cycles.run)
        new_past_cycles = rules.compact(cycles, past_cycles, limits)
        if new_past_cycles != past_cycles:
            minds.insert(tx, resident.number, new_past_cycles)
        tokens = new_past_cycles.tokens + sum(cycle.tokens for cycle in cycles if cycle.run > new_past_cycles.run)
    agents.completed(tx, resident.number, cycles=resident.cycles + 1, tokens=tokens)


def _has_more_work(tx: Transaction, run_lease: RunLease) -> bool:
    return agents.stirring(tx, run_lease.resident.number, looking=False)


def _rest_agent(tx: Transaction, run_lease: RunLease, retry_in: Duration, batch_limit: int | None) -> None:
    resident = run_lease.resident
    agents.rest(
        tx, replace(resident, failures=resident.failures + 1, rest_until=tx.now + retry_in, batch_limit=batch_limit)
    )


def _is_item_dead(tx: Transaction, resident: Resident, event: str) -> bool:
    return any(item.state is ItemState.DEAD for _, item in items.of_event(tx, event, resident.number))


def _alert_owner(tx: Transaction, run_lease: RunLease, text: str, *, topic: str) -> None:
    owner = directory.find_responsible(tx, directory.find(tx, run_lease.run.agent))
    push.push_alerts(tx, [push.build_alert(owner, text, f"{run_lease.run.agent}:{topic}")])


def _build_prompt(inbox_batch: Batch) -> Prompt:
    return Prompt(str(inbox_batch), tuple(item.event.id for item in inbox_batch.items))


def _count_max_hops(tx: Transaction, batch_items: Iterable[Item]) -> int:
    """The longest chain that goes on here; one that came to its end has woken nobody, and was only taken along."""
    return max((item.event.hops for item in batch_items if item.event.hops <= tx.limits.hops), default=0)
