"""
Check a condition outside the store: a command of the user, or a run or a pull request on GitHub.

    command   exit 0: resolved    1: not yet    127: orphaned, it is gone    any other code, or a timeout: trouble
    ci        by `gh`: success or merged: resolved    failed, closed, not found: orphaned    running: not yet

A check that could not be made is trouble: the gate says so, its owner is alerted once, and `fail` decides whether the
gate holds meanwhile. `gh` has the login of the user who runs the gateway, so it is asked only about the repositories in
`gates.ci`. `condition_check_background.py` makes the checks.
"""

import json
import re
from collections.abc import Sequence
from typing import Final, Protocol

from msgspec import Struct

from gatepost.errors import Invalid, quote_value

#: the exit code of the shell if there is no such command
COMMAND_NOT_FOUND: Final = 127
#: how a `ci` gate says what it awaits
CI_TARGET_FORM: Final = "run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME"

_CI_TARGET: Final = re.compile(r"(run|pr):([0-9]{1,20})(?:@([A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}))?")
#: the conclusions of a run on GitHub that count as success
_SUCCESS_CONCLUSIONS: Final = ("success", "skipped", "neutral")
#: what `gh` prints about a run or pull request that does not exist
_MISSING_PHRASES: Final = ("404", "not found", "could not resolve to a")


class CommandResult(Struct, frozen=True, kw_only=True):
    """The result of a command that a user has configured, such as the command of a gate."""

    #: the exit code, or the negative number of the signal that ended it; None if it ran out of time
    code: int | None
    #: the beginning of the output
    stdout: str = ""
    stderr: str = ""

    @property
    def first_line(self) -> str:
        """The first line of the output that is not empty, without characters that cannot be printed."""
        lines = (*self.stdout.splitlines(), *self.stderr.splitlines())
        plain = ("".join(filter(str.isprintable, line)).strip() for line in lines)
        return next((line for line in plain if line), "")


class CommandRunner(Protocol):
    """
    Runs commands of the user: the condition of a gate, the command that an answer starts.

    A command that is a string is a line for the shell; a command that is a list is run as it is. It gets its input on
    stdin and has a time limit; after that it is killed, with all processes that it started.
    """

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        """Run a command to its end, or for `time_limit` seconds; a command that does not exist ends with 127."""


class ConditionMet(Struct, frozen=True):
    """The gate can be resolved."""

    reason: str


class ConditionGone(Struct, frozen=True):
    """The condition cannot be met any more."""

    reason: str


class ConditionPending(Struct, frozen=True):
    """The condition is not met yet."""


class CheckFailed(Struct, frozen=True):
    """The condition could not be checked."""

    reason: str


#: the result of checking a gate
CheckResult = ConditionMet | ConditionGone | ConditionPending | CheckFailed


class CiTarget(Struct, frozen=True, kw_only=True):
    """A run (`run`) or a pull request (`pr`) on GitHub."""

    kind: str
    id: str
    #: OWNER/NAME; None if the gate names none, which is refused
    repository: str | None


def parse_ci_target(awaits: str) -> CiTarget:
    match = _CI_TARGET.fullmatch(awaits)
    if match is None:
        raise Invalid(
            f"{quote_value(awaits)} is not a run or a pull request on GitHub",
            hint=f"write {CI_TARGET_FORM}",
        )
    return CiTarget(kind=match[1], id=match[2], repository=match[3])


def is_repository(name: str) -> bool:
    """Return True if a repository on GitHub can have this name, such as `acme/shop`."""
    return _CI_TARGET.fullmatch(f"run:1@{name}") is not None


def explain_refusal(target: CiTarget, allowed_repositories: Sequence[str]) -> str | None:
    """Return why GitHub is not asked about the target; None if its repository is allowed."""
    if target.repository is None:
        return f"{f'{target.kind}:{target.id}'!r} names no repository"
    if target.repository.lower() not in map(str.lower, allowed_repositories):
        return f"`ci` gates may not ask about the repository {target.repository!r}: it is not in gates.ci"
    return None


def interpret_command(result: CommandResult) -> CheckResult:
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


def interpret_gh(check: CiTarget, result: CommandResult) -> CheckResult:
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
    status, state, conclusion = (str(document.get(name, "")).lower() for name in ("status", "state", "conclusion"))
    if check.kind == "run" and status == "completed":
        text = f"the run {check.id} has ended: {conclusion}"
        return ConditionMet(text) if conclusion in _SUCCESS_CONCLUSIONS else ConditionGone(text)
    if check.kind == "pr" and state == "merged":
        return ConditionMet(f"the pull request {check.id} is merged")
    if check.kind == "pr" and state == "closed":
        return ConditionGone(f"the pull request {check.id} was closed without being merged")
    return ConditionPending()
