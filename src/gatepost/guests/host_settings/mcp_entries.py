"""
Our MCP server in the settings of a host: the command that starts it, and how it is added to and removed from the
settings file.

    {"mcpServers": {"gatepost": {"command": "/usr/bin/gatepost", "args": ["mcp", "--as", "ann"]}}}

    [mcp_servers.gatepost]                                    (Codex)
    command = "/usr/bin/gatepost"
    args = ["mcp", "--as", "ann"]
    env_vars = ["GATEPOST_HOME", "GATEPOST_AGENT"]

An entry is ours if it is called `gatepost` and runs `gatepost mcp`. Another server of that name is refused, not
replaced. What a user has added to our entry, such as `timeout` or `trust`, stays when we write it again.

The server finds its home as every command does: by GATEPOST_HOME, else from the folder in which it runs. Claude Code
and Gemini CLI start a server in the project, with the environment of the session. Codex passes on only the variables
that `env_vars` names. Claude Desktop and Cursor have the environment of no terminal and start servers in no project, so
for them the entry names the home.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final

from gatepost.errors import Invalid
from gatepost.guests.host_settings import jsonc_editing, opencode_plugin, toml_editing
from gatepost.guests.host_settings.entry_format import Entries, EntryCommand, EntryFormat
from gatepost.guests.host_settings.installation import read_document
from gatepost.paths import HOME_VARIABLE

HOSTS: Final = ("claude", "claude-desktop", "codex", "gemini", "cursor", "opencode")
SCOPES: Final = ("user", "project")
NAME: Final = "gatepost"
_PROGRAM_NAMES: Final = frozenset({NAME, f"{NAME}.exe"})
#: the hosts whose servers run in no project
HOSTS_WITHOUT_PROJECT: Final = frozenset({"claude-desktop", "cursor"})
#: the hosts whose own commands write the type of a server too
_TYPED_HOSTS: Final = frozenset({"claude", "cursor"})
#: the variables of the session that Codex passes on
_PASSED_VARIABLES: Final = (HOME_VARIABLE, "GATEPOST_AGENT")
_TOML_HINT: Final = f"write it as [mcp_servers.{NAME}], or take it out by hand"


def list_scopes(host: str) -> tuple[str, ...]:
    """Return the scopes of a host; Claude Desktop knows no projects."""
    return SCOPES[:1] if host == "claude-desktop" else SCOPES


def locate_settings(host: str, scope: str, *, environ: Mapping[str, str], project: Path) -> Path:
    """Return the path of the file that names a host's MCP servers: the user's, or that of the project in a folder."""
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    if scope not in list_scopes(host):
        hint = f"use {' or '.join(f'--scope {name}' for name in list_scopes(host))}"
        raise Invalid(f"{host} has no file for MCP servers of the scope {scope!r}", hint=hint)
    user = Path(environ.get("HOME") or Path.home())
    base = user if scope == "user" else project
    match host:
        case "claude" if scope == "user":
            return Path(environ.get("CLAUDE_CONFIG_DIR") or user) / ".claude.json"
        case "claude":
            return project / ".mcp.json"
        case "claude-desktop":
            return _locate_applications(environ, user) / "Claude" / "claude_desktop_config.json"
        case "codex" if scope == "user" and environ.get("CODEX_HOME"):
            return Path(environ["CODEX_HOME"]) / "config.toml"
        case "codex":
            return base / ".codex" / "config.toml"
        case "gemini":
            return base / ".gemini" / "settings.json"
        case "opencode":
            folder = opencode_plugin.locate_folder(environ) if scope == "user" else project
            commented = folder / "opencode.jsonc"
            return commented if commented.exists() else folder / "opencode.json"
        case _:
            return base / ".cursor" / "mcp.json"


def _locate_applications(environ: Mapping[str, str], user: Path) -> Path:
    """Return the folder in which desktop programs keep their settings."""
    match sys.platform:
        case "darwin":
            return user / "Library" / "Application Support"
        case "win32":
            return Path(environ.get("APPDATA") or user / "AppData" / "Roaming")
        case _:
            return Path(environ.get("XDG_CONFIG_HOME") or user / ".config")


def build_entries(host: str, program: str, agent: str | None = None, home: str | None = None) -> dict[str, Any]:
    """Return what to install: one server. `home` is written, unless the server finds it where it is started."""
    env = {} if home is None else {HOME_VARIABLE: home}
    if host == "opencode":
        options = [] if agent is None else ["--as", agent]
        return {NAME: {"type": "local", "command": [program, "mcp", *options]} | ({"environment": env} if env else {})}
    entry: dict[str, Any] = {"type": "stdio"} if host in _TYPED_HOSTS else {}
    entry |= {"command": program, "args": ["mcp", *(() if agent is None else ("--as", agent))]}
    if host == "codex":
        entry["env_vars"] = list(_PASSED_VARIABLES)
    if env:
        entry["env"] = env
    return {NAME: entry}


def read_command(entry: object) -> EntryCommand | None:
    """Return the command of an entry if it is `.../gatepost mcp`, with or without --as."""
    if not isinstance(entry, dict):
        return None
    command, arguments = entry.get("command"), entry.get("args")
    if isinstance(command, list) and command and arguments is None:  # OpenCode
        command, arguments = command[0], command[1:]
    match command, arguments:
        case str(program), ["mcp"]:
            agent = None
        case str(program), ["mcp", "--as", str(agent)]:
            pass
        case _:
            return None
    if PurePath(program).name not in _PROGRAM_NAMES:
        return None
    home = _get_env(entry).get(HOME_VARIABLE)
    return EntryCommand(program, agent=agent, home=home if isinstance(home, str) else None)


def is_rejected(file: Path) -> bool:
    """Return True if a settings file of Claude Code keeps it from starting the server that a project names."""
    document = read_document(file)
    names = document.get("disabledMcpjsonServers") if isinstance(document, dict) else None
    return isinstance(names, list) and NAME in names


@dataclass(frozen=True, slots=True)
class McpFormat(EntryFormat):
    """Our MCP server. The name of an entry is that of the server; its value is as `build_entries` returns it."""

    install_command = "mcp install"
    backup_infix = "gatepost-mcp"

    @property
    def key(self) -> str:
        """The member of a settings file that has the servers."""
        return {"codex": "mcp_servers", "opencode": "mcp"}.get(self.host, "mcpServers")

    def build_head(self) -> dict[str, Any]:
        # OpenCode would write it into a new file.
        return {"$schema": "https://opencode.ai/config.json"} if self.host == "opencode" else {}

    def list_entries(self, document: object) -> list[tuple[str, dict[str, Any]]]:
        entry = self._find_entry(document)
        return [] if entry is None else [(NAME, _select_own_part(entry))]

    def list_commands(self, document: object) -> list[EntryCommand]:
        command = read_command(self._find_entry(document))
        return [] if command is None else [command]

    def _find_entry(self, document: object) -> dict[str, Any] | None:
        servers = document.get(self.key) if isinstance(document, dict) else None
        entry = servers.get(NAME) if isinstance(servers, dict) else None
        return entry if read_command(entry) is not None else None

    def remove_entries(self, document: object) -> object:
        if not isinstance(document, dict) or not isinstance(document.get(self.key), dict):
            return document
        is_ours = self._find_entry(document) is not None
        servers = {name: value for name, value in document[self.key].items() if name != NAME or not is_ours}
        rest = {name: value for name, value in document.items() if name != self.key}
        return {**rest, self.key: servers} if servers else rest

    def explain_disabled(self, document: object) -> str | None:
        match self.host, document:
            case "codex", {"mcp_servers": {"gatepost": {"enabled": False}}}:
                return "Codex does not start the server, because the entry has `enabled = false`"
            case "opencode", {"mcp": {"gatepost": {"enabled": False}}}:
                return "OpenCode does not start the server, because the entry has `enabled: false`"
            case "gemini", {"mcp": {"excluded": [*names]}} if NAME in names:
                return "Gemini CLI does not start the server, because `mcp.excluded` names it"
            case "gemini", {"mcp": {"allowed": [*names]}} if NAME not in names:
                return "Gemini CLI does not start the server, because `mcp.allowed` does not name it"
            case _:
                return None

    def keep_options(self, document: object, entries: Entries) -> Entries:
        old, new = self._find_entry(document), entries[NAME]
        if old is None:
            return entries
        own = _select_own_part(old)
        merged = new | {name: value for name, value in old.items() if name not in own and name not in new}
        if env := {name: value for name, value in _get_env(old).items() if name != HOME_VARIABLE}:
            merged["env"] = new.get("env", {}) | env
        variables = old.get("env_vars")
        if isinstance(variables, list):
            merged["env_vars"] = list(dict.fromkeys([*new.get("env_vars", []), *variables]))
        return {NAME: merged}

    def add_to_json(self, text: str, entries: Entries) -> str:
        root = jsonc_editing.parse(text)
        if root is None:
            return jsonc_editing.append_document(text, self.build_head() | {self.key: dict(entries)})
        jsonc_editing.require_type(text, root, dict, "the top level is not an object")
        servers = root.get(self.key)
        if servers is None:
            new_members = {} if root.parts else self.build_head()
            return jsonc_editing.append(text, root, *(new_members | {self.key: dict(entries)}).items())
        jsonc_editing.require_type(text, servers, dict, f"`{self.key}` is not an object")
        if (other := servers.get(NAME)) is not None:
            _refuse_other_server(jsonc_editing.describe_position(text, other.start))
        return jsonc_editing.append(text, servers, *entries.items())

    def strip_from_json(self, text: str, before: Mapping[str, Any] | None = None) -> str:
        root = jsonc_editing.parse(text)
        places: list[jsonc_editing.PartPosition] = []
        for member_index, member in enumerate(root.parts if root is not None else ()):
            if root is not None and member.key == self.key:
                server_places = [
                    (member.node, index)
                    for index, part in enumerate(member.node.parts)
                    if part.key == NAME and read_command(part.node.value) is not None
                ]
                places += jsonc_editing.collapse_if_empty(
                    text, (root, member_index), server_places, can_remove=before is not None and self.key not in before
                )
        return jsonc_editing.remove(text, places)

    def add_to_toml(self, text: str, entries: Entries) -> str:
        servers = toml_editing.parse(text).get(self.key)
        if isinstance(servers, dict) and NAME in servers:
            _refuse_other_server("")
        lines = toml_editing.write_table([self.key, NAME], entries[NAME])
        return toml_editing.append_tables(text, lines, what="MCP servers", hint=_TOML_HINT)

    def strip_from_toml(self, text: str) -> str:
        new_text = toml_editing.remove_tables(
            text,
            lambda tables, document: (
                [table for table in tables if table.path[:2] == (self.key, NAME)]
                if self._find_entry(document) is not None
                else []
            ),
        )
        if self.list_entries(toml_editing.parse(new_text)):
            raise Invalid("the MCP server of Gatepost is written in line with others", hint=_TOML_HINT)
        return new_text


def _select_own_part(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `build_entries` writes of an entry, without what a user has added."""
    own = {name: entry[name] for name in ("type", "command", "args") if name in entry}
    if isinstance(variables := entry.get("env_vars"), list):
        own["env_vars"] = [name for name in variables if name in _PASSED_VARIABLES]
    if HOME_VARIABLE in (env := _get_env(entry)):
        own["environment" if "environment" in entry else "env"] = {HOME_VARIABLE: env[HOME_VARIABLE]}
    return own


def _get_env(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    env = entry.get("environment" if isinstance(entry.get("command"), list) else "env")
    return env if isinstance(env, dict) else {}


def _refuse_other_server(position: str) -> None:
    message = f"it has another MCP server with the name {NAME!r} {position}".rstrip()
    raise Invalid(message, hint="give that server another name, or remove it")
