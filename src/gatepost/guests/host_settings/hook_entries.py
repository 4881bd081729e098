"""
Our hooks in the settings of a host: which events call us, with which command, and how long the host waits; and how they
are added to and removed from its settings file. Codex also reads TOML:

    [[hooks.Stop]]

    [[hooks.Stop.hooks]]
    type = "command"
    command = "/usr/bin/gatepost hook Stop --host codex"
    timeout = 600

An entry is recognised as ours by its command, so that entries of an older release, or of a copy that was moved, are
found too. If a user puts another command around ours, the entry is the user's.

A wait for a decision may take 540 s (`stop_decision.wait`), so the timeout of Stop is longer.

Adding and removing touch nothing else in the text. A container that is empty after the removal is removed too, unless
it has a comment: a group always, an event and `hooks` itself only if they are known to be ours. A text may be long, so
it is parsed once.
"""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, TypeGuard

from gatepost.errors import Invalid
from gatepost.guests.host_settings import jsonc_editing, opencode_plugin, toml_editing
from gatepost.guests.host_settings.entry_format import Entries, EntryCommand, EntryFormat
from gatepost.guests.host_settings.installation import read_document
from gatepost.guests.host_settings.jsonc_editing import PartPosition, SyntaxNode
from gatepost.guests.host_settings.opencode_plugin import PluginFormat

SCOPES: Final = ("user", "project", "local")
#: the folder of each host, its settings file, and the variable that names another folder instead
_SETTINGS_FILES: Final = {
    "claude": (".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
    "codex": (".codex", "hooks.json", "CODEX_HOME"),
    "gemini": (".gemini", "settings.json", None),
    "cursor": (".cursor", "hooks.json", None),
    "opencode": (".opencode/plugin", opencode_plugin.FILE, None),
}
HOSTS: Final = tuple(_SETTINGS_FILES)

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
    # the plugin has its own
    "opencode": dict.fromkeys(("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"), 600),
}
#: more events that gates can block: our name of an event, and the host's name
_GATE_EVENTS: Final[Mapping[str, Mapping[str, str]]] = {
    "claude": {name: name for name in ("PreToolUse", "SubagentStop", "PreCompact")},
    "codex": {name: name for name in ("PreToolUse", "SubagentStop")},
    "gemini": {"PreToolUse": "BeforeTool"},
    "cursor": {"PreToolUse": "preToolUse", "SubagentStop": "subagentStop"},
    "opencode": {"PreToolUse": "PreToolUse"},
}
#: the matcher of an event, if we do not want all of its calls
_MATCHERS: Final = {("claude", "Notification"): "idle_prompt"}
#: the events after which Claude Code starts a process that waits to wake the session; Esc runs no Stop
_WAIT_EVENTS: Final = ("SessionStart", "UserPromptSubmit", "Stop")
#: in seconds: Claude Code ends a hook after its timeout without a word, and allows no more than this
_WAIT_TIMEOUT: Final = 2_147_483
_WAKE_SUMMARY: Final = "Gatepost: items are pending"
#: how often in a row we may make Cursor continue: for gates that block, and for items in the inbox
_CURSOR_LOOP_LIMIT: Final = 10
#: hosts whose events list entries, not groups of entries
FLAT_HOSTS: Final = frozenset({"cursor"})


_TOML_HINT: Final = "write them as [[hooks.Stop]] and [[hooks.Stop.hooks]], or take out the hooks of Gatepost by hand"


def locate_settings(host: str, scope: str, *, environ: Mapping[str, str], project: Path) -> Path:
    """Return the path of a host's settings file: the user's, or that of the project in a folder."""
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    if scope not in SCOPES:
        raise Invalid(f"{scope!r} is not a scope", hint=f"use one of {', '.join(SCOPES)}")
    if scope == "local" and host != "claude":
        raise Invalid(f"{host} has no local settings", hint="use --scope user or --scope project")
    folder, name, variable = _SETTINGS_FILES[host]
    if (host, scope) == ("opencode", "user"):
        base = opencode_plugin.locate_folder(environ) / "plugin"
    elif scope == "user":
        custom_folder = environ.get(variable) if variable else None
        base = Path(custom_folder) if custom_folder else Path(environ.get("HOME") or Path.home()) / folder
    else:
        base = project / folder
    if scope == "local":
        return base / "settings.local.json"
    return _find_codex_toml(base) or base / name if host == "codex" else base / name


def _find_codex_toml(folder: Path) -> Path | None:
    """
    Return config.toml if it has entries of ours, or other hooks while there is no hooks.json: Codex reads both files
    and wants all hooks in one. Else return None.
    """
    file = folder / "config.toml"
    document = read_document(file) or {}
    hooks = document.get("hooks")
    has_other_hooks = isinstance(hooks, dict) and any(isinstance(groups, list) for groups in hooks.values())
    has_place = HookFormat("codex").list_entries(document) or (has_other_hooks and not (folder / "hooks.json").exists())
    return file if has_place else None


def read_disable_switch(file: Path) -> bool | None:
    """Return the value of `disableAllHooks` in a settings file of Claude Code; None if it has none."""
    document = read_document(file)
    switch = document.get("disableAllHooks") if isinstance(document, dict) else None
    return switch if isinstance(switch, bool) else None


def build_entries(
    host: str,
    program: str,
    gate_events: Collection[str] = (),
    agent: str | None = None,
    home: str | None = None,
) -> dict[str, dict[str, Any]]:
    """
    Return what to install for each event: an entry, or for most hosts a group with one entry, and for Claude Code also
    with one that waits to wake the session. `gate_events` are the events of registered session gates; most of them call
    us on every tool, so they are installed only if needed. `agent` and `home` are written into the commands, so they
    count also if the host has the environment of another terminal.
    """
    extra_events = [host_name for our_name, host_name in _GATE_EVENTS[host].items() if our_name in gate_events]
    events = dict.fromkeys((*_TIMEOUTS[host], *extra_events))
    if host == "opencode":
        return opencode_plugin.build_entries(program, events, agent, home)
    own = ([] if agent is None else ["--agent", agent]) + ([] if home is None else ["--home", home])
    return {event: _build_entry(host, event, program, own) for event in events}


def get_form(host: str) -> EntryFormat:
    """Return how our entries are written for a host."""
    return PluginFormat(host) if host == "opencode" else HookFormat(host)


def _build_entry(host: str, event: str, program: str, own_options: Sequence[str]) -> dict[str, Any]:
    options = [] if host == "claude" else ["--host", host]
    command = shlex.join([program, "hook", event, *options, *own_options])
    timeout = _TIMEOUTS[host].get(event, 30_000 if host == "gemini" else 30)
    match host:
        case "cursor":
            loop_limit = {"loop_limit": _CURSOR_LOOP_LIMIT} if event in {"stop", "subagentStop"} else {}
            return {"command": command, "timeout": timeout, **loop_limit}
        case "gemini":
            entry = {"name": "gatepost", "type": "command", "command": command, "timeout": timeout}
        case _:
            entry = {"type": "command", "command": command, "timeout": timeout}
    entries = [entry]
    if host == "claude" and event in _WAIT_EVENTS:
        wait_command = shlex.join([program, "hook", "wait", *options, *own_options])
        entries.append(
            {
                "type": "command",
                "command": wait_command,
                "asyncRewake": True,
                "timeout": _WAIT_TIMEOUT,
                "rewakeSummary": _WAKE_SUMMARY,
            }
        )
    matcher = _MATCHERS.get((host, event))
    return {"hooks": entries} if matcher is None else {"matcher": matcher, "hooks": entries}


def is_our_entry(entry: object) -> bool:
    """Return True if an entry runs us and nothing else."""
    return read_command(entry) is not None


def read_command(entry: object) -> EntryCommand | None:
    """Return the command of an entry if it is `.../gatepost hook EVENT`, with or without options."""
    command = entry.get("command") if isinstance(entry, dict) else None
    try:
        arguments = shlex.split(command) if isinstance(command, str) else []
    except ValueError:  # a quote without an end
        return None
    match arguments:
        case [program, "hook", event, *options] if event.isalpha() and PurePath(program).name == "gatepost":
            option_values = dict(zip(options[::2], options[1::2], strict=False))
            if 2 * len(option_values) == len(options) and option_values.keys() <= {"--host", "--agent", "--home"}:
                return EntryCommand(program, agent=option_values.get("--agent"), home=option_values.get("--home"))
    return None


@dataclass(frozen=True, slots=True)
class HookFormat(EntryFormat):
    """Our hooks. The name of an entry is its event; its value is as `build_entries` returns it."""

    install_command = "hooks install"
    backup_infix = "gatepost"

    def list_entries(self, document: object) -> list[tuple[str, dict[str, Any]]]:
        entries: list[tuple[str, dict[str, Any]]] = []
        last_group: object = None
        for event, group, entry in self._iterate_entries(document):
            if not is_our_entry(entry):
                continue
            if group is None:
                entries.append((event, entry))
            elif group is last_group:  # ours in one group belong together
                entries[-1][1]["hooks"].append(entry)
            else:
                entries.append((event, {**_get_matcher(group), "hooks": [entry]}))
            last_group = group
        return entries

    def list_commands(self, document: object) -> list[EntryCommand]:
        commands = (read_command(entry) for _, _, entry in self._iterate_entries(document))
        return [command for command in commands if command is not None]

    def _iterate_entries(self, document: object) -> Iterator[tuple[str, dict[str, Any] | None, Any]]:
        """Yield every entry with its event and its group (None for flat hosts); skip values of an unexpected form."""
        hooks = document.get("hooks") if isinstance(document, dict) else None
        for event, groups in hooks.items() if isinstance(hooks, dict) else ():
            for group in groups if isinstance(groups, list) else ():
                if self.host in FLAT_HOSTS:
                    yield event, None, group
                elif _is_group(group):
                    yield from ((event, group, entry) for entry in group["hooks"])

    def remove_entries(self, document: object) -> object:
        """Return the document without our entries, and without groups and events that are empty."""
        if not isinstance(document, dict) or not isinstance(document.get("hooks"), dict):
            return document
        hooks = {event: self._remove_from_groups(groups) for event, groups in document["hooks"].items()}
        other_hooks = {event: groups for event, groups in hooks.items() if groups not in ([], {})}
        other_settings = {name: value for name, value in document.items() if name != "hooks"}
        return {**other_settings, "hooks": other_hooks} if other_hooks else other_settings

    def _remove_from_groups(self, groups: object) -> object:
        if not isinstance(groups, list):
            return groups
        if self.host in FLAT_HOSTS:
            return [entry for entry in groups if not is_our_entry(entry)]
        other_groups = [
            {**group, "hooks": [entry for entry in group["hooks"] if not is_our_entry(entry)]}
            if _is_group(group)
            else group
            for group in groups
        ]
        return [group for group in other_groups if not _is_group(group) or group["hooks"]]

    def build_head(self) -> dict[str, Any]:
        return {"version": 1} if self.host == "cursor" else {}

    def add_to_json(self, text: str, entries: Entries) -> str:
        root = jsonc_editing.parse(text)
        hooks_document = {"hooks": {event: [entry] for event, entry in entries.items()}}
        if root is None:
            return jsonc_editing.append_document(text, self.build_head() | hooks_document)
        jsonc_editing.require_type(text, root, dict, "the top level is not an object")
        hooks = root.get("hooks")
        if hooks is None:
            new_members = hooks_document if root.parts else self.build_head() | hooks_document
            return jsonc_editing.append(text, root, *new_members.items())
        jsonc_editing.require_type(text, hooks, dict, "`hooks` is not an object")
        event_lists = {event: groups for event in entries if (groups := hooks.get(event)) is not None}
        for event, groups in event_lists.items():
            jsonc_editing.require_type(text, groups, list, f"`hooks.{event}` is not an array")
        # from the end to the beginning, so that earlier offsets stay valid
        text = jsonc_editing.append(
            text, hooks, *((event, [entry]) for event, entry in entries.items() if event not in event_lists)
        )
        for event, groups in sorted(event_lists.items(), key=lambda pair: pair[1].start, reverse=True):
            text = jsonc_editing.append(text, groups, (None, entries[event]))
        return text

    def strip_from_json(self, text: str, before: Mapping[str, Any] | None = None) -> str:
        root = jsonc_editing.parse(text)
        return text if root is None else jsonc_editing.remove(text, self._find_our_places(text, root, before))

    def _find_our_places(self, text: str, root: SyntaxNode, before: Mapping[str, Any] | None) -> list[PartPosition]:
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
                    for place in self._find_places_in_group(text, event.node, index)
                ]
                whole, can_remove = (member.node, event_index), before is not None and event.key not in old_events
                event_places += jsonc_editing.collapse_if_empty(text, whole, group_places, can_remove=can_remove)
            places += jsonc_editing.collapse_if_empty(
                text, (root, member_index), event_places, can_remove=before is not None and "hooks" not in before
            )
        return places

    def _find_places_in_group(self, text: str, groups: SyntaxNode, index: int) -> list[PartPosition]:
        """Return what to remove of one item in the list of an event."""
        group = groups.parts[index].node
        if self.host in FLAT_HOSTS:
            return [(groups, index)] if is_our_entry(group.value) else []
        group_hooks = group.get("hooks")
        parts = group_hooks.parts if group_hooks is not None else ()
        our_places = [
            (group_hooks, part_index)
            for part_index, part in enumerate(parts)
            if group_hooks is not None and is_our_entry(part.node.value)
        ]
        return jsonc_editing.collapse_if_empty(text, (groups, index), our_places, container=group_hooks)

    def add_to_toml(self, text: str, entries: Entries) -> str:
        lines = [
            line
            for event, group in entries.items()
            for line in toml_editing.write_table(["hooks", event], group, is_item=True)
        ]
        return toml_editing.append_tables(text, lines, what="hooks", hint=_TOML_HINT)

    def strip_from_toml(self, text: str) -> str:
        new_text = toml_editing.remove_tables(text, self._select_our_tables)
        if self.list_entries(toml_editing.parse(new_text)):
            raise Invalid("a hook of Gatepost is written in line with others", hint=_TOML_HINT)
        return new_text

    def _select_our_tables(
        self, tables: list[toml_editing.TomlTable], document: Mapping[str, Any]
    ) -> list[toml_editing.TomlTable]:
        """Return the tables of our entries, and those of groups that have no other entries."""
        our_tables: list[toml_editing.TomlTable] = []
        group: dict[str, Any] = {}
        groups: dict[str, Iterator[dict[str, Any]]] = {}
        group_hooks: Iterator[Any] = iter(())
        for table in tables:
            match table.path:
                case ("hooks", event) if isinstance(document["hooks"][event], list):
                    group = next(groups.setdefault(event, iter(document["hooks"][event])))
                    group_hooks = iter(group.get("hooks", ()))
                    if self.remove_entries({"hooks": {event: [group]}}) == {}:
                        our_tables.append(table)
                case ("hooks", _, "hooks") if is_our_entry(next(group_hooks, None)):
                    our_tables.append(table)
        return our_tables


def _is_group(group: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(group, dict) and isinstance(group.get("hooks"), list)


def _get_matcher(group: Mapping[str, Any]) -> dict[str, Any]:
    return {"matcher": group["matcher"]} if group.get("matcher") else {}
