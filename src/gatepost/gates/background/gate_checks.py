"""
Check the conditions outside the store that gates wait for.

    command   exit 0: resolved    1: not yet    127: orphaned, it is gone    any other code, or a timeout: trouble
    ci        by `gh`: success or merged: resolved    failed, closed, not found: orphaned    running: not yet

A process takes the row of a gate for as long as a check may take, so that two processes do not check it at once; if the
process is stopped, another one checks the gate after that time. Deadlines do not wait for a check (`duties.py`). A
check that could not be made is trouble: the gate says so, its owner is alerted once, and `fail` decides whether the
gate holds meanwhile.

`gh` has the login of the user who runs the gateway, so it is asked only about the repositories in `gates.ci`. A few
gates are checked at the same time, and owners take turns: however many gates one owner has, the first gate of another
owner is checked soon.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from gatepost.core.ports import Reader, Store
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND, Duration
from gatepost.errors import GatepostError, Unavailable
from gatepost.gates import gate as gate_rules, gate_actions as gates
from gatepost.gates.gate import (
    COMMAND_NOT_FOUND,
    CheckFailed,
    CheckResult,
    CiTarget,
    CommandResult,
    ConditionGone,
    ConditionMet,
    ConditionPending,
    Gate,
    GateKind,
)
from gatepost.gates.ports import CommandRunner

log = structlog.get_logger("gatepost.gate_checks")

#: gates that are checked at the same time
_CONCURRENCY: Final = 8
#: the conclusions of a run on GitHub that count as success
_SUCCESS_CONCLUSIONS: Final = ("success", "skipped", "neutral")
#: what `gh` prints about a run or pull request that does not exist
_MISSING_PHRASES: Final = ("404", "not found", "could not resolve to a")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOptions:
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


async def check_gates(store: Store, options: CommandOptions) -> float | None:
    """Check the gates that are due, owner by owner; return the seconds until the next check, None if there is none."""
    timeout, last_owner = options.timeout + 30 * SECOND, ""
    while due_gates := await store.run(
        gates.take_due_checks, timeout=timeout, limit=_CONCURRENCY, after=last_owner, lane="gates"
    ):
        await asyncio.gather(*(_check_gate(store, options, gate) for gate in due_gates))
        owners = [gate.owner for gate in due_gates]
        last_owner = max([owner for owner in owners if owner <= last_owner] or owners)
    return await store.read(_get_seconds_until_check)


async def _check_gate(store: Store, options: CommandOptions, gate: Gate) -> None:
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


async def _observe_gate(options: CommandOptions, gate: Gate) -> CheckResult:
    assert gate.awaits is not None
    timeout = options.timeout / SECOND
    match gate.kind:
        case GateKind.CI:
            check = gate_rules.parse_ci_target(gate.awaits)
            refusal = gate_rules.explain_refusal(check, options.repositories)
            if refusal is not None:
                return CheckFailed(refusal)
            return _interpret_gh(check, await options.commands.run(_build_gh_command(check), time_limit=timeout))
        case GateKind.COMMAND if options.can_run_commands:
            return _interpret_command(await options.commands.run(gate.awaits, time_limit=timeout))
        case GateKind.COMMAND:
            return CheckFailed("commands are not run here: gates.commands is not set")
        case kind:  # only an explicit kind may run a command
            return CheckFailed(f"a gate of the kind {kind.value} is not checked from outside")


def is_wake_signal(signal: TransportMessage) -> bool:
    """Return True if a signal says that there is a new gate."""
    return isinstance(signal, Signal) and signal.recipient.startswith("gate:") and signal.cause == "opened"


def _interpret_command(result: CommandResult) -> CheckResult:
    match result.code:
        case 0:
            return ConditionMet(result.first_line)
        case 1:
            return ConditionPending()
        case None:
            return CheckFailed("the command took too long")
        case _ if result.code == COMMAND_NOT_FOUND:
            return ConditionGone(result.first_line or "there is no such command")
        case code:
            return CheckFailed(
                f"the command ended with {code}" + (f": {result.first_line}" if result.first_line else "")
            )


def _build_gh_command(check: CiTarget) -> list[str]:
    fields = "status,conclusion" if check.kind == "run" else "state"
    assert check.repository is not None  # a target without one is refused before
    return ["gh", check.kind, "view", check.id, "--repo", check.repository, "--json", fields]


def _interpret_gh(check: CiTarget, result: CommandResult) -> CheckResult:
    if result.code == COMMAND_NOT_FOUND:
        return CheckFailed("the program `gh`, which reads the state from GitHub, is not installed")
    if result.code is None:
        return CheckFailed("`gh` took too long")
    if result.code != 0:
        reason = result.first_line or f"`gh` ended with {result.code}"
        is_gone = any(phrase in (result.stdout + result.stderr).lower() for phrase in _MISSING_PHRASES)
        return ConditionGone(f"{check.kind} {check.id} does not exist: {reason}") if is_gone else CheckFailed(reason)
    try:
        document = json.loads(result.stdout)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        return CheckFailed(f"`gh` printed no JSON object: {result.first_line:.200}")
    return _interpret_run(check, document) if check.kind == "run" else _interpret_pull_request(check, document)


def _interpret_run(check: CiTarget, document: dict[str, Any]) -> CheckResult:
    if str(document.get("status", "")).lower() != "completed":
        return ConditionPending()
    conclusion = str(document.get("conclusion", "")).lower()
    text = f"the run {check.id} has ended: {conclusion}"
    return ConditionMet(text) if conclusion in _SUCCESS_CONCLUSIONS else ConditionGone(text)


def _interpret_pull_request(check: CiTarget, document: dict[str, Any]) -> CheckResult:
    match str(document.get("state", "")).lower():
        case "merged":
            return ConditionMet(f"the pull request {check.id} is merged")
        case "closed":
            return ConditionGone(f"the pull request {check.id} was closed without being merged")
        case _:
            return ConditionPending()


def _get_seconds_until_check(tx: Reader) -> float | None:
    due = gates.find_next_check(tx)
    return max(0.0, (due - tx.now) / SECOND) if due is not None else None
