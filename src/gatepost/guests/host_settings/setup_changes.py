"""
What `gatepost setup` changes in the settings files of agent programs: our hooks, and our MCP server.

A settings file may have entries of both kinds. They are installed like a stack: the backup of the one that came last
belongs to the file as it is. So what is to be restored byte for byte is removed from the top, and an entry that has
another above it is replaced after that one was taken off.
"""

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gatepost.errors import GatepostError
from gatepost.guests.host_settings import installation
from gatepost.guests.host_settings.entry_format import Entries, EntryFormat


class SettingsAction(enum.StrEnum):
    """What is done to our entries in a file."""

    ADD = "add"
    UPDATE = "update"
    NOTHING = "nothing"
    #: the file cannot be changed; `problem` says why
    REFUSE = "refuse"
    REMOVE = "remove"
    #: the file is as it was before the install, byte for byte
    RESTORE = "restore"


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnEntries:
    """Our entries of one kind in the settings file of one program."""

    #: `hooks` or `mcp`
    kind: str
    file: Path
    form: EntryFormat
    entries: Entries


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChange:
    """What was done, or would be done, to a file."""

    kind: str
    file: Path
    action: SettingsAction
    backup: Path | None = None
    problem: GatepostError | None = None


def plan_install(own: OwnEntries) -> SettingsChange:
    """Return what an install would do. It writes nothing."""
    change = SettingsChange(kind=own.kind, file=own.file, action=SettingsAction.NOTHING)
    try:
        if installation.will_change(own.file, own.form, own.entries):
            has_entries = bool(own.form.list_entries(installation.read_document(own.file)))
            change = replace(change, action=SettingsAction.UPDATE if has_entries else SettingsAction.ADD)
    except GatepostError as error:
        change = replace(change, action=SettingsAction.REFUSE, problem=error)
    return change


def install_all(parts: Sequence[OwnEntries]) -> list[SettingsChange]:
    """Install the entries of one program, and return what was done; a file that is refused is not changed."""
    plans = {part.kind: plan_install(part) for part in parts}
    for part in parts:
        if plans[part.kind].action is SettingsAction.UPDATE:
            for other in parts:
                if other is not part and other.file == part.file and installation.can_restore(other.file, other.form):
                    installation.uninstall(other.file, other.form)
    return [_install(part, plans[part.kind]) for part in parts]


def _install(own: OwnEntries, plan: SettingsChange) -> SettingsChange:
    if plan.action is SettingsAction.REFUSE:
        return plan
    try:
        change = installation.install(own.file, own.form, own.entries)
    except GatepostError as error:
        return replace(plan, action=SettingsAction.REFUSE, problem=error)
    return replace(plan, backup=change.backup)


def plan_uninstall(own: OwnEntries) -> SettingsChange:
    """Return what an uninstall would do. It writes nothing."""
    has_entries = bool(own.form.list_entries(installation.read_document(own.file)))
    action = SettingsAction.REMOVE if has_entries else SettingsAction.NOTHING
    return SettingsChange(kind=own.kind, file=own.file, action=action)


def uninstall_all(parts: Iterable[OwnEntries]) -> list[SettingsChange]:
    """Remove the entries of one program, the last that came first; return what was done."""
    remaining, changes = list(parts), []
    while remaining:
        part = next((part for part in remaining if installation.can_restore(part.file, part.form)), remaining[0])
        remaining.remove(part)
        changes.append(_uninstall(part))
    return changes


def _uninstall(own: OwnEntries) -> SettingsChange:
    plan = SettingsChange(kind=own.kind, file=own.file, action=SettingsAction.NOTHING)
    try:
        change = installation.uninstall(own.file, own.form)
    except GatepostError as error:
        return replace(plan, action=SettingsAction.REFUSE, problem=error)
    if not change.is_changed:
        return plan
    return replace(plan, action=SettingsAction.RESTORE if change.is_restored else SettingsAction.REMOVE)
