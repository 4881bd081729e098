"""
The evaluator: looks at the world outside for gates that wait for something there.

    command   exit 0: resolved    1: not yet    127: orphaned, it is gone    anything else, or too long: trouble
    ci        by `gh`: success or merged: resolved    failed, closed, not found: orphaned    running: not yet

A gate is taken by row for as long as a look may take, so that two processes do not look at once; if whoever looks is
stopped, another one looks after that. Deadlines do not wait for it (`keeper`). A look that could not be had is trouble:
the gate says so, its owner is alerted once, and `fail` decides whether it holds meanwhile.

`gh` has the login of whoever runs the gateway, so it is asked only about the repositories in `gates.ci`. A few gates
are looked at side by side, and owners take turns: however many gates one owner has, another's first is not far.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import structlog

from gatepost.actions import gates
from gatepost.core import gate as rules
from gatepost.core.command import COMMAND_NOT_FOUND, CommandResult
from gatepost.core.frame import TransportMessage
from gatepost.core.gate import Check, Gate, GateKind, Gone, Met, NotYet, Sight, Troubled
from gatepost.core.instants import SECOND, Duration
from gatepost.core.ring import Ring
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import CommandRunner, Reader, Store

log = structlog.get_logger("gatepost.evaluator")

#: gates looked at side by side
_AT_ONCE: Final = 8
#: how a run on GitHub ends that has done what it should
_GOOD: Final = ("success", "skipped", "neutral")
#: what `gh` says of something that is not there
_MISSING: Final = ("404", "not found", "could not resolve to a")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What is done outside for gates and decisions."""

    commands: CommandRunner
    #: whether gates may run commands of users
    allowed: bool = False
    #: what `gh` may be asked about
    repositories: Sequence[str] = ()
    #: between looks at one gate, and how long one may take
    interval: Duration = 30 * SECOND
    limit: Duration = 10 * SECOND
    #: the command that is told of answers to decisions
    on_answer: str | None = None


async def look(store: Store, reach: Reach) -> float | None:
    """Look at what is due, owner by owner; return in how many seconds there is more."""
    hold, last = reach.limit + 30 * SECOND, ""
    while taken := await store.run(gates.take, hold=hold, limit=_AT_ONCE, after=last, lane="gates"):
        await asyncio.gather(*(_look_at(store, reach, gate) for gate in taken))
        owners = [gate.owner for gate in taken]
        last = max([owner for owner in owners if owner <= last] or owners)
    return await store.read(_wait)


async def _look_at(store: Store, reach: Reach, gate: Gate) -> None:
    """Look at one gate, and say what was seen: whatever goes wrong with it is its own trouble, not the others'."""
    try:
        sight = await _seen(reach, gate)
    except Unavailable:
        raise
    except Exception as error:
        log.exception("gate could not be looked at", gate=gate.id)
        sight = Troubled(f"it could not be looked at: {type(error).__name__}")
    try:
        await store.run(gates.looked, gate.id, sight, again_in=reach.interval, lane="gates")
    except Unavailable:
        raise
    except GatepostError as error:
        log.warning("what a gate has come to cannot be written", gate=gate.id, reason=error.message)


async def _seen(reach: Reach, gate: Gate) -> Sight:
    assert gate.awaits is not None
    seconds = reach.limit / SECOND
    if gate.kind is GateKind.CI:
        check = rules.awaited_check(gate.awaits)
        refusal = rules.explain_refusal(check, reach.repositories)
        if refusal is not None:
            return Troubled(refusal)
        return _checked(check, await reach.commands.run(_asking(check), time_limit=seconds))
    if not reach.allowed:
        return Troubled("commands are not run here: gates.commands is not set")
    return _commanded(await reach.commands.run(gate.awaits, time_limit=seconds))


def wakes(signal: TransportMessage) -> bool:
    """Whether a signal says that there is a new gate."""
    return isinstance(signal, Ring) and signal.recipient.startswith("gate:") and signal.cause == "opened"


def _commanded(ran: CommandResult) -> Sight:
    match ran.code:
        case 0:
            return Met(ran.first_line)
        case 1:
            return NotYet()
        case None:
            return Troubled("the command took too long")
        case 127:
            return Gone(ran.first_line or "the command is not there")
        case code:
            return Troubled(f"the command ended with {code}" + (f": {ran.first_line}" if ran.first_line else ""))


def _asking(check: Check) -> list[str]:
    fields = "status,conclusion" if check.what == "run" else "state"
    where = ["--repo", check.repository] if check.repository is not None else []
    return ["gh", check.what, "view", check.id, *where, "--json", fields]


def _checked(check: Check, ran: CommandResult) -> Sight:
    if ran.code == COMMAND_NOT_FOUND:
        return Troubled("`gh` is not here, which says how things stand on GitHub")
    if ran.code is None:
        return Troubled("`gh` took too long")
    if ran.code != 0:
        reason = ran.first_line or f"`gh` ended with {ran.code}"
        gone = any(word in (ran.stdout + ran.stderr).lower() for word in _MISSING)
        return Gone(f"{check.what} {check.id} is not there: {reason}") if gone else Troubled(reason)
    try:
        found = json.loads(ran.stdout)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return Troubled(f"`gh` answered what cannot be read: {ran.first_line:.200}")
    return _of_run(check, found) if check.what == "run" else _of_request(check, found)


def _of_run(check: Check, found: dict[str, Any]) -> Sight:
    if str(found.get("status", "")).lower() != "completed":
        return NotYet()
    conclusion = str(found.get("conclusion", "")).lower()
    words = f"the run {check.id} has ended: {conclusion}"
    return Met(words) if conclusion in _GOOD else Gone(words)


def _of_request(check: Check, found: dict[str, Any]) -> Sight:
    match str(found.get("state", "")).lower():
        case "merged":
            return Met(f"the pull request {check.id} is merged")
        case "closed":
            return Gone(f"the pull request {check.id} was closed without being merged")
        case _:
            return NotYet()


def _wait(tx: Reader) -> float | None:
    due = gates.next_look(tx)
    return max(0.0, (due - tx.now) / SECOND) if due is not None else None
