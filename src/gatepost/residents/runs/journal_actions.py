"""
The journal of a run: what one cycle of a resident writes, transaction by transaction.

    take_run -> (record_step -> run_tool, run_tool, ... -> pull_critical_items)* -> finish_run
                     |  the model fails after an effect: suspend_run, and continue from here later
                     `- the model fails before any effect: release_run, as if there had been no run

A run is begun, or resumed after a crash, in `residents/runs/resume_actions.py`; the verbs that end or suspend it are in
`residents/runs/ending_actions.py`. Why nothing is lost, shown twice or done twice, although the process may be killed
at any instruction, or be put to sleep and wake up after another process has taken over:

- Every transaction of a cycle requires the agent's lease (`leases.require_and_extend`; the last one
  `leases.release_or_raise`): it names the fence and locks the row. A later holder has increased the fence, so a
  transaction of an earlier holder finds no row and fails as a whole; and while a transaction runs, nobody can take the
  lease. So the transactions of all holders form one sequence, and each builds on all before it. This includes the first
  one, which reads the agent's state only after it has locked the row.
- The batch, the run and the first step are committed together (`take_run`). The next holder of the lease continues an
  open run; it claims a new batch only if there is none. So an event is in the steps of one run, once.
- Steps are numbered without a gap, and a step is committed before the next begins. The effect of a built-in tool is
  committed together with its result. So a holder that resumes knows exactly what was done: every call with a result.
- A run ends together with its claim, and with what it adds to the mind. "There is nothing more to do" and "the lease is
  free" are one transaction too: whatever is committed later sends its signal later, and finds the lease free.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from gatepost.channels.conversation import is_user_prompt
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import Duration
from gatepost.directory.entity_rows import ENTITY
from gatepost.errors import Lost, Refused
from gatepost.inbox import batch_selection as batch, claim_actions as inbox, item_rows as items
from gatepost.inbox.claimed_batch import Batch
from gatepost.inbox.event import Item, Priority
from gatepost.jobs import lease_actions as leases
from gatepost.jobs.lease_actions import Lease
from gatepost.residents import mind_compaction as rules
from gatepost.residents.agent_config import Resident
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, ToolCall, Turn
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.run import Run
from gatepost.residents.tools import ToolContext, call_tool, load_tools
from gatepost.residents.tools.context import MAX_RESULT_SIZE
from gatepost.stores.row_mapping import fetch_row

#: pending items that are read for a preview, and to find the critical ones
_PREVIEW_LIMIT: Final = 50
_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLease:
    """The right to write a run: the lease of its agent."""

    lease: Lease
    #: each transaction extends the lease to this time from now
    length: Duration
    run: Run
    resident: Resident


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of a built-in tool, and the agent's state after it."""

    result: CallResult
    active_space: str | None
    #: None unless the caller asked for them
    waiting_items: list[Item] | None = None


def renew_lease(tx: Transaction, run_lease: RunLease) -> None:
    """Extend the lease of a run; raise `Lost` if another process has it."""
    leases.require_and_extend(tx, run_lease.lease, run_lease.length)


def record_step(
    tx: Transaction,
    run_lease: RunLease,
    step_number: int,
    turn: ModelReply | CallResult,
    key: str | None = None,
    *,
    has_effect: bool = False,
) -> None:
    """Write a reply of the model, or the result of a call that was done outside of the transaction or was refused."""
    renew_lease(tx, run_lease)
    write_step(tx, run_lease.run, step_number, turn, key=key, effects=int(has_effect))


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
    """Call a built-in tool and write its result; with `include_waiting`, return the pending items after that too."""
    renew_lease(tx, run_lease)
    row = fetch_row(tx, "directory/entities/find_by_run", run=run_lease.run.number)
    agent, weight = ENTITY.read(row), row.tokens
    if not agent.is_live:
        raise Refused(f"{agent.name!r} is retired")
    run, max_bytes = run_lease.run, count_pullable_bytes(run_lease, weight)
    ctx = ToolContext(
        tx=tx,
        agent=agent,
        run=run,
        call=f"{run.id}/{key}",
        active_space=active_space,
        max_bytes=min(MAX_RESULT_SIZE, max_bytes),
    )
    result = CallResult(call.id, call.tool, _encode(call_tool(ctx, call.tool, arguments)).decode())
    write_step(
        tx,
        run,
        step_number,
        result,
        key=key,
        effects=int(load_tools()[call.tool].has_effect),
        taken_items=ctx.taken_items,
    )
    return ToolOutcome(result, ctx.active_space, list_waiting_items(tx, agent.number) if include_waiting else None)


def list_waiting_items(tx: Reader, agent: int) -> list[Item]:
    """Return the pending items of an agent, most urgent first."""
    return items.peek(tx, agent, _PREVIEW_LIMIT)


def count_pullable_bytes(run_lease: RunLease, weight: int) -> int:
    """
    Return how many bytes of items a cycle of this weight (in tokens) may take in: half of the tokens that it has left,
    so that the other half is there for the work on them. Return 0 if that is too little for an item.
    """
    max_bytes = rules.compute_byte_limit((run_lease.resident.config.loop.max_tokens - weight) // 2)
    return max_bytes if max_bytes >= batch.MIN_BUDGET else 0


def pull_critical_items(tx: Transaction, run_lease: RunLease, step_number: int, max_bytes: int) -> Prompt | None:
    """Take the critical items into the cycle, in full as far as they fit into `max_bytes`; None if there are none."""
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
    critical_prompt = build_inbox_prompt(critical_batch)
    write_step(tx, run, step_number, critical_prompt, taken_items=critical_batch.items)
    return critical_prompt


def write_step(
    tx: Transaction,
    run: Run,
    step_number: int,
    turn: Turn,
    *,
    key: str | None = None,
    effects: int = 0,
    taken_items: Sequence[Item] = (),
) -> None:
    """
    Write a step, and add it, its effects and the items that it took to the counters of its run; raise `Lost` if the run
    has ended. The caller holds the lease in this transaction.
    """
    runs.insert_step(tx, run.number, step_number, turn, key)
    hops = count_max_hops(tx, taken_items)
    reply = turn if isinstance(turn, ModelReply) else ModelReply()
    is_running = tx.execute(
        "residents/runs/add_usage",
        number=run.number,
        tokens=rules.weigh(turn),
        steps=int(reply is turn),
        effects=effects,
        events=len(taken_items),
        prompt_tokens=reply.usage.prompt,
        completion_tokens=reply.usage.completion,
        hops=hops,
        model=reply.model,
    )
    if not is_running:
        raise Lost(f"the run {run.id!r} has ended")
    tx.after_commit(Signal(Topic("run", run.id), "step"))


def build_inbox_prompt(inbox_batch: Batch) -> Prompt:
    prompts = [item.event for item in inbox_batch.items if is_user_prompt(item.event)]
    return Prompt(
        str(inbox_batch),
        tuple(item.event.id for item in inbox_batch.items),
        user_prompts=tuple((event.id, event.route.session) for event in prompts if event.route is not None),
    )


def count_max_hops(tx: Transaction, batch_items: Iterable[Item]) -> int:
    """
    Return the hops of the longest chain that continues here. A chain past the limit of hops does not count: its last
    event woke nobody, and only came along with others.
    """
    return max((item.event.hops for item in batch_items if item.event.hops <= tx.policy.hops), default=0)
