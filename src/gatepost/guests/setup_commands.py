"""`gatepost setup`: our hooks and our MCP server in all agent programs of this machine."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import click
from click.exceptions import Exit

from gatepost import settings
from gatepost.cli import host_entries, output
from gatepost.cli.command import build_verb
from gatepost.cli.current_agent import find_current_agent
from gatepost.cli.gateway_or_store import CommandConnection, connect, get_folder
from gatepost.cli.parameters import JsonFlag, flag, option
from gatepost.core.times import MINUTE, SECOND, Duration, parse_duration
from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid, NoStore, Refused, UnknownAddress
from gatepost.guests import hook_install_commands as hook_commands
from gatepost.guests.host_settings import agent_programs, hook_entries, installation, mcp_entries, setup_changes
from gatepost.guests.host_settings.agent_programs import AgentProgram
from gatepost.guests.host_settings.hook_entries import HOSTS
from gatepost.guests.host_settings.mcp_entries import McpFormat
from gatepost.guests.host_settings.setup_changes import OwnEntries, SettingsAction, SettingsChange
from gatepost.guests.setup_api import TITLES
from gatepost.guests.setup_proof_commands import WakeTest, prove
from gatepost.mcp import commands as mcp_commands
from gatepost.paths import HOME_VARIABLE
from gatepost.settings import Configuration

_SCOPES: Final = ("user", "project")
#: the programs whose idle sessions are woken without a courier, and what a person does until one of theirs can be woken
_START_HINTS: Final = {
    "claude": "start `claude`, and say yes if it asks whether you trust the folder",
    "codex": "start `codex`, choose to trust the hooks when it asks about them, and give it a prompt",
    "opencode": "start `opencode`, and give it a prompt",
}
#: how long the live test waits by default
_PROOF_TIME: Final = 10 * MINUTE
_MCP_HINT: Final = "the MCP server is left out: it needs the package mcp, `pip install 'gatepost[mcp]'`"
#: what was done, as a person reads it
_DONE: Final = {
    SettingsAction.ADD: "added",
    SettingsAction.UPDATE: "updated",
    SettingsAction.NOTHING: "unchanged",
    SettingsAction.REFUSE: "refused",
    SettingsAction.REMOVE: "removed",
    SettingsAction.RESTORE: "restored",
}


@dataclass(slots=True)
class _ProgramSetup:
    """What is set up for one program."""

    program: AgentProgram
    #: the agent of its sessions; None for an uninstall
    agent: str | None
    is_new_agent: bool
    parts: Sequence[OwnEntries]
    changes: Sequence[SettingsChange] = ()
    #: what a person has to do before the program uses our entries
    notes: Sequence[str] = ()


def setup(
    hosts: Annotated[
        list[str] | None,
        option("--host", "|".join(HOSTS), "only this program; by default all that are installed", choices=HOSTS),
    ] = None,
    agent: Annotated[
        str | None, option("--agent", "NAME", "the agent of all sessions; by default the current agent, or one each")
    ] = None,
    scope: Annotated[
        str,
        option("--scope", "|".join(_SCOPES), "your own settings, or those of the project here", choices=_SCOPES),
    ] = "user",
    home: Annotated[
        str | None, option("--home", "PATH", "the home; it is written into the settings, and counts wherever one works")
    ] = None,
    test: Annotated[bool, flag("--test", "push one test item to each agent, without asking")] = False,
    no_test: Annotated[bool, flag("--no-test", "push no test item, without asking")] = False,
    timeout: Annotated[
        Duration | None,
        option("--for", "10m", "how long to wait for the proofs of the test; by default 10m", parse=parse_duration),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", "show what would change, and change nothing")] = False,
    uninstall: Annotated[bool, flag("--uninstall", "take everything out of the settings files again")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Set up the agent programs on this machine: Claude Code, Codex, Gemini CLI, Cursor and OpenCode.

    It finds those that are installed, writes the hooks and the MCP server of Gatepost into their settings files, and
    registers the agents of their sessions. Nothing else in the files changes. It can be run again, and then writes only
    what is not up to date.

    The agent is that of --agent, else the one that the hooks name already, else the current agent. If there is none,
    each program gets an agent of its own, with the name of the program.

    At a terminal it asks whether to push one test item to each agent. Then it waits for a session that can be woken,
    and shows what becomes of the item: pushed, woken, shown, proved by a reply of the model. Meanwhile it says what
    to do: which program to start, which question of its own to answer, and whether it needs a prompt.

    With --home the programs use this home in every folder and terminal. Without it they find theirs when they start, as
    every command does: GATEPOST_HOME, else the nearest .gatepost upwards, else that of the user.

    With --uninstall it takes everything out again. A file that nobody has changed since is as it was before, byte for
    byte. Agents and their inboxes stay.

    It exits with 1 if a file cannot be changed, if no program is found, or if an item was not proved.

    Examples:
      gatepost setup --dry-run
      gatepost setup --agent ann
      gatepost setup --host codex --uninstall
    """
    if home is not None:
        os.environ[HOME_VARIABLE] = home = str(get_folder() / Path(home).expanduser())
    configuration = settings.load()
    if test and no_test:
        raise Invalid("--test and --no-test cannot be given together", hint="leave one of them out")
    proofs: list[WakeTest] = []
    wanted_hosts = [host for host in HOSTS if not hosts or host in hosts]
    if uninstall:
        setups = list(_prepare_uninstall(wanted_hosts, scope))
        _apply(setups, setup_changes.plan_uninstall if dry_run else None, setup_changes.uninstall_all)
        _print(setups, is_install=False, is_plan=dry_run, json=json)
    else:
        programs = agent_programs.find_programs(wanted_hosts, os.environ)
        with connect(configuration) as connection:
            setups = [_prepare_install(program, scope, agent, home, configuration, connection) for program in programs]
            if not dry_run:
                _register_agents(setups, connection)
        _apply(setups, setup_changes.plan_install if dry_run else None, setup_changes.install_all)
        _print(setups, is_install=True, is_plan=dry_run, json=json)
        if not setups:
            output.talk(f"no agent program is found here: {', '.join(TITLES[host] for host in wanted_hosts)}")
        elif not json:
            _print_notes(setups)
        if setups and not dry_run and (test or (not no_test and _ask_for_test(json=json))):
            proofs = _prove(setups, configuration, (timeout or _PROOF_TIME) / SECOND, json=json)
    if json:
        output.document(
            {
                "home": str(configuration.home),
                "programs": [_build_document(item) for item in setups],
                "proofs": [_build_proof(proof) for proof in proofs],
            }
        )
    if not (setups or uninstall) or not all(proof.is_proved for proof in proofs):
        raise Exit(1)
    if any(change.problem is not None for item in setups for change in item.changes):
        raise Exit(1)


def _prepare_install(
    program: AgentProgram,
    scope: str,
    name: str | None,
    home: str | None,
    configuration: Configuration,
    connection: CommandConnection,
) -> _ProgramSetup:
    host = program.host
    hooks_file = hook_entries.locate_settings(host, scope, environ=os.environ, project=get_folder())
    form, build_entries = hook_entries.get_form(host), hook_commands.prepare_entries(host)
    written_name = host_entries.find_written_agent(hooks_file, form, build_entries, label="--agent")
    current_name = find_current_agent(configuration)
    agent_name, is_new = _find_agent(name or written_name or current_name or host, connection)
    # A name that is set for this home is not written: in another home it may be another.
    entry_name = None if not (name or written_name) and current_name else agent_name
    entry_home = home or host_entries.find_written_home(hooks_file, form, build_entries)
    parts = [OwnEntries(kind="hooks", file=hooks_file, form=form, entries=build_entries(entry_name, entry_home))]
    notes = [hook_commands.get_trust_note(host, scope)]
    if find_spec("mcp") is not None:
        file = mcp_entries.locate_settings(host, scope, environ=os.environ, project=get_folder())
        entries = mcp_commands.prepare_entries(host)(entry_name, entry_home)
        parts.append(OwnEntries(kind="mcp", file=file, form=McpFormat(host), entries=entries))
        notes.append(mcp_commands.NOTES.get((host, scope)))
    return _ProgramSetup(program, agent_name, is_new, parts, notes=[note for note in notes if note])


def _find_agent(name: str, connection: CommandConnection) -> tuple[str, bool]:
    """Return the name of an agent, and whether there is none of that name yet."""
    from gatepost.directory.entity_api import ShowEntity

    try:
        entity = connection.send(ShowEntity(name=name))
    except (UnknownAddress, NoStore):
        return name, True
    if entity.kind is not EntityKind.AGENT:
        raise Refused(f"{entity.name!r} is {entity.kind.phrase}, not an agent", hint="name an agent with --agent")
    return entity.name, False


def _register_agents(setups: Sequence[_ProgramSetup], connection: CommandConnection) -> None:
    from gatepost.residents.agent_api import RegisterAgent

    for name in dict.fromkeys(item.agent for item in setups if item.is_new_agent and item.agent):
        connection.send(RegisterAgent(name=name))


def _prepare_uninstall(hosts: Sequence[str], scope: str) -> Iterator[_ProgramSetup]:
    """Yield the programs whose settings files have entries of ours, also those that are not installed any more."""
    for host in hosts:
        parts = [
            OwnEntries(kind=kind, file=file, form=form, entries={})
            for kind, file, form in (
                (
                    "hooks",
                    hook_entries.locate_settings(host, scope, environ=os.environ, project=get_folder()),
                    hook_entries.get_form(host),
                ),
                (
                    "mcp",
                    mcp_entries.locate_settings(host, scope, environ=os.environ, project=get_folder()),
                    McpFormat(host),
                ),
            )
        ]
        if any(part.form.list_entries(installation.read_document(part.file)) for part in parts):
            title = TITLES[host]
            program = AgentProgram(host=host, title=title, path=None, version=None, terminals=None)
            yield _ProgramSetup(program, None, False, parts)


def _apply(
    setups: Sequence[_ProgramSetup],
    plan: Callable[[OwnEntries], SettingsChange] | None,
    change_all: Callable[[Sequence[OwnEntries]], list[SettingsChange]],
) -> None:
    for item in setups:
        item.changes = change_all(item.parts) if plan is None else [plan(part) for part in item.parts]


def _print(setups: Sequence[_ProgramSetup], *, is_install: bool, is_plan: bool, json: bool) -> None:
    if json:
        return
    if not setups:
        if not is_install:
            output.talk("the settings files have no entries of Gatepost")
        return
    output.table(
        ["PROGRAM", "VERSION", "AGENT", "ENTRIES", "CHANGE", "FILE"],
        [
            [
                item.program.title,
                item.program.version or "",
                f"{item.agent} (new)" if item.is_new_agent else item.agent or "",
                {"hooks": "hooks", "mcp": "MCP server"}[change.kind],
                change.action.value if is_plan else _DONE[change.action],
                str(change.file),
            ]
            for item in setups
            for change in item.changes
        ],
    )
    for problem in (change.problem for item in setups for change in item.changes):
        if problem is not None:
            output.fail(problem.message, problem.hint)
    if is_plan:
        output.talk("nothing was changed")


def _print_notes(setups: Sequence[_ProgramSetup]) -> None:
    """Say what is left to do for a person."""
    if find_spec("mcp") is None:
        output.talk(_MCP_HINT)
    for note in dict.fromkeys(note for item in setups for note in item.notes):
        output.talk(note)
    for item in setups:
        if item.program.terminals and any(
            change.action in (SettingsAction.ADD, SettingsAction.UPDATE) for change in item.changes
        ):
            count = output.count(len(item.program.terminals), "terminal")
            output.talk(f"{item.program.title} runs in {count}, and reads its settings when it starts: start it again")


def _ask_for_test(*, json: bool) -> bool:
    """Return whether the person at the terminal allows a test; without a terminal nobody can."""
    if json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    return click.confirm("Push one test item to each agent, which makes its model answer once?", err=True)


def _prove(
    setups: Sequence[_ProgramSetup], configuration: Configuration, timeout: float, *, json: bool
) -> list[WakeTest]:
    """Test the agents whose programs can be woken, and show what happens."""
    by_agent: dict[str, list[AgentProgram]] = {}
    for item in setups:
        if item.agent is not None and item.program.host in _START_HINTS:
            by_agent.setdefault(item.agent, []).append(item.program)
    proofs = [
        WakeTest(
            hosts=tuple(program.host for program in programs),
            title=", ".join(program.title for program in programs),
            agent=agent,
        )
        for agent, programs in by_agent.items()
    ]
    for proof in proofs:
        hint = "; or ".join(_START_HINTS[host] for host in proof.hosts)
        output.talk(f"{proof.title}: waiting for a session of {proof.agent!r} that can be woken: {hint}")
    with connect(configuration) as connection:
        if connection.store is not None and any("codex" in proof.hosts for proof in proofs):
            output.talk("Codex is woken by a gateway, and none runs in this home: start one with `gatepost up`")

        def report(proof: WakeTest) -> None:
            output.talk(proof.describe())

        prove(connection, proofs, timeout=timeout, report=report)
    if not json:
        for proof in proofs:
            output.line_out(proof.describe())
    return proofs


def _build_proof(proof: WakeTest) -> dict[str, Any]:
    return {
        "agent": proof.agent,
        "hosts": list(proof.hosts),
        "session": proof.session,
        "eventId": proof.event_id,
        "steps": {name: round(seconds, 3) for name, seconds in proof.steps.items()},
        "proved": proof.is_proved,
    }


def _build_document(item: _ProgramSetup) -> dict[str, Any]:
    program = item.program
    return {
        "host": program.host,
        "name": program.title,
        "path": program.path,
        "version": program.version,
        "terminals": None if program.terminals is None else list(program.terminals),
        "agent": item.agent,
        "newAgent": item.is_new_agent,
        "changes": [
            {
                "entries": change.kind,
                "file": str(change.file),
                "change": change.action.value,
                "backup": str(change.backup) if change.backup else None,
                "problem": change.problem and change.problem.message_with_hint,
            }
            for change in item.changes
        ],
        "notes": list(item.notes),
    }


commands = [build_verb("setup", setup, "Set up the agent programs on this machine.")]
