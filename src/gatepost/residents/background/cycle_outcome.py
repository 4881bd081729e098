"""
What the cycles of models and of functions share: what they need, how they write their journal, and how they end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any

import structlog

from gatepost.core.ports import Store, Transaction
from gatepost.core.signals import Frame
from gatepost.core.times import SECOND
from gatepost.errors import GatepostError
from gatepost.residents.agent_config import ModelChoice, Resident
from gatepost.residents.background.toolkit import Toolkit
from gatepost.residents.model_failures import ModelFailed, Trouble, compute_model_delay
from gatepost.residents.model_port import Model
from gatepost.residents.runs import ending_actions as endings
from gatepost.residents.runs.journal_actions import RunLease

log = structlog.get_logger("gatepost.cycle")


@dataclass(frozen=True, slots=True)
class CycleFinished:
    """The cycle is over; `has_more` is true if the inbox has more items to think about."""

    has_more: bool


@dataclass(frozen=True, slots=True)
class CyclePaused:
    """The model failed, or the budget is used up; the cycle is tried again in `seconds`."""

    seconds: float


CycleOutcome = CycleFinished | CyclePaused


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleDeps:
    """What a cycle needs from its process."""

    store: Store
    #: returns an open model, which the caller does not close
    get_model: Callable[[ModelChoice], Awaitable[Model]]
    #: opens the tools of a resident for the length of a cycle
    open_toolkit: Callable[[Resident], AbstractAsyncContextManager[Toolkit]]
    #: sends frames to live readers
    send: Callable[[Sequence[Frame]], None]
    #: returns a number between 0 and 1
    draw_random: Callable[[], float]


async def write_journal(store: Store, run_lease: RunLease, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """
    Run a verb of the journal. If the caller is cancelled, wait for the verb all the same: the process that continues
    the run must find its step in the journal.
    """
    lane = run_lease.run.agent
    try:
        return await store.run(verb, run_lease, *args, lane=lane, **kwargs)
    except asyncio.CancelledError:
        with suppress(GatepostError):
            await store.run(_do_nothing, lane=lane)  # a lane keeps order: when this is done, the verb is done too
        raise


def _do_nothing(tx: Transaction) -> None:
    del tx


async def handle_model_failure(
    deps: CycleDeps, run_lease: RunLease, model_failure: ModelFailed, *, effects: int
) -> CycleOutcome:
    """
    Record that the model failed, and return when to try again: from the beginning of the cycle if no tool had an
    effect, else from the last step. A refusal of the content after an effect ends the cycle.
    """
    failures = run_lease.resident.failures + 1
    retry_in = compute_model_delay(
        model_failure.trouble, failures, jitter=deps.draw_random(), retry_after=model_failure.retry_after
    )
    log.warning(
        "model failed", run=run_lease.run.id, trouble=model_failure.trouble, reason=model_failure.reason, times=failures
    )
    if not effects:
        await write_journal(
            deps.store, run_lease, endings.release_run, model_failure.trouble, model_failure.reason, retry_in
        )
    elif model_failure.trouble is Trouble.CONTENT:
        has_more = await write_journal(deps.store, run_lease, endings.record_refusal, model_failure.reason, retry_in)
        if has_more is not None:
            return CycleFinished(has_more)
    else:
        await write_journal(deps.store, run_lease, endings.suspend_run, retry_in)
    return CyclePaused(retry_in / SECOND)
