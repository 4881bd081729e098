"""`gatepost mcp`: our MCP server on stdio, and in the settings files of other programs."""

import os
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Final

from gatepost import settings
from gatepost.cli import host_entries, output
from gatepost.cli.command import Noun
from gatepost.cli.gateway_or_store import find_entity, get_folder
from gatepost.cli.host_entries import File, HostFile
from gatepost.cli.parameters import JsonFlag, option
from gatepost.errors import Invalid, Unavailable
from gatepost.guests.host_settings import hook_entries, installation, mcp_entries
from gatepost.guests.host_settings.entry_format import BuildEntries
from gatepost.guests.host_settings.installation import is_toml
from gatepost.guests.host_settings.mcp_entries import HOSTS, HOSTS_WITHOUT_PROJECT, SCOPES, McpFormat

mcp = Noun("mcp", "Offer the inbox, gates and decisions as an MCP server.")

Host = Annotated[str, option("--host", "HOST", f"the program: {', '.join(HOSTS)}", choices=HOSTS)]
Scope = Annotated[
    str,
    option("--scope", "|".join(SCOPES), "your own settings, or those of the project in this folder", choices=SCOPES),
]

#: what a person has to do before the host starts our server, by host and scope
NOTES: Final = {
    (
        "claude",
        "project",
    ): "Claude Code starts the servers of a project only after you approve them: start `claude` in it",
    ("claude-desktop", "user"): "Claude Desktop reads the file when it starts: quit it, and start it again",
    ("codex", "project"): "Codex reads the settings of a project only if you trust it: start `codex` in it",
    **dict.fromkeys(
        (("gemini", "user"), ("gemini", "project")),
        "Gemini CLI starts MCP servers only in a folder that you trust: start `gemini` in it, and type /permissions"
        " trust",
    ),
}


@mcp.without_verb
def serve(
    name: Annotated[
        str | None, option("--as", "NAME", "whom the server acts for; by default the current agent")
    ] = None,
) -> None:
    """
    Serve Gatepost over MCP, on stdin and stdout.

    The program in which an agent lives (Claude Code, Codex, Gemini CLI, ...) starts this command and ends it; `gatepost
    mcp install` tells it to. Requests go to the gateway of this home, or to its store if no gateway runs.

    Example:
      gatepost mcp --as analyst
    """
    require_package()
    from gatepost.cli.mcp_connection import serve_agent  # other verbs must start fast

    if os.isatty(0):
        output.talk(
            "waiting for a program that speaks MCP on stdin: `gatepost mcp install` lets one start this command"
        )
    serve_agent(settings.load(), name)


@mcp.command("install")
def install(
    host: Host = "claude",
    scope: Scope = "user",
    file: File = None,
    name: Annotated[str | None, option("--as", "NAME", "the agent or the person that the program acts for")] = None,
    json: JsonFlag = False,
) -> None:
    """
    Write Gatepost's MCP server into the settings file of a program. Prints the path of the file.

    Nothing else in the file changes. A backup is kept beside it, so that `uninstall` can restore it. It can be run
    again: it replaces an entry of an older release, and keeps what you have added to it.

    With --as the server acts for that agent or person. Without --as an existing name stays; if there is none, the
    server acts for the current agent. Claude Desktop and Cursor start servers in no project, so for them the entry also
    names the home that is found here.

    Examples:
      gatepost mcp install --scope project
      gatepost mcp install --host claude-desktop --as analyst
    """
    require_package()
    path, form, build_entries = _locate_file(host, scope, file), McpFormat(host), prepare_entries(host)
    if name:
        agent: str | None = find_entity(settings.load(), name).name
    else:
        agent = host_entries.find_written_agent(path, form, build_entries, label="--as")
    change = installation.install(path, form, build_entries(agent, None))
    note = None if file else NOTES.get((host, scope))
    host_entries.print_install(host, change, agent=agent, note=note, json=json)


@mcp.command("uninstall")
def uninstall(host: Host = "claude", scope: Scope = "user", file: File = None, json: JsonFlag = False) -> None:
    """
    Remove Gatepost's MCP server from the settings file of a program. Prints the path of the file.

    If the file has not changed since the installation, the backup is restored, byte for byte. Else only the server of
    Gatepost is removed.

    Example:
      gatepost mcp uninstall --host gemini
    """
    change = installation.uninstall(_locate_file(host, scope, file), McpFormat(host))
    host_entries.print_uninstall(host, change, json=json)


@mcp.command("status")
def status(
    host: Annotated[
        str | None,
        option("--host", "HOST", "only this program; with --file, by default claude", choices=HOSTS),
    ] = None,
    file: File = None,
    json: JsonFlag = False,
) -> None:
    """
    Show where Gatepost's MCP server is installed. Exits with 1 if it is installed nowhere.

    Example:
      gatepost mcp status --host codex
    """
    if file is not None and host is None:
        host = "claude"  # as for install
    files = [host_file for name in ([host] if host else HOSTS) for host_file in _inspect_files(name, file)]
    host_entries.print_status(files, lambda state: {"agents": state.agents, "homes": state.homes}, json=json)


def require_package() -> None:
    """Raise Unavailable if the package that serves MCP is not installed."""
    if find_spec("mcp") is None:
        raise Unavailable("the MCP server needs the package mcp", hint="pip install 'gatepost[mcp]'")


def _inspect_files(host: str, file: str | None) -> list[HostFile]:
    """Return the settings files of a host."""
    paths: dict[Path, str] = {}  # a project in the user's home folder has the same file as the user
    for scope in ("user",) if file is not None else mcp_entries.list_scopes(host):
        paths.setdefault(_locate_file(host, scope, file), scope)
    build_entries, files = prepare_entries(host), []
    for path, path_scope in paths.items():
        scope_name = None if file else path_scope
        state = installation.inspect_file(path, McpFormat(host), build_entries)
        if (host, scope_name) == ("claude", "project") and state.names and (rejection := _find_rejection()):
            why = (
                f"Claude Code does not start the server, because {str(rejection)!r} has it in `disabledMcpjsonServers`"
            )
            state = replace(state, state="disabled", why=why)
        note = NOTES.get((host, path_scope)) if state.names and not file else None
        files.append(HostFile(host, scope_name, state, note))
    return files


def _find_rejection() -> Path | None:
    """Return the settings file that says that the user does not want the server of this project."""
    locate = partial(hook_entries.locate_settings, "claude", environ=os.environ, project=get_folder())
    return next(filter(mcp_entries.is_rejected, map(locate, hook_entries.SCOPES)), None)


def _locate_file(host: str, scope: str, file: str | None) -> Path:
    """Return the settings file that the user names, or the one of the scope; check host and scope in both cases."""
    path = mcp_entries.locate_settings(host, scope, environ=os.environ, project=get_folder())
    if file is None:
        return path
    path = host_entries.resolve_file(file, host)
    if host == "codex" and not is_toml(path):
        raise Invalid(f"{file!r} is not TOML, and codex reads TOML", hint="name a file that ends with .toml")
    return path


def prepare_entries(host: str) -> BuildEntries:
    """
    Return a function that builds our entry for an agent and a home: where servers run in no project, by default the
    home that is found here.
    """
    program = host_entries.find_program()
    found_home, _ = settings.find_home(os.environ)
    default_home = str(found_home) if host in HOSTS_WITHOUT_PROJECT else None
    return lambda agent, home: mcp_entries.build_entries(host, program, agent, home or default_home)


commands = [mcp]
