"""
Make the checks of conditions outside the store that gates wait for (`condition_check.py`).

A process takes the row of a gate for as long as a check may take, so that two processes do not check it at once; if the
process is stopped, another one checks the gate after that time. Deadlines do not wait for a check
(`automatic_end_actions.py`). A few gates are checked at the same time, and owners take turns: however many gates one
owner has, the first gate of another owner is checked soon.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import structlog

from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Signal
from gatepost.core.times import SECOND, Duration
from gatepost.errors import GatepostError, Unavailable
from gatepost.gates import condition_check, gate_actions as gates
from gatepost.gates.condition_check import CheckFailed, CheckResult, CommandRunner
from gatepost.gates.gate import Gate, GateKind

log = structlog.get_logger("gatepost.gate_checks")

#: gates that are checked at the same time
_CONCURRENCY: Final = 8
#: seconds to wait for another process that takes what is due
_MIN_WAIT: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class GateCommandOptions:
    """Which commands run for gates and decisions, and how."""

    commands: CommandRunner
    #: whether gates may run commands of users
    can_run_commands: bool = False
    #: the repositories that `gh` may be asked about
    repositories: Sequence[str] = ()
    #: the time between two checks of one gate, and the longest time of a check
    interval: Duration = 30 * SECOND
    timeout: Duration = 10 * SECOND
    #: the command that gets the answers to decisions
    on_answer: str | None = None


async def check_gates(store: Store, options: GateCommandOptions) -> float | None:
    """Check the gates that are due, owner by owner; return the seconds until the next check, None if there is none."""
    timeout, last_owner = options.timeout + 30 * SECOND, ""
    while (wait := await store.read(_find_wait)) == 0.0:
        due_gates = await store.run(
            gates.take_due_checks, timeout=timeout, limit=_CONCURRENCY, after=last_owner, lane="gates"
        )
        if not due_gates:
            return _MIN_WAIT
        await asyncio.gather(*(_check_gate(store, options, gate) for gate in due_gates))
        owners = [gate.owner for gate in due_gates]
        last_owner = max([owner for owner in owners if owner <= last_owner] or owners)
    return wait


async def _check_gate(store: Store, options: GateCommandOptions, gate: Gate) -> None:
    """Check a gate and record the result. A failure is recorded for this gate alone, and does not stop the others."""
    try:
        observation = await _observe_gate(options, gate)
    except Unavailable:
        raise
    except Exception as error:
        log.exception("gate could not be checked", gate=gate.id)
        observation = CheckFailed(f"it could not be looked at: {type(error).__name__}")
    try:
        await store.run(gates.record_check, gate.id, observation, retry_in=options.interval, lane="gates")
    except Unavailable:
        raise
    except GatepostError as error:
        log.warning("the result of a check cannot be stored", gate=gate.id, reason=error.message)


async def _observe_gate(options: GateCommandOptions, gate: Gate) -> CheckResult:
    assert gate.awaits is not None
    timeout = options.timeout / SECOND
    match gate.kind:
        case GateKind.CI:
            check = condition_check.parse_ci_target(gate.awaits)
            refusal = condition_check.explain_refusal(check, options.repositories)
            if refusal is not None:
                return CheckFailed(refusal)
            fields = "status,conclusion" if check.kind == "run" else "state"
            assert check.repository is not None  # a target without one is refused before
            command = ["gh", check.kind, "view", check.id, "--repo", check.repository, "--json", fields]
            return condition_check.interpret_gh(check, await options.commands.run(command, time_limit=timeout))
        case GateKind.COMMAND if options.can_run_commands:
            return condition_check.interpret_command(await options.commands.run(gate.awaits, time_limit=timeout))
        case GateKind.COMMAND:
            return CheckFailed("commands are not run here: gates.commands is not set")
        case kind:  # only an explicit kind may run a command
            return CheckFailed(f"a gate of the kind {kind.value} is not checked from outside")


def is_wake_signal(signal: Signal) -> bool:
    """Return True if a signal says that there is a new gate."""
    return signal.cause == "opened"


def _find_wait(tx: Reader) -> float | None:
    due = gates.find_next_check(tx)
    return max(0.0, (due - tx.now) / SECOND) if due is not None else None
