"""
What stands in a host's settings file on our behalf: which events call us, with which command, and for how long the host
waits. An entry is known as ours by its command, so that those of an older release, or of a copy that was moved, are
found too; whoever writes another command around it makes the entry their own.

Waiting for a decision may take 540 s (`stop_decision.wait`), so Stop has more than that.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple, TypeGuard

#: for how long each event is waited for: in seconds, but for Gemini, which counts milliseconds
_TIMEOUTS: Final[Mapping[str, Mapping[str, int]]] = {
    "claude": {
        "SessionStart": 60,
        "UserPromptSubmit": 30,
        "PostToolUse": 30,
        "PostToolUseFailure": 30,
        "Stop": 600,
        "Notification": 10,
        "SessionEnd": 5,
    },
    # at its end Codex allows no more
    "codex": {"SessionStart": 60, "UserPromptSubmit": 30, "PostToolUse": 30, "Stop": 600, "SessionEnd": 3},
    "gemini": {
        "SessionStart": 60_000,
        "BeforeAgent": 30_000,
        "AfterTool": 30_000,
        "AfterAgent": 600_000,
        "SessionEnd": 5_000,
    },
    "cursor": {"sessionStart": 60, "beforeSubmitPrompt": 30, "postToolUse": 30, "stop": 600, "sessionEnd": 5},
}
#: what gates may stand at, beside those: our name of an event, and the host's
_GATE_EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "claude": {name: name for name in ("PreToolUse", "SubagentStop", "PreCompact")},
    "codex": {name: name for name in ("PreToolUse", "SubagentStop")},
    "gemini": {"PreToolUse": "BeforeTool"},
    "cursor": {"PreToolUse": "preToolUse", "SubagentStop": "subagentStop"},
}
#: what of an event we want to hear, where that is not all
_MATCHERS: Final = {("claude", "Notification"): "idle_prompt"}
#: how often in a row Cursor may be made to go on: by gates that hold, and by what an inbox had
_CURSOR_LOOP_LIMIT: Final = 10
#: a host whose events list commands, not groups of them
FLAT_HOSTS: Final = frozenset({"cursor"})


def locate_program() -> str | None:
    """Return where the command `gatepost` is: beside the interpreter that runs this, else on the path."""
    sibling = Path(sys.executable).parent / "gatepost"
    return str(sibling) if os.access(sibling, os.X_OK) else shutil.which("gatepost")


class HookCommand(NamedTuple):
    """What an entry of ours runs, and as which agent if it names one."""

    program: str
    agent: str | None


def build_entries(
    host: str, program: str, gate_events: Collection[str] = (), agent: str | None = None
) -> dict[str, dict[str, Any]]:
    """
    What each event is to have: an entry, or in most hosts a group with one entry. `gated` are the events at which
    session gates were registered; most cost every tool a call, so they are asked for only then. `agent` is written into
    the commands: it holds also where the host's environment is that of another terminal.
    """
    extra_events = [host_name for our_name, host_name in _GATE_EVENTS[host].items() if our_name in gate_events]
    return {
        event: _build_entry(host, event, program, agent) for event in dict.fromkeys((*_TIMEOUTS[host], *extra_events))
    }


def _build_entry(host: str, event: str, program: str, agent: str | None) -> dict[str, Any]:
    options = ([] if host == "claude" else ["--host", host]) + ([] if agent is None else ["--agent", agent])
    command = shlex.join([program, "hook", event, *options])
    timeout = _TIMEOUTS[host].get(event, 30_000 if host == "gemini" else 30)
    match host:
        case "cursor":
            loop_limit = {"loop_limit": _CURSOR_LOOP_LIMIT} if event in {"stop", "subagentStop"} else {}
            return {"command": command, "timeout": timeout, **loop_limit}
        case "gemini":
            entry = {"name": "gatepost", "type": "command", "command": command, "timeout": timeout}
        case _:
            entry = {"type": "command", "command": command, "timeout": timeout}
    matcher = _MATCHERS.get((host, event))
    return {"hooks": [entry]} if matcher is None else {"matcher": matcher, "hooks": [entry]}


def is_our_entry(entry: object) -> bool:
    """Tell whether an entry runs us and nothing else."""
    return read_command(entry) is not None


def read_command(entry: object) -> HookCommand | None:
    """Return what an entry runs if that is `.../gatepost hook EVENT`, with --host or --agent or neither; else None."""
    command = entry.get("command") if isinstance(entry, dict) else None
    try:
        arguments = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # a quote without an end
        return None
    match arguments:
        case [program, "hook", event, *options] if event.isalpha() and PurePath(program).name == "gatepost":
            option_values = dict(zip(options[::2], options[1::2], strict=False))
            if 2 * len(option_values) == len(options) and option_values.keys() <= {"--host", "--agent"}:
                return HookCommand(program, option_values.get("--agent"))
    return None


def list_our_entries(document: object, host: str) -> list[tuple[str, dict[str, Any]]]:
    """Every entry of ours in what a settings file says: its event, and what `wanted` would say of it."""
    return [
        (event, entry if group is None else {**_get_matcher(group), "hooks": [entry]})
        for event, group, entry in _iterate_entries(document, host)
        if is_our_entry(entry)
    ]


def list_commands(document: object, host: str) -> list[HookCommand]:
    """Return what the entries of ours in a settings file run."""
    commands = (read_command(entry) for _, _, entry in _iterate_entries(document, host))
    return [command for command in commands if command is not None]


def remove_our_entries(document: object, host: str) -> object:
    """What a settings file says but for our entries; what is left empty, or was, is left out."""
    if not isinstance(document, dict) or not isinstance(document.get("hooks"), dict):
        return document
    hooks = {event: _remove_from_groups(groups, host) for event, groups in document["hooks"].items()}
    other_hooks = {event: groups for event, groups in hooks.items() if groups not in ([], {})}
    other_settings = {name: value for name, value in document.items() if name != "hooks"}
    return {**other_settings, "hooks": other_hooks} if other_hooks else other_settings


def _remove_from_groups(groups: object, host: str) -> object:
    if not isinstance(groups, list):
        return groups
    if host in FLAT_HOSTS:
        return [entry for entry in groups if not is_our_entry(entry)]
    other_groups = [
        {**group, "hooks": [entry for entry in group["hooks"] if not is_our_entry(entry)]}
        if _is_group(group)
        else group
        for group in groups
    ]
    return [group for group in other_groups if not _is_group(group) or group["hooks"]]


def _iterate_entries(document: object, host: str) -> Iterator[tuple[str, dict[str, Any] | None, Any]]:
    """Every entry with its event and, where there are groups, its group; whatever is not as it should be is passed."""
    hooks = document.get("hooks") if isinstance(document, dict) else None
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group in groups if isinstance(groups, list) else ():
            if host in FLAT_HOSTS:
                yield event, None, group
            elif _is_group(group):
                yield from ((event, group, entry) for entry in group["hooks"])


def _is_group(group: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(group, dict) and isinstance(group.get("hooks"), list)


def _get_matcher(group: Mapping[str, Any]) -> dict[str, Any]:
    return {"matcher": group["matcher"]} if group.get("matcher") else {}
