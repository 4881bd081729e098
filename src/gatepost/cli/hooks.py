"""`gatepost hooks`: our entries in the settings files of other programs; and the help of `gatepost hook`."""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from click.exceptions import Exit

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.command import Noun, build_verb
from gatepost.cli.connect import find_agent, get_folder
from gatepost.cli.hook import answer
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core import render
from gatepost.errors import Invalid, Unavailable
from gatepost.hooks import gates, host_settings
from gatepost.hooks import install as files
from gatepost.hooks.context import locate_program
from gatepost.hooks.install import SCOPES, InstallState
from gatepost.hooks.wire import HOSTS

hooks = Noun("hooks", "Install hooks in Claude Code, Codex, Gemini CLI or Cursor.")

Host = Annotated[str, option("--host", "|".join(HOSTS), "the program", choices=HOSTS)]
Scope = Annotated[
    str,
    option("--scope", "|".join(SCOPES), "your own settings, or those of the project in this folder", choices=SCOPES),
]
BuildEntries = Callable[[str | None], dict[str, dict[str, Any]]]
File = Annotated[str | None, option("--file", "PATH", "another settings file")]

_CODEX_TRUST = (
    "Codex runs a hook only after you trust it, and `codex exec` skips others without a word: start `codex`, type"
    " /hooks and trust ours, again after each change"
)
_GEMINI_TRUST = (
    "Gemini CLI runs the hooks of a project only in a folder that you trust: start `gemini` in it, and type"
    " /permissions trust"
)


@hooks.command("install")
def install(
    host: Host = "claude",
    scope: Scope = "user",
    file: File = None,
    agent: Annotated[str | None, option("--agent", "NAME", "the agent to name in our entries")] = None,
    json: JsonFlag = False,
) -> None:
    """
    Write our entries into the settings file of a program. Prints the path of the file.

    Nothing else in the file changes. A backup is kept beside it, so that `uninstall` can restore it. It can be run
    again: it replaces entries of an older release. Run it again after `gatepost gate register` with another event than
    Stop.

    With --agent our entries name the agent, and take precedence over GATEPOST_AGENT. Sessions that a program runs in
    the background have the environment of another terminal, and need that. Without --agent an existing name stays.

    Examples:
      gatepost hooks install
      gatepost hooks install --host codex --scope project --agent ann
    """
    path, build_entries = _locate_file(host, scope, file), _prepare_entries(host)
    name = find_agent(settings.load(), agent).name if agent else _get_written_agent(path, host, build_entries)
    change = files.install(path, host, build_entries(name))
    note = _get_trust_note(host, None if file else scope)
    if json:
        output.document(
            {
                "host": host,
                "file": str(change.file),
                "agent": name,
                "changed": change.is_changed,
                "backup": str(change.backup) if change.backup else None,
                "note": note,
            }
        )
        return
    output.line_out(render.escape_invisible(str(change.file)))
    if not change.is_changed:
        output.talk("our entries are installed already")
    else:
        output.talk(f"the backup is {change.backup.name}" if change.backup else "created the file")
    if note:
        output.talk(note)


@hooks.command("uninstall")
def uninstall(host: Host = "claude", scope: Scope = "user", file: File = None, json: JsonFlag = False) -> None:
    """
    Remove our entries from the settings file of a program. Prints the path of the file.

    If the file has not changed since the installation, the backup is restored, byte for byte. Else only our entries are
    removed.

    Example:
      gatepost hooks uninstall
    """
    change = files.uninstall(_locate_file(host, scope, file), host)
    if json:
        output.document(
            {"host": host, "file": str(change.file), "changed": change.is_changed, "restored": change.is_restored}
        )
        return
    output.line_out(render.escape_invisible(str(change.file)))
    if change.is_removed:
        output.talk("removed the file, which had only our entries")
    elif change.is_restored:
        output.talk("restored the backup")
    else:
        output.talk("removed our entries" if change.is_changed else "the file has none of our entries")


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
    Show where our entries are installed. Exits with 1 if they are installed nowhere.

    Example:
      gatepost hooks status --host claude
    """
    if file is not None and host is None:
        host = "claude"  # as for install
    hosts = [host] if host else HOSTS
    states = [(host, scope, state) for host in hosts for scope, state in _inspect_files(host, file)]
    notes = [_get_trust_note(host, scope) if state.events else None for host, scope, state in states]
    if json:
        output.document(
            [
                {"host": host, "scope": scope, **asdict(state), "file": str(state.file), "note": note}
                for (host, scope, state), note in zip(states, notes, strict=True)
            ]
        )
    else:
        output.table(["HOST", "SCOPE", "STATE", "AGENT", "FILE"], [_build_row(*state) for state in states])
        for _, _, state in states:
            if state.why:
                output.talk(f"{state.file}: {state.why}")
        for note in dict.fromkeys(filter(None, notes)):
            output.talk(note)
    if not any(state.state == "installed" for _, _, state in states):
        raise Exit(1)


def _inspect_files(host: str, file: str | None) -> list[tuple[str | None, InstallState]]:
    """Return the scope and the state of each settings file of a host; a file that the user names has no scope."""
    scopes: tuple[str, ...] = ("user",) if file is not None else SCOPES if host == "claude" else SCOPES[:2]
    paths: dict[Path, str] = {}  # a project in the user's home folder has the same file as the user
    for scope in scopes:
        paths.setdefault(_locate_file(host, scope, file), scope)
    build_entries = _prepare_entries(host)
    switch = _find_switch(paths) if host == "claude" else None
    states = [(None if file else scope, files.inspect_file(path, host, build_entries)) for path, scope in paths.items()]
    if switch is None:
        return states
    why = f"Claude Code runs no hooks, because {str(switch)!r} sets `disableAllHooks`"
    return [(scope, replace(state, state="disabled", why=why) if state.events else state) for scope, state in states]


def _find_switch(paths: Iterable[Path]) -> Path | None:
    """Return the settings file that turns all hooks off; of two that differ, the one nearer to the project counts."""
    switches = [(path, switch) for path in paths if (switch := files.read_disable_switch(path)) is not None]
    path, is_off = switches[-1] if switches else (None, False)
    return path if is_off else None


def _get_trust_note(host: str, scope: str | None) -> str | None:
    """Return what a person has to do before the host runs our entries, or None. Trust itself cannot be seen here."""
    if host == "codex":
        return _CODEX_TRUST
    return _GEMINI_TRUST if (host, scope) == ("gemini", "project") else None


def _build_row(host: str, scope: str | None, state: InstallState) -> list[str]:
    label = {"missing": "no file", "none": "not installed"}.get(state.state, state.state)
    return [host, scope or "", label, ", ".join(state.agents), str(state.file)]


def _locate_file(host: str, scope: str, file: str | None) -> Path:
    """Return the settings file that the user names, or the one of the scope; check host and scope in both cases."""
    path = files.locate_settings(host, scope, environ=os.environ, project=get_folder())
    if file is None:
        return path
    path = get_folder() / Path(file).expanduser()
    if path.suffix == ".toml" and host != "codex":
        raise Invalid(f"{file!r} is TOML, and {host} reads JSON", hint="give --host codex, or name another file")
    return path


def _prepare_entries(host: str) -> BuildEntries:
    """Return a function that builds our entries for an agent, with the events of the gates registered in this home."""
    home, _ = settings.find_home(os.environ)
    program = locate_program()
    if program is None:
        raise Unavailable("the command `gatepost` is not installed here", hint="pip install gatepost")
    path, events = str(get_folder() / program), {gate.hook for gate in gates.list_registered_gates(home)}
    return lambda agent: host_settings.build_entries(host, path, events, agent)


def _get_written_agent(file: Path, host: str, build_entries: BuildEntries) -> str | None:
    """Return the agent that our present entries in a file name."""
    agents = files.inspect_file(file, host, build_entries).agents
    if len(agents) > 1:
        raise Invalid(
            f"our entries in {str(file)!r} name several agents: {', '.join(map(repr, agents))}",
            hint="give --agent NAME",
        )
    return agents[0] if agents else None


def describe_hook(
    event: Annotated[str, argument("EVENT", "the event, by the name that the program has for it")],
    host: Annotated[str, option("--host", "|".join(HOSTS), "the program", choices=HOSTS)] = "claude",
    agent: Annotated[str | None, option("--agent", "NAME", "the agent; takes precedence over GATEPOST_AGENT")] = None,
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
    raise Exit(answer([event, "--host", host, *(() if agent is None else ("--agent", agent))]))


commands = [hooks, build_verb("hook", describe_hook, "Answer a hook of the program in which a guest lives.")]
