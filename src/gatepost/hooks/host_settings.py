"""
Our entries in the settings of a host: which events call us, with which command, and how long the host waits; and how
they are added to and removed from a settings file in JSON. (`toml.py` does the same for TOML.)

An entry is recognised as ours by its command, so that entries of an older release, or of a copy that was moved, are
found too. If a user puts another command around ours, the entry is the user's.

A wait for a decision may take 540 s (`stop_decision.wait`), so the timeout of Stop is longer.

Adding and removing touch nothing else in the text. A container that is empty after the removal is removed too, unless
it has a comment: a group always, an event and `hooks` itself only if they are known to be ours. A text may be long, so
it is parsed once.
"""

import json
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final, NamedTuple, TypeGuard

from gatepost.hooks import jsonc
from gatepost.hooks.jsonc import Node, PartPosition

#: how long the host waits for each event: in seconds, except for Gemini, which counts milliseconds
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
    # Codex allows no more than 3 s at the end of a session
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
#: more events that gates can block: our name of an event, and the host's name
_GATE_EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "claude": {name: name for name in ("PreToolUse", "SubagentStop", "PreCompact")},
    "codex": {name: name for name in ("PreToolUse", "SubagentStop")},
    "gemini": {"PreToolUse": "BeforeTool"},
    "cursor": {"PreToolUse": "preToolUse", "SubagentStop": "subagentStop"},
}
#: the matcher of an event, if we do not want all of its calls
_MATCHERS: Final = {("claude", "Notification"): "idle_prompt"}
#: how often in a row we may make Cursor continue: for gates that block, and for items in the inbox
_CURSOR_LOOP_LIMIT: Final = 10
#: hosts whose events list entries, not groups of entries
FLAT_HOSTS: Final = frozenset({"cursor"})


class HookCommand(NamedTuple):
    """The command of an entry of ours: its program, and the agent if it names one."""

    program: str
    agent: str | None


def build_entries(
    host: str, program: str, gate_events: Collection[str] = (), agent: str | None = None
) -> dict[str, dict[str, Any]]:
    """
    Return what to install for each event: an entry, or for most hosts a group with one entry. `gate_events` are the
    events of registered session gates; most of them call us on every tool, so they are installed only if needed.
    `agent` is written into the commands, so it counts also if the host has the environment of another terminal.
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
    """Return True if an entry runs us and nothing else."""
    return read_command(entry) is not None


def read_command(entry: object) -> HookCommand | None:
    """Return the command of an entry if it is `.../gatepost hook EVENT`, with or without --host and --agent."""
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
    """Return every entry of ours in a parsed settings file: its event, and its value in the form of `build_entries`."""
    return [
        (event, entry if group is None else {**_get_matcher(group), "hooks": [entry]})
        for event, group, entry in _iterate_entries(document, host)
        if is_our_entry(entry)
    ]


def list_commands(document: object, host: str) -> list[HookCommand]:
    """Return the commands of our entries in a parsed settings file."""
    commands = (read_command(entry) for _, _, entry in _iterate_entries(document, host))
    return [command for command in commands if command is not None]


def remove_our_entries(document: object, host: str) -> object:
    """Return a parsed settings file without our entries, and without groups and events that are empty."""
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
    """Yield every entry with its event and its group (None for flat hosts); skip values of an unexpected form."""
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


def add_to_json(text: str, host: str, hook_entries: Mapping[str, dict[str, Any]]) -> str:
    """Add our entries to a text that has none yet; raise Malformed if it has another structure than a settings file."""
    root = jsonc.parse(text)
    hooks_document = {"hooks": {event: [entry] for event, entry in hook_entries.items()}}
    if root is None:
        return _append_document(text, build_head(host) | hooks_document)
    _require_type(text, root, dict, "the top level is not an object")
    hooks = root.get("hooks")
    if hooks is None:
        new_members = hooks_document if root.parts else build_head(host) | hooks_document
        return jsonc.append(text, root, *new_members.items())
    _require_type(text, hooks, dict, "`hooks` is not an object")
    event_lists = {event: groups for event in hook_entries if (groups := hooks.get(event)) is not None}
    for event, groups in event_lists.items():
        _require_type(text, groups, list, f"`hooks.{event}` is not an array")
    # from the end to the beginning, so that earlier offsets stay valid
    text = jsonc.append(
        text, hooks, *((event, [entry]) for event, entry in hook_entries.items() if event not in event_lists)
    )
    for event, groups in sorted(event_lists.items(), key=lambda pair: pair[1].start, reverse=True):
        text = jsonc.append(text, groups, (None, hook_entries[event]))
    return text


def strip_from_json(text: str, host: str, before: Mapping[str, Any] | None = None) -> str:
    """Remove our entries. `before` is the parsed file before they were installed, if that is known."""
    root = jsonc.parse(text)
    return text if root is None else jsonc.remove(text, _find_our_places(text, root, host, before))


def build_head(host: str) -> dict[str, Any]:
    """Return the members that a new settings file of a host begins with."""
    return {"version": 1} if host == "cursor" else {}


def _find_our_places(text: str, root: Node, host: str, before: Mapping[str, Any] | None) -> list[PartPosition]:
    """Return what to remove: our entries, or the group, the event or the `hooks` that has nothing else."""
    old_hooks = (before or {}).get("hooks")
    old_events = old_hooks if isinstance(old_hooks, dict) else {}
    places: list[PartPosition] = []
    for member_index, member in enumerate(root.parts):
        if member.key != "hooks":
            continue
        event_places: list[PartPosition] = []
        for event_index, event in enumerate(member.node.parts):
            group_places = [
                place
                for index in range(len(event.node.parts))
                for place in _find_places_in_group(text, event.node, index, host)
            ]
            can_remove = before is not None and event.key not in old_events
            event_places += _collapse_if_empty(text, (member.node, event_index), group_places, can_remove=can_remove)
        places += _collapse_if_empty(
            text, (root, member_index), event_places, can_remove=before is not None and "hooks" not in before
        )
    return places


def _find_places_in_group(text: str, groups: Node, index: int, host: str) -> list[PartPosition]:
    """Return what to remove of one item in the list of an event."""
    group = groups.parts[index].node
    if host in FLAT_HOSTS:
        return [(groups, index)] if is_our_entry(group.value) else []
    group_hooks = group.get("hooks")
    parts = group_hooks.parts if group_hooks is not None else ()
    our_places = [
        (group_hooks, part_index)
        for part_index, part in enumerate(parts)
        if group_hooks is not None and is_our_entry(part.node.value)
    ]
    return _collapse_if_empty(text, (groups, index), our_places, container=group_hooks)


def _collapse_if_empty(
    text: str, whole: PartPosition, parts: list[PartPosition], *, container: Node | None = None, can_remove: bool = True
) -> list[PartPosition]:
    """Return the whole instead of its parts, if without them it would be empty, also of comments."""
    part = whole[0].parts[whole[1]]
    container = container or part.node
    if (
        not can_remove
        or not parts
        or len(parts) < len(container.parts)
        or any(item is not container for item, _ in parts)
    ):
        return parts
    edges = [part.start, *(edge for item in container.parts for edge in (item.start, item.node.end)), part.node.end]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return parts if any(jsonc.list_comments(text, start, end) for start, end in gaps) else [whole]


def _append_document(text: str, document: dict[str, Any]) -> str:
    """Return a text that is empty, except perhaps for comments, with the document after it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    line_break = "" if not text.strip("\ufeff \t") or text.endswith("\n") else newline
    return text + line_break + json.dumps(document, ensure_ascii=False, indent=2).replace("\n", newline) + newline


def _require_type(text: str, node: Node, kind: type, problem: str) -> None:
    if not isinstance(node.value, kind):
        jsonc.refuse(text, node.start, problem)
