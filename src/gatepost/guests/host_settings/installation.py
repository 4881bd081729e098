"""
Install, uninstall and inspect our entries in the settings files of hosts.

A file is never half written: the new content is written beside it, flushed to disk, and replaces it at once, with its
mode, also at the target of a symbolic link. The old content is kept beside it as

    settings.json.gatepost-<digest>.bak     (.new, and empty, if there was no file)

where the digest is that of the content that we wrote. So an uninstall needs no other record: if the file still has that
digest, nobody has changed it since, and the old content is restored, byte for byte. Else only our entries are removed,
with the containers that this leaves empty, unless those were there before. Only the backup of the last install is kept,
and none after an uninstall. A file that cannot be read is refused and not changed, and so is a file that the host
itself would ignore: some read strict JSON, and skip a whole file because of one comment.

Our entries are of two kinds (`hook_entries.py`, `mcp_entries.py`). One file may have both, so each kind has backups of
its own, and to each the entries of the other are like those of a stranger.
"""

import errno
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from gatepost.errors import GatepostError, Invalid, Malformed, Unavailable
from gatepost.guests.host_settings import jsonc_editing, opencode_plugin, toml_editing
from gatepost.guests.host_settings.entry_format import BuildEntries, Entries, EntryFormat
from gatepost.paths import AtomicFile

#: the hosts that read only strict JSON, and their names
_STRICT_JSON_HOSTS: Final = {"claude": "Claude Code", "claude-desktop": "Claude Desktop", "codex": "Codex"}


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
    #: the events, or the servers, of our entries
    names: tuple[str, ...] = ()
    #: the agents and the homes that our entries name
    agents: tuple[str, ...] = ()
    homes: tuple[str, ...] = ()
    #: why it cannot be read, or how our entries differ from those of a new install
    why: str | None = None


class _NewText(NamedTuple):
    """What an install writes, and what the file has without our entries; None if there would be no file."""

    text: str
    original: str | None


def install(file: Path, form: EntryFormat, entries: Entries) -> FileChange:
    """Write our entries, in place of older ones; do nothing if they are up to date."""
    with _name_file_in_errors(file):
        prepared = _prepare_text(file, form, entries)
        if prepared is None:
            return FileChange(file=file, is_changed=False)
        new_text, original = prepared
        bak_path, new_path = (_get_backup_path(file, form, new_text, suffix) for suffix in (".bak", ".new"))
        backup, stale = (new_path, bak_path) if original is None else (bak_path, new_path)
        _write_atomically(backup, original or "", mode_source=_resolve_links(file))
        stale.unlink(missing_ok=True)  # before the file is written, because it has the same digest
        _write_atomically(_resolve_links(file), new_text)
        _delete_backups(file, form, keep=backup)
    return FileChange(file=file, is_changed=True, backup=backup if original is not None else None)


def will_change(file: Path, form: EntryFormat, entries: Entries) -> bool:
    """Return True if an install would write the file; raise what an install would raise. It writes nothing."""
    with _name_file_in_errors(file):
        return _prepare_text(file, form, entries) is not None


def _prepare_text(file: Path, form: EntryFormat, entries: Entries) -> _NewText | None:
    """Return what an install writes; None if our entries are up to date."""
    text = _read_text(file)
    document = None if text is None else _parse_file(file, text)
    if text is not None and (reason := _find_ignored(file, text, form.host)):
        raise Invalid(reason, hint="make it plain JSON, or name another file with --scope or --file")
    if text is not None and _has_same_entries(form.list_entries(document), entries):
        return None
    _check_writable(file)
    original = _compute_original(file, text, form)
    return _NewText(_add_entries(file, original or "", form, entries, form.keep_options(document, entries)), original)


def can_restore(file: Path, form: EntryFormat) -> bool:
    """Return True if nobody has changed the file since our entries of this kind were installed."""
    with suppress(OSError, GatepostError):
        text = _read_text(file)
        return text is not None and _find_backup(file, form, text) is not None
    return False


def uninstall(file: Path, form: EntryFormat) -> FileChange:
    """Remove our entries; restore the old content if nobody has changed the file since the install."""
    with _name_file_in_errors(file):
        text = _read_text(file)
        if text is None:
            return FileChange(file=file, is_changed=False)
        original, backup = _compute_original(file, text, form), _find_backup(file, form, text)
        if original != text:
            _check_writable(file)
        if original is None:
            _resolve_links(file).unlink()
        elif original != text:
            _write_atomically(_resolve_links(file), original)
        _delete_backups(file, form)
    return FileChange(
        file=file, is_changed=original != text, is_restored=backup is not None, is_removed=original is None
    )


def inspect_file(file: Path, form: EntryFormat, build_entries: BuildEntries) -> InstallState:
    """Return the state of a file; never raise."""
    try:
        text = _read_text(file)
        document = {} if text is None else _parse_file(file, text)
    except (OSError, Invalid) as error:
        why = error.message if isinstance(error, Invalid) else error.strerror
        return InstallState(file=file, state="unreadable", why=why)
    our_entries = form.list_entries(document)
    if text is None or not our_entries:
        return InstallState(file=file, state="missing" if text is None else "none")
    commands = form.list_commands(document)
    agents = tuple(sorted({command.agent for command in commands if command.agent is not None}))
    homes = tuple(sorted({command.home for command in commands if command.home is not None}))
    state, why = "outdated", None
    missing_programs = [
        program for program in sorted({command.program for command in commands}) if shutil.which(program) is None
    ]
    if ignored_reason := _find_ignored(file, text, form.host):
        state, why = "ignored", ignored_reason
    elif missing_programs:
        why = f"there is no program {missing_programs[0]!r}"
    elif len(agents) > 1:
        why = f"they name several agents: {', '.join(map(repr, agents))}"
    elif not _has_same_entries(our_entries, build_entries(*(next(iter(names), None) for names in (agents, homes)))):
        why = f"they are not as `{form.install_command}` would write them"
    elif disabled_reason := form.explain_disabled(document):
        state, why = "disabled", disabled_reason
    else:
        state = "installed"
    names = tuple(dict.fromkeys(name for name, _ in our_entries))
    return InstallState(file=file, state=state, names=names, agents=agents, homes=homes, why=why)


def read_document(file: Path) -> Any:
    """Return the parsed content of a settings file; None if there is none, or if it cannot be read."""
    with suppress(OSError, GatepostError):
        text = _read_text(file)
        return None if text is None else _parse_file(file, text)
    return None


def is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def _compute_original(file: Path, text: str | None, form: EntryFormat) -> str | None:
    """Return the content of the file without our entries; None if the file would not exist."""
    if text is None:
        return None
    backup = _find_backup(file, form, text)
    if backup is not None:
        return None if backup.suffix == ".new" else _read_text(backup)
    document = _parse_file(file, text)
    stripped_text = (
        form.strip_from_toml(text) if is_toml(file) else form.strip_from_json(text, _read_original_document(file, form))
    )
    if form.remove_entries(_parse_file(file, stripped_text)) != form.remove_entries(document):
        raise Invalid(
            "the entries of Gatepost cannot be taken out of it without changing others", hint="take them out by hand"
        )
    return None if file.suffix == ".js" and not stripped_text else stripped_text


def _add_entries(file: Path, original: str, form: EntryFormat, entries: Entries, new_entries: Entries) -> str:
    """Return the content with the new entries, parsed again to be sure that nothing else has changed."""
    add = form.add_to_toml if is_toml(file) else form.add_to_json
    new_text = add(original, new_entries)
    document = _parse_file(file, new_text)
    original_document = _parse_file(file, original) or form.build_head()
    is_rest_unchanged = form.remove_entries(document) == form.remove_entries(original_document)
    if not is_rest_unchanged or not _has_same_entries(form.list_entries(document), entries):
        raise Invalid(
            "the entries of Gatepost cannot be put into it without changing others", hint="put them in by hand"
        )
    return new_text


def _has_same_entries(our_entries: list[tuple[str, dict[str, Any]]], entries: Entries) -> bool:
    return len(our_entries) == len(entries) and all(entries.get(name) == entry for name, entry in our_entries)


def _find_ignored(file: Path, text: str, host: str) -> str | None:
    """Return why the host would ignore the file, or None."""
    if host not in _STRICT_JSON_HOSTS or is_toml(file):
        return None
    extension = (
        (0, "a byte order mark")
        if host == "codex" and text.startswith(jsonc_editing.BOM)
        else jsonc_editing.find_extension(text)
    )
    return (
        extension
        and f"{_STRICT_JSON_HOSTS[host]} ignores a file with {extension[1]} "
        + jsonc_editing.describe_position(text, extension[0])
    )


def _parse_file(file: Path, text: str) -> Any:
    if is_toml(file):
        return toml_editing.parse(text)
    if file.suffix == ".js":
        return opencode_plugin.parse(text)
    root = jsonc_editing.parse(text)
    return None if root is None else root.value


def _find_backup(file: Path, form: EntryFormat, text: str) -> Path | None:
    """Return the backup that belongs to this content, or None."""
    candidates = (_get_backup_path(file, form, text, suffix) for suffix in (".bak", ".new"))
    return next((path for path in candidates if path.exists()), None)


def _read_original_document(file: Path, form: EntryFormat) -> dict[str, Any] | None:
    """Return the parsed file as it was before the last install; None if that is not known."""
    backups = sorted(_list_backups(file, form), key=lambda path: path.stat().st_mtime_ns)
    with suppress(Malformed):
        document = (_parse_file(file, _read_text(backups[-1]) or "") or {}) if backups else None
        return document if isinstance(document, dict) else None
    return None


def _delete_backups(file: Path, form: EntryFormat, keep: Path | None = None) -> None:
    for path in _list_backups(file, form):
        if path != keep:
            path.unlink(missing_ok=True)


def _list_backups(file: Path, form: EntryFormat) -> list[Path]:
    real = _resolve_links(file)
    pattern = re.compile(re.escape(f"{real.name}.{form.backup_infix}-") + r"[0-9a-f]{16}\.(bak|new)")
    return [path for path in real.parent.iterdir() if pattern.fullmatch(path.name)]


def _get_backup_path(file: Path, form: EntryFormat, text: str, suffix: str) -> Path:
    real, digest = _resolve_links(file), hashlib.sha256(text.encode()).hexdigest()[:16]
    return real.with_name(f"{real.name}.{form.backup_infix}-{digest}{suffix}")


def _resolve_links(file: Path) -> Path:
    """Return the target of all symbolic links."""
    return Path(os.path.realpath(file))


def _check_writable(file: Path) -> None:
    """Raise an error if a file is protected: to replace it, the right to write into its folder would be enough."""
    if file.exists() and not os.access(file, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected")


def _read_text(file: Path) -> str | None:
    try:
        if stat.S_ISFIFO(file.stat().st_mode):
            raise Invalid("it is a pipe", hint="name a file")
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
        raise Unavailable(f"{str(file)!r} was not changed: {error.strerror}") from None
    except Invalid as error:
        raise Invalid(
            f"{str(file)!r} was not changed: {error.message}",
            hint=error.hint or "correct the file, and run the command again",
        ) from None
