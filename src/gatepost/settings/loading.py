"""
Finding the home, and reading what is set: the environment is stronger than the settings file, and that than defaults.

An empty variable is an unset one. A relative path is relative to whoever names it: to the folder of the settings file,
to the working directory for a variable, to the home for a default.

Settings will name commands to run, so not everybody may set: a home that was only come across, or a settings file
beside a home, counts if it belongs to this user or to the system. A home that was named is trusted as it is.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from gatepost import paths
from gatepost.errors import Invalid, Unavailable
from gatepost.settings.declared import PREFIX, Settings, declared, variable
from gatepost.settings.forms import Form, masked

FILE: Final = "gatepost.toml"

#: variables that are no settings: where the home is, tracebacks, long tests
_NOT_SETTINGS: Final = {"HOME", "DEBUG", "NIGHTLY"}


@dataclass(frozen=True, slots=True)
class Value:
    value: Any
    #: `default`, the path of the settings file, or the name of a variable
    origin: str
    form: Form

    def __str__(self) -> str:
        return "" if self.value is None else self.form.show(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """All that is set here, and where it came from."""

    home: Path
    home_origin: str
    #: the settings file, if there is one
    file: Path | None
    settings: Settings
    #: the same settings by name (`inbox.remember`), each with its origin
    values: Mapping[str, Value]


def load(environ: Mapping[str, str] | None = None) -> Configuration:
    """Find the home and read everything that is set."""
    environ = os.environ if environ is None else environ
    home, home_origin = find_home(environ)
    file = find_file(home)
    written = _of_file(file) if file else {}
    given = _of_environment(environ)
    values: dict[str, Value] = {}
    for name, each in declared():
        form: Form = each.metadata["form"]
        if name in given:
            values[name] = _of_variable(form, given[name], variable(name))
        elif name in written and file:
            values[name] = _read(form, written[name], str(file), f"{name} in {str(file)!r}", file.parent)
        else:
            values[name] = Value(form.read(each.default, home) if form.relative else each.default, "default", form)
    settings = _built(Settings, "", values)
    return Configuration(home=home, home_origin=home_origin, file=file, settings=settings, values=values)


def anchored(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """The variables of a process that is in another folder, to be read here: paths in them are made absolute."""
    found = dict(environ)
    for name, each in declared():
        form: Form = each.metadata["form"]
        if form.relative and found.get(variable(name)) and os.path.isabs(folder):  # noqa: PTH117 (a string as it is)
            with suppress(Invalid):  # that is said by whoever reads it
                found[variable(name)] = form.read(found[variable(name)], Path(folder))
    return found


def find_home(environ: Mapping[str, str]) -> tuple[Path, str]:
    """`GATEPOST_HOME`, else the nearest `.gatepost` upwards, else the user's data directory; and which of them."""
    try:
        found, origin = paths.find_home(environ)
    except FileNotFoundError:
        hint = f"go to a folder that is there, or set {paths.HOME_VARIABLE} to a whole path"
        raise Unavailable("the working directory is gone, and the home is looked for from there", hint=hint) from None
    return Path(found), origin


def find_file(home: Path) -> Path | None:
    """The settings file in the home, or the one beside it."""
    inside, beside = home / FILE, home.parent / FILE
    # not Path.is_file, which is stopped by a folder it may not look into
    found = [path for path in (inside, beside) if os.path.isfile(path)]  # noqa: PTH113
    found = [path for path in found if path == inside or paths.is_trusted(str(path), reference=str(home))]
    if len(found) > 1:
        raise Invalid(f"there are two settings files, {str(inside)!r} and {str(beside)!r}", hint="keep one of them")
    return found[0] if found else None


def _of_file(file: Path) -> dict[str, Any]:
    """What a settings file sets, as `inbox.remember` and the value."""
    names = {name for name, _ in declared()}
    sections = {name.partition(".")[0] for name in names if "." in name}
    found: dict[str, Any] = {}
    for key, value in _document(file).items():
        if key in sections and not isinstance(value, dict):
            raise Invalid(
                f"{key!r} in {str(file)!r} is a section, not a value", hint=f"write [{key}] above its settings"
            )
        found |= {f"{key}.{name}": each for name, each in value.items()} if isinstance(value, dict) else {key: value}
    for name in found:
        if name not in names:
            raise Invalid(f"there is no setting {name!r}, as in {str(file)!r}", hint=_nearest(name, names))
    return found


def _document(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{str(file)!r} is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{str(file)!r} is not valid UTF-8") from None
    except OSError as error:
        raise Unavailable(f"{str(file)!r} cannot be read: {error.strerror}") from None


def _of_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """
    What the environment sets. A variable that looks like a setting and is none is refused; others that only share the
    prefix are let be: Kubernetes makes some (`GATEPOST_SERVICE_HOST`) for a service called gatepost.
    """
    names = {variable(name): name for name, _ in declared()}
    found: dict[str, str] = {}
    for key, value in environ.items():
        rest = key.removeprefix(PREFIX)
        if rest == key or rest in _NOT_SETTINGS or not value:
            continue
        if key in names:
            found[names[key]] = value
        elif "__" in rest or get_close_matches(rest, [name.removeprefix(PREFIX) for name in names], cutoff=0.8):
            raise Invalid(f"there is no setting for the variable {key!r}", hint=_nearest(key, names))
    return found


def _nearest(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else "docs/reference/settings.md lists all there are"


def _of_variable(form: Form, value: str, name: str) -> Value:
    """What a variable says. Where the working directory is gone, it must not depend on it."""
    try:
        return _read(form, value, name, name, Path.cwd())
    except FileNotFoundError:
        found, elsewhere = (_read(form, value, name, name, Path(folder)) for folder in ("/", "/elsewhere"))
    if found != elsewhere:
        raise Invalid(
            f"{name} is wrong: it is relative to the working directory, and that is gone", hint="write the whole path"
        )
    return found


def _read(form: Form, value: Any, origin: str, where: str, folder: Path) -> Value:
    try:
        return Value(form.read(value, folder), origin, form)
    except Invalid as error:
        raise Invalid(f"{where} is wrong: {masked(error.message)}", hint=error.hint) from None


def _built(kind: type, prefix: str, values: Mapping[str, Value]) -> Any:
    parts: dict[str, Any] = {}
    for each in fields(kind):
        inner = each.metadata.get("section")
        parts[each.name] = _built(inner, f"{each.name}.", values) if inner else values[prefix + each.name].value
    return kind(**parts)
