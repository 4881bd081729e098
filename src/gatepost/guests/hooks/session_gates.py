"""
Session gates: conditions that one session of a guest must meet before an event, and how to check them.

A gate is open if somebody has marked it, or if its check says so. A check changes nothing and is never recorded as a
mark: a repository that was clean an hour ago may not be clean now.

    decision      strict, if `stop_decision.enabled` is set: the agent has asked for a decision since it was last told
                  to continue
    commit-push   soft: everything in the repository is committed and pushed, or there is no repository
    work-update   soft: the agent has written on a work item since the session began, or there are no work items

Users register more gates in HOME/gates.json; only a mark opens those. A strict gate blocks, a soft one warns once. A
`closed` gate blocks even if it cannot be checked; other gates do not: hooks fail open.
"""

import os
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from gatepost import paths
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Unavailable, quote_value
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import Verdict
from gatepost.paths import StrPath

if TYPE_CHECKING:
    from gatepost.gates.gate import Gate
GATES_FILE: Final = "gates.json"
#: the events that a gate can block
GATE_EVENTS: Final = ("Stop", "SubagentStop", "PreToolUse", "UserPromptSubmit", "PreCompact")

_NAME_PATTERN: Final = r"[a-z0-9][a-z0-9._-]{0,62}"
_MAX_HINT_CHARS: Final = 1_000
#: seconds; a repository whose check takes longer counts as clean
_GIT_TIMEOUT: Final = 5
#: with these, git changes nothing, not even its index, and asks nothing
_GIT_ENVIRONMENT: Final = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


class SessionGate(NamedTuple):
    """A session gate; the field names are those of gates.json."""

    name: str
    #: the event that it blocks
    hook: str = "Stop"
    #: it warns once instead of blocking
    soft: bool = False
    #: it blocks even if it cannot be checked
    closed: bool = False
    #: how to open it
    hint: str = ""


BUILT_IN: Final = (
    SessionGate(name="decision", hint="ask for a decision before you stop"),
    SessionGate(name="commit-push", soft=True, hint="commit and push"),
    SessionGate(name="work-update", soft=True, hint="note on the work item what was done"),
)


class SessionGateStatus(NamedTuple):
    """The result of a check."""

    gate: SessionGate
    #: None if the gate is open
    shut_reason: str | None

    @property
    def description(self) -> str:
        hint = f" ({self.gate.hint})" if self.gate.hint and self.gate.hint != self.shut_reason else ""
        return f"{self.gate.name}: {self.shut_reason}{hint}"


def check_name(name: str) -> str:
    """Return the name, which becomes a file name; raise Invalid if a gate may not have it."""
    if not re.fullmatch(_NAME_PATTERN, name):
        raise Invalid(
            f"{quote_value(name)} is not a name of a session gate",
            hint="use up to 63 of a-z 0-9 . _ - and begin with a letter or digit",
        )
    return name


def list_gates(home: StrPath) -> tuple[SessionGate, ...]:
    """Return the built-in and the registered gates; raise Unavailable if a registered one cannot be read."""
    return (*BUILT_IN, *list_registered_gates(home))


def list_registered_gates(home: StrPath) -> tuple[SessionGate, ...]:
    """Return all registered gates; raise Unavailable if one cannot be read."""
    gates, problems = read_registered_gates(home)
    if problems:
        raise _build_read_error(home)
    return gates


def read_registered_gates(home: StrPath) -> tuple[tuple[SessionGate, ...], list[str]]:
    """Return the registered gates, and a sentence on each that cannot be read; raise Unavailable if the list cannot."""
    path = os.path.join(home, GATES_FILE)
    try:
        content = paths.read_trusted_file(path, reference=os.fspath(home))
    except FileNotFoundError:
        return (), []
    except OSError as error:
        raise _build_read_error(home, f": {error.strerror or error}") from None
    import json  # most homes have no such file, and then a hook does without

    try:
        documents = json.loads(content)
    except (ValueError, RecursionError):
        raise _build_read_error(home) from None
    if not isinstance(documents, list):
        raise _build_read_error(home)
    gates, problems = [], []
    for document in documents:
        try:
            gate = SessionGate(**document)
            if not all(type(value) is type(example) for value, example in zip(gate, BUILT_IN[0], strict=True)):
                raise TypeError("a field of it is not what it should be")
            _validate_gate(gate)
            gates.append(gate)
        except (TypeError, Invalid):
            problems.append(f"a session gate in {path!r} cannot be read, and is passed over: {quote_value(document)}")
    return tuple(gates), problems


def judge_unknown_session(home: StrPath, event_name: str, reason: str, add_note: Callable[[str], None]) -> Verdict:
    """Return the verdict on an event of an unknown session: its marks are unknown, so every `closed` gate blocks."""
    gates, problems = read_registered_gates(home)
    for problem in problems:
        add_note(problem)
    closed_gates = [gate for gate in gates if gate.closed and not gate.soft and gate.hook == event_name]
    reasons = [SessionGateStatus(gate, f"it cannot be looked at: {reason}").description for gate in closed_gates]
    return Verdict(block="\n".join(reasons) or None, is_fail_closed=bool(reasons))


def _build_read_error(home: StrPath, detail: str = "") -> Unavailable:
    path = os.path.join(home, GATES_FILE)
    return Unavailable(f"the session gates in {path!r} cannot be read{detail}", hint="fix the file, or remove it")


def register(home: StrPath, gate: SessionGate) -> None:
    """Add a gate for every session, or replace the one of that name; raise Conflict for the name of a built-in one."""
    _validate_gate(gate)
    if gate.name in {other.name for other in BUILT_IN}:
        raise Conflict(f"the session gate {gate.name!r} is built in", hint="choose another name")
    _write_gates(home, [*(other for other in list_registered_gates(home) if other.name != gate.name), gate])


def unregister(home: StrPath, name: str) -> SessionGate:
    """Remove a registered gate and return it; raise Conflict for a built-in one, NotFound for an unknown name."""
    if name in {gate.name for gate in BUILT_IN}:
        raise Conflict(f"the session gate {name!r} is built in and stays")
    gates = list_registered_gates(home)
    removed_gate = next((gate for gate in gates if gate.name == name), None)
    if removed_gate is None:
        raise NotFound(f"there is no session gate {name!r}", hint="`gatepost gate list` lists them")
    _write_gates(home, [gate for gate in gates if gate is not removed_gate])
    return removed_gate


def check_gate(ctx: HookContext, gate: SessionGate, cwd: str) -> SessionGateStatus:
    """Check a gate in this session; nothing changes by it. A check that fails leaves only a `closed` gate shut."""
    try:
        if ctx.session.is_marked(gate.name):
            return SessionGateStatus(gate, None)
        match gate.name:
            case "decision":
                return SessionGateStatus(gate, _check_decision(ctx))
            case "commit-push":
                return SessionGateStatus(gate, find_unsaved_work(cwd))
            case "work-update":
                return SessionGateStatus(gate, _check_work_update(ctx))
            case _:
                return SessionGateStatus(gate, "it is not marked")
    except (OSError, GatepostError) as error:
        return SessionGateStatus(gate, f"it cannot be looked at: {error}" if gate.closed else None)


def list_blocking_gates(ctx: HookContext, agent: str) -> "list[Gate]":
    """Return the agent's own gates in the store that block its stop; raise Unavailable if it is out of reach."""
    from gatepost.guests import session_actions as sessions

    if not ctx.read_sync(sessions.has_pending_gates, agent):
        return []
    from gatepost.gates import gate_actions as gates

    return [gate for gate in ctx.read_sync(gates.list_blocking, agent) if gate.id not in ctx.excused_gates]


def _check_decision(ctx: HookContext) -> str | None:
    if not ctx.options.stop_decision or ctx.agent is None:
        return None
    from gatepost.guests.hooks.stop_decision import find_decision

    return None if find_decision(ctx, ctx.agent) else "no decision was asked for"


def _check_work_update(ctx: HookContext) -> str | None:
    if ctx.agent is None:
        return None
    from gatepost.guests import session_actions as sessions

    has_worked = ctx.read_sync(sessions.has_reported_work, ctx.agent, ctx.state.started_at)
    return None if has_worked else "no work event or note in this session"


def _validate_gate(gate: SessionGate) -> None:
    check_name(gate.name)
    if gate.hook not in GATE_EVENTS:
        raise Invalid(
            f"{quote_value(gate.hook)} is not an event of a gate", hint=f"use one of {', '.join(GATE_EVENTS)}"
        )
    if len(gate.hint) > _MAX_HINT_CHARS or not gate.hint.isprintable():
        raise Invalid(
            "the hint is too long, or has line breaks in it", hint=f"use one line of {_MAX_HINT_CHARS} at most"
        )


def _write_gates(home: StrPath, gates: Sequence[SessionGate]) -> None:
    import json

    path = os.path.join(home, GATES_FILE)
    try:
        paths.write_atomically(path, json.dumps([gate._asdict() for gate in gates], indent=2) + "\n")
    except OSError as error:
        raise Unavailable(f"{path!r} cannot be written: {error.strerror}") from None


def find_unsaved_work(folder: str) -> str | None:
    """Return what is not committed or not pushed; None if nothing is, or without a repository or git."""
    path = parent = folder if os.path.isabs(folder) else os.path.join(os.getcwd(), folder)
    while not os.path.exists(os.path.join(parent, ".git")):
        if parent == (parent := os.path.dirname(parent)):
            return None
    status = _run_git(path, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
    if status is None:
        return None
    headers = dict(line[2:].partition(" ")[::2] for line in status if line.startswith("# "))
    changed_count = sum(not line.startswith("# ") for line in status)
    if changed_count:
        return f"{changed_count} {'file is' if changed_count == 1 else 'files are'} not committed"
    ahead_count = headers.get("branch.ab", "").partition(" ")[0].removeprefix("+")
    if "branch.upstream" not in headers and headers.get("branch.oid") != "(initial)" and _run_git(path, "remote"):
        # There is no upstream branch: a commit that no remote has is not pushed.
        ahead_count = (_run_git(path, "rev-list", "--count", "HEAD", "--not", "--remotes") or ["0"])[0]
    if ahead_count not in ("", "0"):
        return f"{ahead_count} {'commit is' if ahead_count == '1' else 'commits are'} not pushed"
    return None


def _run_git(folder: str, *arguments: str) -> list[str] | None:
    """Return the lines that git prints; None if it fails."""
    import subprocess  # not light, and most checks end before

    try:
        result = subprocess.run(  # noqa: S603 (fixed arguments, and a folder)
            ["git", "-C", folder, "-c", "core.fsmonitor=false", *arguments],  # noqa: S607 (the user's own git)
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_GIT_TIMEOUT,
            env={**os.environ, **_GIT_ENVIRONMENT},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.splitlines() if result.returncode == 0 else None
