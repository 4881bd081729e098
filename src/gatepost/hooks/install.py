"""
Our entries in the settings files of hosts: put in, taken out, looked for.

A file is never half written: what it is to say is written beside it, flushed to disk, and takes its place at once, with
its mode, also at the other end of a symbolic link. What it was before is kept beside it as

    settings.json.gatepost-<digest>.bak     (.new, and empty, if there was no file)

where the digest is that of what we wrote. So taking out needs no other record: if the file still has that digest,
nobody changed it since, and what it was is put back, byte for byte; else our entries alone are taken out of it, and
what that leaves empty, unless it was there before. Only what the last install found is kept, and nothing after taking
out. What cannot be read is refused and left alone, and so is what the host itself would ignore: Claude Code and Codex
read strict JSON, and skip a whole file because of one comment.
"""

import hashlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatepost.errors import GatepostError, Invalid, Malformed, Unavailable
from gatepost.hooks import entries, jsonc, merge, toml
from gatepost.hooks.wire import HOSTS

SCOPES: Final = ("user", "project", "local")
#: the folder of each host, its settings file, and the variable that names another folder than the user's
_PLACES: Final = {
    "claude": (".claude", "settings.json", "CLAUDE_CONFIG_DIR"),
    "codex": (".codex", "hooks.json", "CODEX_HOME"),
    "gemini": (".gemini", "settings.json", None),
    "cursor": (".cursor", "hooks.json", None),
}
#: the hosts that read nothing but strict JSON
_STRICT: Final = {"claude": "Claude Code", "codex": "Codex"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What was done to a file."""

    file: Path
    changed: bool
    #: where what it was before is kept
    backup: Path | None = None
    #: after taking out: it is again what it was before, byte for byte; or gone, if it was made for us
    restored: bool = False
    gone: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """How a file stands."""

    file: Path
    #: missing, none, installed, outdated, ignored or disabled (by the host), unreadable
    state: str
    events: tuple[str, ...] = ()
    #: the agents that our entries name
    agents: tuple[str, ...] = ()
    #: why it cannot be read, or what of ours is not as it would be put in now
    why: str | None = None


def place(host: str, scope: str, *, environ: Mapping[str, str], here: Path) -> Path:
    """The settings file of a host: the user's, or that of the project in a folder."""
    if host not in HOSTS:
        raise Invalid(f"{host!r} is not a host known here", hint=f"use one of {', '.join(HOSTS)}")
    if scope not in SCOPES:
        raise Invalid(f"{scope!r} is not a scope", hint=f"use one of {', '.join(SCOPES)}")
    if scope == "local" and host != "claude":
        raise Invalid(f"{host} has no local settings", hint="use --scope user or --scope project")
    folder, name, variable = _PLACES[host]
    if scope == "user":
        own = environ.get(variable) if variable else None
        base = Path(own) if own else Path(environ.get("HOME") or Path.home()) / folder
    else:
        base = here / folder
    if scope == "local":
        return base / "settings.local.json"
    return _in_toml(base) or base / name if host == "codex" else base / name


def _in_toml(folder: Path) -> Path | None:
    """Codex reads two files and wants hooks in one of them: if there are some in config.toml already, ours go there."""
    file = folder / "config.toml"
    with suppress(OSError, Malformed, UnicodeDecodeError):
        document = toml.parse(file.read_text(encoding="utf-8"))
        hooks = document.get("hooks")
        theirs = isinstance(hooks, dict) and any(isinstance(groups, list) for groups in hooks.values())
        if entries.of(document, "codex") or (theirs and not (folder / "hooks.json").exists()):
            return file
    return None


def install(file: Path, host: str, wanted: Mapping[str, dict[str, Any]]) -> Change:
    """Put our entries in, in place of any that are there; nothing is done if they are as they should be."""
    with _named(file):
        text = _read(file)
        found = entries.of(_document(file, text), host) if text is not None else []
        if text is not None and (reason := _find_ignored(file, text, host)):
            raise Invalid(reason, hint="make it plain JSON, or name another file with --scope or --file")
        if text is not None and _same(found, wanted):
            return Change(file=file, changed=False)
        base = _before(file, text, host)
        added = _added(file, base or "", host, wanted)
        bak, new = (_backup(file, added, suffix) for suffix in (".bak", ".new"))
        backup, stale = (new, bak) if base is None else (bak, new)
        _write(backup, base or "", like=_real(file))
        stale.unlink(missing_ok=True)  # before the file is written, of which it would tell the same
        _write(_real(file), added)
        _forget(file, but=backup)
    return Change(file=file, changed=True, backup=backup if base is not None else None)


def uninstall(file: Path, host: str) -> Change:
    """Take our entries out: if nobody changed the file since they were put in, it is again what it was."""
    with _named(file):
        text = _read(file)
        if text is None:
            return Change(file=file, changed=False)
        before, kept = _before(file, text, host), _kept(file, text)
        if before is None:
            _real(file).unlink()
        elif before != text:
            _write(_real(file), before)
        _forget(file)
    return Change(file=file, changed=before != text, restored=kept is not None, gone=before is None)


def look(file: Path, host: str, wanted: Callable[[str | None], Mapping[str, dict[str, Any]]]) -> State:
    """Look how a file stands; nothing is raised. `wanted` is what would be put in, for an agent or for none."""
    try:
        with _named(file):
            text = _read(file)
            document = {} if text is None else _document(file, text)
    except GatepostError as error:
        return State(file=file, state="unreadable", why=error.message)
    found = entries.of(document, host)
    if text is None or not found:
        return State(file=file, state="missing" if text is None else "none")
    commands = entries.list_commands(document, host)
    agents = tuple(sorted({command.agent for command in commands if command.agent is not None}))
    state, why = "outdated", None
    gone = [program for program in sorted({each.program for each in commands}) if shutil.which(program) is None]
    if ignored := _find_ignored(file, text, host):
        state, why = "ignored", ignored
    elif gone:
        why = f"there is no program {gone[0]!r}"
    elif len(agents) > 1:
        why = f"they name several agents: {', '.join(map(repr, agents))}"
    elif not _same(found, wanted(agents[0] if agents else None)):
        why = "they are not as `hooks install` would write them"
    else:
        state = "installed"
    return State(
        file=file, state=state, events=tuple(dict.fromkeys(event for event, _ in found)), agents=agents, why=why
    )


def read_switch(file: Path) -> bool | None:
    """Return what a settings file of Claude Code says of `disableAllHooks`; None if it says nothing."""
    with suppress(OSError, GatepostError, UnicodeDecodeError):
        document = _document(file, _read(file) or "{}")
        switch = document.get("disableAllHooks") if isinstance(document, dict) else None
        return switch if isinstance(switch, bool) else None
    return None


def _before(file: Path, text: str | None, host: str) -> str | None:
    """What the file is without us; None if there would be none."""
    if text is None:
        return None
    kept = _kept(file, text)
    if kept is not None:
        return None if kept.suffix == ".new" else _read(kept)
    document = _document(file, text)
    left = toml.strip(text) if _is_toml(file) else merge.strip(text, host, _found(file))
    if entries.without(_document(file, left), host) != entries.without(document, host):
        raise Invalid("our entries cannot be taken out of it without changing others", hint="take them out by hand")
    return left


def _added(file: Path, base: str, host: str, wanted: Mapping[str, dict[str, Any]]) -> str:
    """The file with our entries: read again, to be sure that nothing else has changed."""
    added = toml.add(base, wanted) if _is_toml(file) else merge.add(base, host, wanted)
    document, before = _document(file, added), _document(file, base) or merge.head(host)
    same = entries.without(document, host) == entries.without(before, host)
    if not same or not _same(entries.of(document, host), wanted):
        raise Invalid("our entries cannot be put into it without changing others", hint="put them in by hand")
    return added


def _same(found: list[tuple[str, dict[str, Any]]], wanted: Mapping[str, dict[str, Any]]) -> bool:
    return len(found) == len(wanted) and all(wanted.get(event) == group for event, group in found)


def _find_ignored(file: Path, text: str, host: str) -> str | None:
    """Return why the host would ignore the file, or None."""
    if host not in _STRICT or _is_toml(file):
        return None
    found = (0, "a byte order mark") if host == "codex" and text.startswith(jsonc.BOM) else jsonc.find_extension(text)
    return found and f"{_STRICT[host]} ignores a file with {found[1]} {jsonc.describe_place(text, found[0])}"


def _document(file: Path, text: str) -> Any:
    if _is_toml(file):
        return toml.parse(text)
    root = jsonc.parse(text)
    return None if root is None else root.value


def _is_toml(file: Path) -> bool:
    return file.suffix == ".toml"


def _kept(file: Path, text: str) -> Path | None:
    """What the file was before we wrote this text into it."""
    both = (_backup(file, text, suffix) for suffix in (".bak", ".new"))
    return next((path for path in both if path.exists()), None)


def _found(file: Path) -> dict[str, Any] | None:
    """What the file said when we were put in; None if that is not known."""
    backups = sorted(_backups(file), key=lambda path: path.stat().st_mtime_ns)
    with suppress(Malformed):
        document = (_document(file, _read(backups[-1]) or "") or {}) if backups else None
        return document if isinstance(document, dict) else None
    return None


def _forget(file: Path, but: Path | None = None) -> None:
    for path in _backups(file):
        if path != but:
            path.unlink(missing_ok=True)


def _backups(file: Path) -> list[Path]:
    real = _real(file)
    ours = re.compile(re.escape(real.name) + r"\.gatepost-[0-9a-f]{16}\.(bak|new)")
    return [path for path in real.parent.iterdir() if ours.fullmatch(path.name)]


def _backup(file: Path, text: str, suffix: str) -> Path:
    real = _real(file)
    return real.with_name(f"{real.name}.gatepost-{hashlib.sha256(text.encode()).hexdigest()[:16]}{suffix}")


def _real(file: Path) -> Path:
    """The file itself, at the end of all symbolic links."""
    return Path(os.path.realpath(file))


def _read(file: Path) -> str | None:
    try:
        raw = file.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise Malformed(f"it is not UTF-8 (line {line}, column {column})") from None


def _write(file: Path, text: str, *, like: Path | None = None) -> None:
    """Put a text in the place of a file, all at once, with the mode and the owner of what it stands for."""
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        with open(descriptor, "wb") as stream:  # noqa: PTH123 (it is open already)
            with suppress(FileNotFoundError):
                old = (like or file).stat()
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
                with suppress(PermissionError):
                    os.fchown(descriptor, old.st_uid, old.st_gid)
            stream.write(text.encode())
            stream.flush()
            os.fsync(descriptor)
        aside.replace(file)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


@contextmanager
def _named(file: Path) -> Iterator[None]:
    """Whatever is wrong is said of this file, which is left as it is."""
    try:
        yield
    except OSError as error:
        raise Unavailable(f"{str(file)!r}: {error.strerror}") from None
    except Invalid as error:
        raise Invalid(
            f"{str(file)!r} is left as it is: {error.message}", hint=error.hint or "mend it, and try again"
        ) from None
