"""`gatepost hooks`: our entries in the settings files of other programs; and the help of `gatepost hook`."""

import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from click.exceptions import Exit

from gatepost import settings
from gatepost.cli import host_entries
from gatepost.cli.command import Noun, build_verb
from gatepost.cli.gateway_or_store import find_agent, get_folder
from gatepost.cli.host_entries import File, HostFile
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.errors import Invalid
from gatepost.guests.hook_commands import answer
from gatepost.guests.hooks import session_gates as gates
from gatepost.guests.host_settings import hook_entries, installation
from gatepost.guests.host_settings.entry_format import BuildEntries
from gatepost.guests.host_settings.hook_entries import HOSTS, SCOPES
from gatepost.guests.setup_api import TITLES

hooks = Noun("hooks", "Install hooks in agent programs, such as Claude Code.")

Host = Annotated[str, option("--host", "|".join(HOSTS), "the program", choices=HOSTS)]
Scope = Annotated[
    str,
    option("--scope", "|".join(SCOPES), "your own settings, or those of the project in this folder", choices=SCOPES),
]

_CODEX_TRUST = (
    "Codex runs a hook only after you trust it, and `codex exec` skips others without a word: start `codex`, type"
    " /hooks and trust those of Gatepost, again after each change"
)
_GEMINI_TRUST = (
    "Gemini CLI runs the hooks of a project only in a folder that you trust: start `gemini` in it, and type"
    " /permissions trust"
)

_GEMINI_WAKE = (
    'Gemini CLI wakes a session only with two experimental settings: put "experimental": {{"modelSteering": true}} and'
    ' "tools": {{"shell": {{"backgroundCompletionBehavior": "inject"}}}} into {file}; and only while its model waits:'
    ' put "Always keep this command running in the background, and start it again when it has ended: {command}" into'
    " its GEMINI.md. Each wake takes one more request, for the next start of the command"
)


@hooks.command("install")
def install(
    host: Host = "claude",
    scope: Scope = "user",
    file: File = None,
    agent: Annotated[str | None, option("--agent", "NAME", "the agent to name in the hooks")] = None,
    wake: Annotated[bool, flag("--wake", "say what Gemini CLI needs to be woken")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Write the hooks of Gatepost into the settings file of a program. Prints the path of the file.

    Nothing else in the file changes. A backup is kept beside it, so that `uninstall` can restore it. It can be run
    again: it replaces hooks of an older release. Run it again after `gatepost gate register` with another event than
    Stop.

    With --agent the hooks name the agent, and take precedence over GATEPOST_AGENT. Sessions that a program runs in
    the background have the environment of another terminal, and need that. Without --agent an existing name stays.

    Idle sessions of Claude Code, Codex and OpenCode are woken for their inbox. Gemini CLI can do that as an experiment;
    --wake says which of its settings to change, and what to tell its model.

    Examples:
      gatepost hooks install
      gatepost hooks install --host codex --scope project --agent ann
    """
    if wake and host != "gemini":
        raise Invalid(f"--wake is for Gemini CLI, not for {TITLES[host]}", hint="leave it out")
    path, form, build_entries = _locate_file(host, scope, file), hook_entries.get_form(host), prepare_entries(host)
    if agent:
        name: str | None = find_agent(settings.load(), agent).name
    else:
        name = host_entries.find_written_agent(path, form, build_entries, label="--agent")
    home = host_entries.find_written_home(path, form, build_entries)
    change = installation.install(path, form, build_entries(name, home))
    note = get_trust_note(host, None if file else scope)
    if wake:
        own_options = [*(["--agent", name] if name else []), *(["--home", home] if home else [])]
        command = shlex.join([host_entries.find_program(), "hook", "wait", "--host", host, *own_options])
        note = " ".join(filter(None, (note, _GEMINI_WAKE.format(file=path, command=command))))
    host_entries.print_install(host, change, agent=name, note=note, json=json)


@hooks.command("uninstall")
def uninstall(host: Host = "claude", scope: Scope = "user", file: File = None, json: JsonFlag = False) -> None:
    """
    Remove the hooks of Gatepost from the settings file of a program. Prints the path of the file.

    If the file has not changed since the installation, the backup is restored, byte for byte. Else only the hooks of
    Gatepost are removed.

    Example:
      gatepost hooks uninstall
    """
    change = installation.uninstall(_locate_file(host, scope, file), hook_entries.get_form(host))
    host_entries.print_uninstall(host, change, json=json)


@hooks.command("status")
def status(
    host: Annotated[
        str | None,
        option("--host", "|".join(HOSTS), "only this program; with --file, by default claude", choices=HOSTS),
    ] = None,
    file: File = None,
    json: JsonFlag = False,
) -> None:
    """
    Show where the hooks of Gatepost are installed. Exits with 1 if they are installed nowhere.

    Example:
      gatepost hooks status --host claude
    """
    if file is not None and host is None:
        host = "claude"  # as for install
    files = [host_file for name in ([host] if host else HOSTS) for host_file in _inspect_files(name, file)]
    host_entries.print_status(files, lambda state: {"events": state.names, "agents": state.agents}, json=json)


def _inspect_files(host: str, file: str | None) -> list[HostFile]:
    """Return the settings files of a host."""
    scopes: tuple[str, ...] = ("user",) if file is not None else SCOPES if host == "claude" else SCOPES[:2]
    paths: dict[Path, str] = {}  # a project in the user's home folder has the same file as the user
    for scope in scopes:
        paths.setdefault(_locate_file(host, scope, file), scope)
    build_entries = prepare_entries(host)
    switch = _find_switch(paths) if host == "claude" else None
    files = []
    for path, path_scope in paths.items():
        scope_name = None if file else path_scope
        state = installation.inspect_file(path, hook_entries.get_form(host), build_entries)
        note = get_trust_note(host, scope_name) if state.names else None
        if switch is not None and state.names:
            why = f"Claude Code runs no hooks, because {str(switch)!r} sets `disableAllHooks`"
            state = replace(state, state="disabled", why=why)
        files.append(HostFile(host, scope_name, state, note))
    return files


def _find_switch(paths: Iterable[Path]) -> Path | None:
    """Return the settings file that turns all hooks off; of two that differ, the one nearer to the project counts."""
    switches = [(path, switch) for path in paths if (switch := hook_entries.read_disable_switch(path)) is not None]
    path, is_off = switches[-1] if switches else (None, False)
    return path if is_off else None


def get_trust_note(host: str, scope: str | None) -> str | None:
    """Return what a person has to do before the host runs our entries, or None. Trust itself cannot be seen here."""
    if host == "codex":
        return _CODEX_TRUST
    return _GEMINI_TRUST if (host, scope) == ("gemini", "project") else None


def _locate_file(host: str, scope: str, file: str | None) -> Path:
    """Return the settings file that the user names, or the one of the scope; check host and scope in both cases."""
    path = hook_entries.locate_settings(host, scope, environ=os.environ, project=get_folder())
    return path if file is None else host_entries.resolve_file(file, host)


def prepare_entries(host: str) -> BuildEntries:
    """Return a function that builds our entries for an agent, with the events of the gates registered in this home."""
    home, _ = settings.find_home(os.environ)
    program = host_entries.find_program()
    events = {gate.hook for gate in gates.list_registered_gates(home)}
    return lambda agent, home: hook_entries.build_entries(host, program, events, agent, home)


def describe_hook(
    event: Annotated[str, argument("EVENT", "the event, by the name that the program has for it")],
    host: Annotated[str, option("--host", "|".join(HOSTS), "the program", choices=HOSTS)] = "claude",
    agent: Annotated[str | None, option("--agent", "NAME", "the agent; takes precedence over GATEPOST_AGENT")] = None,
    home: Annotated[str | None, option("--home", "PATH", "the home; takes precedence over GATEPOST_HOME")] = None,
) -> None:
    """
    Answer a hook of the program in which a guest lives.

    The program writes JSON to stdin and gets an answer in its own format: the pending items of the guest, or the reason
    why it may not stop yet. `gatepost hooks install` makes the program call this. It fails open: if something is wrong
    here, the program goes on, and stderr says why.

    Example:
      echo '{"session_id": "4f1c"}' | gatepost hook SessionStart --host claude
    """
    # `main.py` calls `answer` itself, because a hook must start fast; here it is for the help.
    raise Exit(
        answer(
            [
                event,
                "--host",
                host,
                *(() if agent is None else ("--agent", agent)),
                *(() if home is None else ("--home", home)),
            ]
        )
    )


commands = [hooks, build_verb("hook", describe_hook, "Answer a hook of the program in which a guest lives.")]
