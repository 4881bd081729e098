"""
Session gates: what one session of a guest should not go past, and how to tell whether it may.

A gate is open when somebody has marked it, or when looking at the world says so. Looking changes nothing and is never
remembered as a mark: what was clean an hour ago need not be clean now.

    decision      strict, where `stop_decision.enabled` is set: the agent has asked for a decision since it was last
                  told to go on
    commit-push   soft: everything in the repository is committed and pushed, or there is no repository
    work-update   soft: the agent has noted what it did on a work item since the session began, or there are no work
                  items

Users register more in HOME/gates.json; those are opened by a mark alone. A strict gate blocks, a soft one warns once. A
`closed` one holds also when it cannot be looked at; without that word it does not: hooks fail open.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gatepost import home as houses
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Unavailable
from gatepost.hooks.desk import Desk
from gatepost.hooks.occasion import Verdict

if TYPE_CHECKING:
    from gatepost.core.gate import Gate

FILE: Final = "gates.json"
#: the events at which a gate can stand
HOOKS: Final = ("Stop", "SubagentStop", "PreToolUse", "UserPromptSubmit", "PreCompact")

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_LONGEST_HINT: Final = 1_000


class SessionGate(NamedTuple):
    name: str
    hook: str = "Stop"
    soft: bool = False
    closed: bool = False
    #: how it is opened
    hint: str = ""


BUILT_IN: Final = (
    SessionGate(name="decision", hint="ask for a decision before you stop"),
    SessionGate(name="commit-push", soft=True, hint="commit and push"),
    SessionGate(name="work-update", soft=True, hint="note on the work item what was done"),
)


class Standing(NamedTuple):
    """How a gate stands: open, or why not."""

    gate: SessionGate
    shut: str | None

    @property
    def told(self) -> str:
        hint = f" ({self.gate.hint})" if self.gate.hint and self.gate.hint != self.shut else ""
        return f"{self.gate.name}: {self.shut}{hint}"


def named(name: str) -> str:
    """Return the name if a gate may have it; it becomes the name of a file."""
    if not _NAME.fullmatch(name):
        raise Invalid(
            f"{name[:80]!r} is not a name of a session gate",
            hint="use up to 63 of a-z 0-9 . _ - and begin with a letter or digit",
        )
    return name


def known(home: Path) -> tuple[SessionGate, ...]:
    """Those that are built in, and those that were registered; Unavailable if these cannot be read."""
    return (*BUILT_IN, *registered(home))


def registered(home: Path) -> tuple[SessionGate, ...]:
    """Those that were registered, all of them; Unavailable if one cannot be read."""
    found, damaged = readable(home)
    if damaged:
        raise _unreadable(home)
    return found


def readable(home: Path) -> tuple[tuple[SessionGate, ...], list[str]]:
    """Those of the registered that can be read, and a sentence for each other one; Unavailable if there is no list."""
    path = str(home / FILE)
    try:
        listed = json.loads(houses.read(path, like=str(home)))
    except FileNotFoundError:
        return (), []
    except OSError as error:
        raise _unreadable(home, f": {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise _unreadable(home) from None
    if not isinstance(listed, list):
        raise _unreadable(home)
    found, damaged = [], []
    for each in listed:
        try:
            found.append(_gate(each))
        except (TypeError, Invalid):
            damaged.append(f"a session gate in {path!r} cannot be read, and is passed over: {each!r:.80}")
    return tuple(found), damaged


def unlooked(home: Path, event: str, why: str, tell: Callable[[str], None]) -> Verdict:
    """What holds at an event where nobody can tell in which session, and so whether it is marked: what is `closed`."""
    found, damaged = readable(home)
    for each in damaged:
        tell(each)
    shut = [one for one in found if one.closed and not one.soft and one.hook == event]
    reasons = [Standing(one, f"it cannot be looked at: {why}").told for one in shut]
    return Verdict(block="\n".join(reasons) or None, closed=bool(reasons))


def _unreadable(home: Path, why: str = "") -> Unavailable:
    return Unavailable(
        f"the session gates in {str(home / FILE)!r} cannot be read{why}", hint="mend the file, or remove it"
    )


def register(home: Path, gate: SessionGate) -> None:
    """Add a gate for every session, or change the one of that name."""
    _check(gate)
    if gate.name in {one.name for one in BUILT_IN}:
        raise Conflict(f"the session gate {gate.name!r} is built in", hint="choose another name")
    _write(home, [*(one for one in registered(home) if one.name != gate.name), gate])


def unregister(home: Path, name: str) -> SessionGate:
    if name in {one.name for one in BUILT_IN}:
        raise Conflict(f"the session gate {name!r} is built in and stays")
    before = registered(home)
    gone = next((one for one in before if one.name == name), None)
    if gone is None:
        raise NotFound(f"there is no session gate {name!r}", hint="`gatepost gate list` shows those there are")
    _write(home, [one for one in before if one is not gone])
    return gone


def look(desk: Desk, gate: SessionGate, cwd: str) -> Standing:
    """Tell how a gate stands in this session; nothing changes by asking."""
    try:
        if desk.session.marked(gate.name):
            return Standing(gate, None)
        match gate.name:
            case "decision":
                return Standing(gate, _undecided(desk))
            case "commit-push":
                from gatepost.hooks.repository import unsaved

                return Standing(gate, unsaved(cwd))
            case "work-update":
                return Standing(gate, _unnoted(desk))
            case _:
                return Standing(gate, "it is not marked")
    except (OSError, GatepostError) as error:
        return Standing(gate, f"it cannot be looked at: {error}" if gate.closed else None)


def holding(desk: Desk, agent: str) -> "list[Gate]":
    """The agent's own gates, in the store, that keep it from stopping; Unavailable if that cannot be told."""
    from gatepost.actions import sessions

    if not desk.look(sessions.held, agent):
        return []
    from gatepost.actions import gates

    return [gate for gate in desk.look(gates.blocking, agent) if gate.id not in desk.excused]


def _undecided(desk: Desk) -> str | None:
    if not desk.rules.stop_decision or desk.agent is None:
        return None
    from gatepost.hooks.asked import asked

    return None if asked(desk, desk.agent) else "no decision was asked for"


def _unnoted(desk: Desk) -> str | None:
    if desk.agent is None or not desk.rules.work_items:
        return None
    from gatepost.actions import sessions

    done = desk.look(sessions.worked, desk.agent, desk.state.started_at)
    return None if done else "no work event or note in this session"


def _gate(document: Any) -> SessionGate:
    gate = SessionGate(**document)
    if not all(type(value) is type(usual) for value, usual in zip(gate, BUILT_IN[0], strict=True)):
        raise TypeError("a field of it is not what it should be")
    _check(gate)
    return gate


def _check(gate: SessionGate) -> None:
    named(gate.name)
    if gate.hook not in HOOKS:
        raise Invalid(f"{gate.hook[:80]!r} is no event for a gate", hint=f"use one of {', '.join(HOOKS)}")
    if len(gate.hint) > _LONGEST_HINT or not gate.hint.isprintable():
        raise Invalid("the hint is too long, or has line breaks in it", hint=f"use one line of {_LONGEST_HINT} at most")


def _write(home: Path, gates: Sequence[SessionGate]) -> None:
    try:
        houses.write(str(home / FILE), json.dumps([gate._asdict() for gate in gates], indent=2) + "\n")
    except OSError as error:
        raise Unavailable(f"{str(home / FILE)!r} cannot be written: {error.strerror}") from None
