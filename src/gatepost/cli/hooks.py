"""`gatepost hooks`: our entries in the settings files of other programs."""

import os
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from gatepost import settings
from gatepost.api.entities import ShowEntity
from gatepost.cli import identity, output, words
from gatepost.cli.connect import connect
from gatepost.cli.plain import Json, Noun, option
from gatepost.core.address import check_entity_address
from gatepost.core.entity import EntityKind
from gatepost.errors import Invalid, Refused, Unavailable
from gatepost.hooks import gates, host_settings
from gatepost.hooks import install as files
from gatepost.hooks.context import locate_program
from gatepost.hooks.install import SCOPES, InstallState
from gatepost.hooks.wire import HOSTS

app = Noun(help="Hooks: have Claude Code, Codex, Gemini CLI or Cursor call Gatepost.")

Host = Annotated[str, option("--host", "|".join(HOSTS), "Whose settings.")]
Scope = Annotated[str, option("--scope", "|".join(SCOPES), "Yours everywhere, or those of the project in this folder.")]
File = Annotated[str | None, option("--file", "PATH", "This settings file instead.")]

_CODEX_TRUST = (
    "Codex runs a hook only after you trust it, and `codex exec` skips others without a word: start `codex`, type"
    " /hooks and trust ours, again after each change"
)
_GEMINI_TRUST = (
    "Gemini CLI runs the hooks of a project only in a folder that you trust: start `gemini` in it, and type"
    " /permissions trust"
)


@app.verb("install")
def install(
    host: Host = "claude",
    scope: Scope = "user",
    file: File = None,
    agent: Annotated[str | None, option("--agent", "NAME", "Write this agent into our entries.")] = None,
    json: Json = False,
) -> None:
    """
    Put our entries into a host's settings file, and print which file that is.

    Nothing else in it is changed. What it was before is kept beside it, so that `uninstall` can put it back. It can be
    run again: entries of an older release are replaced, and what is as it should be is left alone. Do so after
    `gatepost gate register` with another event than Stop.

    With --agent our entries say who the agent is, whatever GATEPOST_AGENT says. Sessions that a program runs in the
    background have the environment of another terminal, and need that. Without --agent a name that is there stays.

    Examples:
      gatepost hooks install
      gatepost hooks install --host codex --scope project --agent ann
    """
    place, wanted = _file(host, scope, file), _plan(host)
    name = _find_agent(agent) or _get_written_agent(place, host, wanted)
    change = files.install(place, host, wanted(name))
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
    output.line_out(str(change.file))
    if not change.is_changed:
        output.talk("our entries are there already")
    else:
        output.talk(f"what it was before is in {change.backup.name}" if change.backup else "made a new file")
    if note:
        output.talk(note)


@app.verb("uninstall")
def uninstall(host: Host = "claude", scope: Scope = "user", file: File = None, json: Json = False) -> None:
    """
    Take our entries out of a host's settings file again, and print which file that is.

    If nobody has changed the file since they were put in, it is again what it was before, byte for byte. Else only our
    entries are taken out.

    Example:
      gatepost hooks uninstall
    """
    change = files.uninstall(_file(host, scope, file), host)
    if json:
        output.document(
            {"host": host, "file": str(change.file), "changed": change.is_changed, "restored": change.is_restored}
        )
        return
    output.line_out(str(change.file))
    if change.is_removed:
        output.talk("it had nothing but our entries in it, and is gone")
    elif change.is_restored:
        output.talk("it is again what it was before")
    else:
        output.talk("our entries are taken out" if change.is_changed else "there is nothing of ours in it")


@app.verb("status")
def status(
    host: Annotated[str | None, option("--host", "|".join(HOSTS), "Only this host; of a --file, claude.")] = None,
    file: File = None,
    json: Json = False,
) -> None:
    """
    Look where our entries are. Ends with 1 if they are nowhere as they should be.

    Example:
      gatepost hooks status --host claude
    """
    if file is not None and host is None:
        host = "claude"  # as for install
    found = [(each, *one) for each in ([host] if host else HOSTS) for one in _looked_at(each, file)]
    notes = [_get_trust_note(each, scope) if state.events else None for each, scope, state in found]
    if json:
        output.document(
            [
                {"host": each, "scope": scope, **asdict(state), "file": str(state.file), "note": note}
                for (each, scope, state), note in zip(found, notes, strict=True)
            ]
        )
    else:
        output.table(["HOST", "SCOPE", "STATE", "AGENT", "FILE"], [_row(*each) for each in found])
        for _, _, state in found:
            if state.why:
                output.talk(f"{state.file}: {state.why}")
        for note in dict.fromkeys(filter(None, notes)):
            output.talk(note)
    if not any(state.state == "installed" for _, _, state in found):
        raise typer.Exit(1)


def _looked_at(host: str, file: str | None) -> list[tuple[str | None, InstallState]]:
    scopes: tuple[str, ...] = ("user",) if file is not None else SCOPES if host == "claude" else SCOPES[:2]
    places: dict[Path, str] = {}  # a project in the home has one file with the user
    for scope in scopes:
        places.setdefault(_file(host, scope, file), scope)
    wanted = _plan(host)
    switch = _find_switch(places) if host == "claude" else None
    states = [(None if file else scope, files.inspect_file(place, host, wanted)) for place, scope in places.items()]
    if switch is None:
        return states
    why = f"Claude Code runs no hooks, because {str(switch)!r} says `disableAllHooks`"
    return [(scope, replace(state, state="disabled", why=why) if state.events else state) for scope, state in states]


def _find_switch(places: Iterable[Path]) -> Path | None:
    """Return the settings file that turns all hooks off; of two that differ, the one nearer to the project counts."""
    said = [(place, switch) for place in places if (switch := files.read_disable_switch(place)) is not None]
    return said[-1][0] if said and said[-1][1] else None


def _get_trust_note(host: str, scope: str | None) -> str | None:
    """Return what a person has to do before the host runs our entries, or None. Trust itself cannot be seen here."""
    if host == "codex":
        return _CODEX_TRUST
    return _GEMINI_TRUST if (host, scope) == ("gemini", "project") else None


def _row(host: str, scope: str | None, state: InstallState) -> list[str]:
    stands = {"missing": "no file", "none": "not installed"}.get(state.state, state.state)
    return [host, scope or "", stands, ", ".join(state.agents), str(state.file)]


def _file(host: str, scope: str, file: str | None) -> Path:
    found = files.locate_settings(host, scope, environ=os.environ, project=identity.get_folder())
    if file is None:
        return found
    given = identity.get_folder() / Path(file).expanduser()
    if given.suffix == ".toml" and host != "codex":
        raise Invalid(f"{file!r} is TOML, and {host} reads JSON", hint="give --host codex, or name another file")
    return given


def _plan(host: str) -> Callable[[str | None], dict[str, dict[str, Any]]]:
    """Return what is to be put in for an agent, with the events of the session gates registered in this home."""
    home, _ = settings.find_home(os.environ)
    program, events = _program(), {gate.hook for gate in gates.list_registered_gates(home)}
    return lambda agent: host_settings.build_entries(host, program, events, agent)


def _find_agent(name: str | None) -> str | None:
    """Return the name under which the store knows the agent."""
    if words.given(name, "--agent") is None or name is None:
        return None
    with connect() as connection:
        entity = connection.send(ShowEntity(name=check_entity_address(name)))
    if entity.kind is EntityKind.HUMAN:
        raise Refused(f"{entity.name!r} is a person, and has no sessions", hint="name an agent")
    return entity.name


def _get_written_agent(file: Path, host: str, wanted: Callable[[str | None], dict[str, dict[str, Any]]]) -> str | None:
    """Return the agent that our entries in a file name by now."""
    agents = files.inspect_file(file, host, wanted).agents
    if len(agents) > 1:
        raise Invalid(
            f"our entries in {str(file)!r} name several agents: {', '.join(map(repr, agents))}",
            hint="give --agent NAME",
        )
    return agents[0] if agents else None


def _program() -> str:
    """Return where this command is, for others to run."""
    found = locate_program()
    if found is None:
        raise Unavailable("the command `gatepost` is not installed here", hint="pip install gatepost")
    return str(identity.get_folder() / found)
