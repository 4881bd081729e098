"""
Install, uninstall and inspect our entries in the settings files of hosts.

A file is never half written: the new content is written beside it, flushed to disk, and replaces it at once, with its
mode, also at the target of a symbolic link. The old content is kept beside it as

    settings.json.gatepost-<digest>.bak     (.new, and empty, if there was no file)

where the digest is that of the content that we wrote. So an uninstall needs no other record: if the file still has that
digest, nobody has changed it since, and the old content is restored, byte for byte. Else only our entries are removed,
with the containers that this leaves empty, unless those were there before. Only the backup of the last install is kept,
and none after an uninstall. A file that cannot be read is refused and not changed, and so is a file that the host
itself would ignore: Claude Code and Codex read strict JSON, and skip a whole file because of one comment.
"""

import hashlib
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatepost.errors import GatepostError, Invalid, Malformed, Unavailable
from gatepost.hooks import host_settings, jsonc, toml
from gatepost.hooks.wire import HOSTS
from gatepost.paths import AtomicFile

SCOPES: Final = ("user", "project", "local")
#: the folder of each host, its settings file, and the variable that names another folder instead
_SETTINGS_FILES: Final = {
    "claude": (".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
    "codex": (".codex", "hooks.json", "CODEX_HOME"),
    "gemini": (".gemini", "settings.json", None),
    "cursor": (".cursor", "hooks.json", None),
}
#: the hosts that read only strict JSON, and their names
_STRICT_JSON_HOSTS: Final = {"claude": "Claude Code", "codex": "Codex"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """The result of an install or an uninstall."""

    file: Path
    is_changed: bool
    #: the file with the old content
    backup: Path | None = None
    #: uninstall: the file is as it was before, byte for byte, or gone if there was none
    is_restored: bool = False
    #: uninstall: the file is gone
    is_removed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallState:
    """The state of our entries in a file."""

    file: Path
    #: missing, none, installed, outdated, ignored or disabled (by the host), unreadable
    state: str
    events: tuple[str, ...] = ()
    #: the agents that our entries name
    agents: tuple[str, ...] = ()
    #: why it cannot be read, or how our entries differ from those of a new install
    why: str | None = None


def locate_settings(host: str, scope: str, *, environ: Mapping[str, str], project: Path) -> Path:
    """Return the path of a host's settings file: the user's, or that of the project in a folder."""
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    if scope not in SCOPES:
        raise Invalid(f"{scope!r} is not a scope", hint=f"use one of {', '.join(SCOPES)}")
    if scope == "local" and host != "claude":
        raise Invalid(f"{host} has no local settings", hint="use --scope user or --scope project")
    folder, name, variable = _SETTINGS_FILES[host]
    if scope == "user":
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
    with suppress(OSError, Malformed, UnicodeDecodeError):
        document = toml.parse(file.read_text(encoding="utf-8"))
        hooks = document.get("hooks")
        has_other_hooks = isinstance(hooks, dict) and any(isinstance(groups, list) for groups in hooks.values())
        if host_settings.list_our_entries(document, "codex") or (
            has_other_hooks and not (folder / "hooks.json").exists()
        ):
            return file
    return None


def install(file: Path, host: str, hook_entries: Mapping[str, dict[str, Any]]) -> FileChange:
    """Write our entries, in place of older ones; do nothing if they are up to date."""
    with _name_file_in_errors(file):
        text = _read_text(file)
        old_entries = host_settings.list_our_entries(_parse_file(file, text), host) if text is not None else []
        if text is not None and (reason := _find_ignored(file, text, host)):
            raise Invalid(reason, hint="make it plain JSON, or name another file with --scope or --file")
        if text is not None and _has_same_entries(old_entries, hook_entries):
            return FileChange(file=file, is_changed=False)
        original = _compute_original(file, text, host)
        new_text = _add_entries(file, original or "", host, hook_entries)
        bak_path, new_path = (_get_backup_path(file, new_text, suffix) for suffix in (".bak", ".new"))
        backup, stale = (new_path, bak_path) if original is None else (bak_path, new_path)
        _write_atomically(backup, original or "", mode_source=_resolve_links(file))
        stale.unlink(missing_ok=True)  # before the file is written, because it has the same digest
        _write_atomically(_resolve_links(file), new_text)
        _delete_backups(file, keep=backup)
    return FileChange(file=file, is_changed=True, backup=backup if original is not None else None)


def uninstall(file: Path, host: str) -> FileChange:
    """Remove our entries; restore the old content if nobody has changed the file since the install."""
    with _name_file_in_errors(file):
        text = _read_text(file)
        if text is None:
            return FileChange(file=file, is_changed=False)
        original, backup = _compute_original(file, text, host), _find_backup(file, text)
        if original is None:
            _resolve_links(file).unlink()
        elif original != text:
            _write_atomically(_resolve_links(file), original)
        _delete_backups(file)
    return FileChange(
        file=file, is_changed=original != text, is_restored=backup is not None, is_removed=original is None
    )


def inspect_file(
    file: Path, host: str, build_entries: Callable[[str | None], Mapping[str, dict[str, Any]]]
) -> InstallState:
    """Return the state of a file; never raise. `build_entries` returns what an install would write for an agent."""
    try:
        with _name_file_in_errors(file):
            text = _read_text(file)
            document = {} if text is None else _parse_file(file, text)
    except GatepostError as error:
        return InstallState(file=file, state="unreadable", why=error.message)
    our_entries = host_settings.list_our_entries(document, host)
    if text is None or not our_entries:
        return InstallState(file=file, state="missing" if text is None else "none")
    commands = host_settings.list_commands(document, host)
    agents = tuple(sorted({entry_command.agent for entry_command in commands if entry_command.agent is not None}))
    state, why = "outdated", None
    missing_programs = [
        program for program in sorted({command.program for command in commands}) if shutil.which(program) is None
    ]
    if ignored_reason := _find_ignored(file, text, host):
        state, why = "ignored", ignored_reason
    elif missing_programs:
        why = f"there is no program {missing_programs[0]!r}"
    elif len(agents) > 1:
        why = f"they name several agents: {', '.join(map(repr, agents))}"
    elif not _has_same_entries(our_entries, build_entries(agents[0] if agents else None)):
        why = "they are not as `hooks install` would write them"
    else:
        state = "installed"
    return InstallState(
        file=file, state=state, events=tuple(dict.fromkeys(event for event, _ in our_entries)), agents=agents, why=why
    )


def read_disable_switch(file: Path) -> bool | None:
    """Return the value of `disableAllHooks` in a settings file of Claude Code; None if it has none."""
    with suppress(OSError, GatepostError, UnicodeDecodeError):
        document = _parse_file(file, _read_text(file) or "{}")
        switch = document.get("disableAllHooks") if isinstance(document, dict) else None
        return switch if isinstance(switch, bool) else None
    return None


def _compute_original(file: Path, text: str | None, host: str) -> str | None:
    """Return the content of the file without our entries; None if the file would not exist."""
    if text is None:
        return None
    backup = _find_backup(file, text)
    if backup is not None:
        return None if backup.suffix == ".new" else _read_text(backup)
    document = _parse_file(file, text)
    stripped_text = (
        toml.strip_from_toml(text)
        if _is_toml(file)
        else host_settings.strip_from_json(text, host, _read_original_document(file))
    )
    if host_settings.remove_our_entries(_parse_file(file, stripped_text), host) != host_settings.remove_our_entries(
        document, host
    ):
        raise Invalid("our entries cannot be taken out of it without changing others", hint="take them out by hand")
    return stripped_text


def _add_entries(file: Path, original: str, host: str, hook_entries: Mapping[str, dict[str, Any]]) -> str:
    """Return the content with our entries, parsed again to be sure that nothing else has changed."""
    new_text = (
        toml.add_to_toml(original, hook_entries)
        if _is_toml(file)
        else host_settings.add_to_json(original, host, hook_entries)
    )
    document = _parse_file(file, new_text)
    original_document = _parse_file(file, original) or host_settings.build_head(host)
    is_rest_unchanged = host_settings.remove_our_entries(document, host) == host_settings.remove_our_entries(
        original_document, host
    )
    if not is_rest_unchanged or not _has_same_entries(host_settings.list_our_entries(document, host), hook_entries):
        raise Invalid("our entries cannot be put into it without changing others", hint="put them in by hand")
    return new_text


def _has_same_entries(
    our_entries: list[tuple[str, dict[str, Any]]], hook_entries: Mapping[str, dict[str, Any]]
) -> bool:
    return len(our_entries) == len(hook_entries) and all(
        hook_entries.get(event) == group for event, group in our_entries
    )


def _find_ignored(file: Path, text: str, host: str) -> str | None:
    """Return why the host would ignore the file, or None."""
    if host not in _STRICT_JSON_HOSTS or _is_toml(file):
        return None
    extension = (
        (0, "a byte order mark") if host == "codex" and text.startswith(jsonc.BOM) else jsonc.find_extension(text)
    )
    return extension and f"{_STRICT_JSON_HOSTS[host]} ignores a file with {extension[1]} " + jsonc.describe_position(
        text, extension[0]
    )


def _parse_file(file: Path, text: str) -> Any:
    if _is_toml(file):
        return toml.parse(text)
    root = jsonc.parse(text)
    return None if root is None else root.value


def _is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def _find_backup(file: Path, text: str) -> Path | None:
    """Return the backup that belongs to this content, or None."""
    candidates = (_get_backup_path(file, text, suffix) for suffix in (".bak", ".new"))
    return next((path for path in candidates if path.exists()), None)


def _read_original_document(file: Path) -> dict[str, Any] | None:
    """Return the parsed file as it was before the last install; None if that is not known."""
    backups = sorted(_list_backups(file), key=lambda path: path.stat().st_mtime_ns)
    with suppress(Malformed):
        document = (_parse_file(file, _read_text(backups[-1]) or "") or {}) if backups else None
        return document if isinstance(document, dict) else None
    return None


def _delete_backups(file: Path, keep: Path | None = None) -> None:
    for path in _list_backups(file):
        if path != keep:
            path.unlink(missing_ok=True)


def _list_backups(file: Path) -> list[Path]:
    real = _resolve_links(file)
    pattern = re.compile(re.escape(real.name) + r"\.gatepost-[0-9a-f]{16}\.(bak|new)")
    return [path for path in real.parent.iterdir() if pattern.fullmatch(path.name)]


def _get_backup_path(file: Path, text: str, suffix: str) -> Path:
    real = _resolve_links(file)
    return real.with_name(f"{real.name}.gatepost-{hashlib.sha256(text.encode()).hexdigest()[:16]}{suffix}")


def _resolve_links(file: Path) -> Path:
    """Return the target of all symbolic links."""
    return Path(os.path.realpath(file))


def _read_text(file: Path) -> str | None:
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        prefix = raw[: error.start]
        line, column = prefix.count(b"\n") + 1, error.start - prefix.rfind(b"\n")
        raise Malformed(f"it is not UTF-8 (line {line}, column {column})") from None


def _write_atomically(file: Path, text: str, *, mode_source: Path | None = None) -> None:
    """Replace a file at once, with the mode and the owner of the old one, or of `mode_source`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with AtomicFile(str(file), mode=0o666, is_durable=True) as stream:
        with suppress(FileNotFoundError):
            old_stat = (mode_source or file).stat()
            os.fchmod(stream.fileno(), stat.S_IMODE(old_stat.st_mode))
            with suppress(PermissionError):
                os.fchown(stream.fileno(), old_stat.st_uid, old_stat.st_gid)
        stream.write(text.encode())


@contextmanager
def _name_file_in_errors(file: Path) -> Iterator[None]:
    """Turn errors into ones that name the file, which is not changed."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{str(file)!r}: {error.strerror}") from None
    except Invalid as error:
        raise Invalid(
            f"{str(file)!r} is left as it is: {error.message}", hint=error.hint or "mend it, and try again"
        ) from None
