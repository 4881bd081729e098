"""What `gatepost hooks` and `gatepost mcp` share: our entries in the settings files of other programs."""

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from click.exceptions import Exit

from gatepost.cli import output
from gatepost.cli.gateway_or_store import get_folder
from gatepost.cli.parameters import option
from gatepost.core.escaping import escape_invisible
from gatepost.errors import Invalid, Unavailable
from gatepost.guests.hooks.hook_context import locate_program
from gatepost.guests.host_settings import installation
from gatepost.guests.host_settings.entry_format import BuildEntries, EntryFormat

#: paths in environments that were made for one command, by `uvx`, `uv run --with` or `pipx run`
_TEMPORARY_PATH: Final = re.compile(r"/(archive|environments|builds)-v\d+/|/(\.cache|Caches)/pipx/|/pipx/\.cache/")
#: where `uv tool` and pipx put commands, unless they are told otherwise
_USER_COMMANDS: Final = "~/.local/bin"

File = Annotated[str | None, option("--file", "PATH", "another settings file")]


class HostFile(NamedTuple):
    """A settings file of a host, and the state of our entries in it."""

    host: str
    #: None for a file that the user names
    scope: str | None
    state: installation.InstallState
    #: what a person has to do before the host uses our entries
    note: str | None


def find_program() -> str:
    """Return the whole path of an installed command `gatepost`; one in the cache of uv or pipx may vanish."""
    program = locate_program()
    if program is None:
        raise Unavailable("the command `gatepost` is not installed here", hint="pip install gatepost")
    path = str(get_folder() / program)
    if not _TEMPORARY_PATH.search(path):
        return path
    folders = [*os.environ.get("PATH", "").split(os.pathsep), str(Path(_USER_COMMANDS).expanduser())]
    for folder in folders:
        command = shutil.which("gatepost", path=folder)
        if command is not None and not _TEMPORARY_PATH.search(str(Path(command).resolve())):
            return str(get_folder() / command)
    raise Unavailable(
        f"{path!r} is in a cache, and may be removed at any time",
        hint="run `uv tool install gatepost` or `pipx install gatepost`, and then this command without uvx",
    )


def resolve_file(file: str, host: str) -> Path:
    """Return the path of the settings file that the user names."""
    path = get_folder() / Path(file).expanduser()
    if installation.is_toml(path) and host != "codex":
        raise Invalid(f"{file!r} is TOML, and {host} reads JSON", hint="give --host codex, or name another file")
    return path


def find_written_agent(file: Path, form: EntryFormat, build_entries: BuildEntries, *, label: str) -> str | None:
    """Return the agent that our present entries in a file name; `label` is the option that names another."""
    agents = installation.inspect_file(file, form, build_entries).agents
    if len(agents) > 1:
        raise Invalid(
            f"the entries of Gatepost in {str(file)!r} name several agents: {', '.join(map(repr, agents))}",
            hint=f"give {label} NAME",
        )
    return agents[0] if agents else None


def find_written_home(file: Path, form: EntryFormat, build_entries: BuildEntries) -> str | None:
    """Return the home that our present entries in a file name."""
    homes = installation.inspect_file(file, form, build_entries).homes
    return homes[0] if len(homes) == 1 else None


def print_install(
    host: str, change: installation.FileChange, *, agent: str | None, note: str | None, json: bool
) -> None:
    if json:
        output.document(
            {
                "host": host,
                "file": str(change.file),
                "agent": agent,
                "changed": change.is_changed,
                "backup": str(change.backup) if change.backup else None,
                "note": note,
            }
        )
        return
    output.line_out(escape_invisible(str(change.file)))
    if not change.is_changed:
        output.talk("the entries of Gatepost are installed already")
    else:
        output.talk(f"the backup is {change.backup.name}" if change.backup else "created the file")
    if note:
        output.talk(note)


def print_uninstall(host: str, change: installation.FileChange, *, json: bool) -> None:
    if json:
        output.document(
            {"host": host, "file": str(change.file), "changed": change.is_changed, "restored": change.is_restored}
        )
        return
    output.line_out(escape_invisible(str(change.file)))
    if change.is_removed:
        output.talk("removed the file, which had only entries of Gatepost")
    elif change.is_restored:
        output.talk("restored the backup")
    else:
        has_file = change.is_changed or change.file.exists()
        unchanged = "the file has no entries of Gatepost" if has_file else "there is no such file: nothing to remove"
        output.talk("removed the entries of Gatepost" if change.is_changed else unchanged)


def print_status(
    files: Sequence[HostFile], list_facts: Callable[[installation.InstallState], Mapping[str, Any]], *, json: bool
) -> None:
    """
    Print the state of our entries in each file, and exit with 1 if they are installed nowhere. `list_facts` returns
    what the JSON has beside that.
    """
    if json:
        output.document(
            [
                {
                    "host": host,
                    "scope": scope,
                    "file": str(state.file),
                    "state": state.state,
                    **list_facts(state),
                    "why": state.why,
                    "note": note,
                }
                for host, scope, state, note in files
            ]
        )
    else:
        _print_table(files)
    if not any(file.state.state == "installed" for file in files):
        raise Exit(1)


def _print_table(files: Sequence[HostFile]) -> None:
    """Print a table of the files; then why our entries in them do not count, and what is left to do."""
    labels = {"missing": "no file", "none": "not installed"}
    output.table(
        ["HOST", "SCOPE", "STATE", "AGENT", "FILE"],
        [
            [host, scope or "", labels.get(state.state, state.state), ", ".join(state.agents), str(state.file)]
            for host, scope, state, _ in files
        ],
    )
    for file in files:
        if file.state.why:
            output.talk(f"{file.state.file}: {file.state.why}")
    for note in dict.fromkeys(file.note for file in files if file.note):
        output.talk(note)
