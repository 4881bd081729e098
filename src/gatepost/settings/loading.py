"""
Find the home and load the settings: the environment is stronger than the settings file, and that than the defaults.

An empty variable is an unset one. A relative path starts at the folder of the settings file, at the working directory
if a variable has it, at the home if it is a default.

A section may have a short form, the name of the section alone, which means one of its settings:

    ledger = "off"                    the same as url = "off" in [ledger]
    GATEPOST_LEDGER=off               the same as GATEPOST_LEDGER__URL=off; two different values are refused

Settings name commands to run, so not everybody may set them: a home that was only come across, or a settings file
beside a home, counts if it belongs to this user or to the system. A home that was named is trusted as it is.
"""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from gatepost import paths
from gatepost.errors import Invalid, Unavailable
from gatepost.settings.converters import Converter, mask_passwords
from gatepost.settings.fields_and_defaults import PREFIX, Settings, list_settings, list_short_forms, variable_name

FILE: Final = "gatepost.toml"

#: variables that are no settings: where the home is, tracebacks, long tests
_NOT_SETTINGS: Final = {"HOME", "DEBUG", "NIGHTLY"}
#: variables that Kubernetes makes for a service called gatepost
_KUBERNETES_NAME: Final = r"SERVICE_(HOST|PORT)|PORT_[0-9]+_(TCP|UDP)"


class Value(NamedTuple):
    """The value of a setting, and where it came from."""

    value: Any
    #: `default`, the path of the settings file, or the name of a variable
    origin: str
    converter: Converter

    def __str__(self) -> str:
        return "" if self.value is None else self.converter.format(self.value)


class Configuration(NamedTuple):
    """All settings of a home, and their origins."""

    home: Path
    home_origin: str
    #: the settings file, if there is one
    file: Path | None
    settings: Settings
    #: the same settings by name (`inbox.remember`), each with its origin
    values: Mapping[str, Value]


def load(environ: Mapping[str, str] | None = None) -> Configuration:
    """Find the home and load all settings."""
    environ = os.environ if environ is None else environ
    home, home_origin = find_home(environ)
    file = find_file(home)
    in_file = _read_file(file) if file else {}
    in_environment = _read_environment(environ)
    values: dict[str, Value] = {}
    for name, field in list_settings():
        converter: Converter = field.metadata["converter"]
        if name in in_environment:
            origin, text = in_environment[name]
            value = _convert_variable(converter, text, origin)
        elif name in in_file and file:
            key, value = in_file[name]
            origin = str(file)
            value = _convert(converter, value, f"{key} in {origin!r}", file.parent)
        else:
            origin, value = "default", field.default
            value = converter.resolve(str(value), home) if converter.resolve and value is not None else value
        values[name] = Value(value, origin, converter)
    settings = _build(Settings, "", values)
    return Configuration(home=home, home_origin=home_origin, file=file, settings=settings, values=values)


def write_line(name: str, value: Value) -> str:
    """Return how the settings file sets a value: a line, below that of its section."""
    section, _, key = name.rpartition(".")
    return (f"[{section}]\n" if section else "") + f"{key} = {write_value(value.converter, value.value)}"


def write_value(converter: Converter, value: Any) -> str:
    """Return a value as TOML; dots stand for one that is not there, or that is not shown."""
    text = converter.format(value) if value is not None else "..."
    text = "..." if mask_passwords(text) != text or "***" in text else text
    return f'"{text}"' if converter.is_quoted or text == "..." else text


def resolve_variables(environ: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return the variables of a process that is in another folder, to be read here: paths in them become absolute."""
    variables = dict(environ)
    converters: dict[str, Converter] = {name: field.metadata["converter"] for name, field in list_settings()}
    for variable, name in _list_variables().items():
        converter, value = converters[name], variables.get(variable)
        if converter.resolve and value and os.path.isabs(folder):  # noqa: PTH117 (a string as it is)
            with suppress(Invalid):  # `load` reports it
                variables[variable] = converter.resolve(converter.parse(value), Path(folder))
    return variables


def find_home(environ: Mapping[str, str]) -> tuple[Path, str]:
    """Return `GATEPOST_HOME`, else the nearest `.gatepost` upwards, else the user's data directory; and its origin."""
    try:
        home, origin = paths.find_home(environ)
    except FileNotFoundError:
        hint = f"go to a folder that is there, or set {paths.HOME_VARIABLE} to a whole path"
        raise Unavailable("the working directory is gone, and the home is looked for from there", hint=hint) from None
    return Path(home), origin


def find_file(home: Path) -> Path | None:
    """Return the settings file in the home, or the one beside it."""
    inside, beside = home / FILE, home.parent / FILE
    # not Path.is_file, which is stopped by a folder it may not look into
    files = [path for path in (inside, beside) if os.path.isfile(path)]  # noqa: PTH113
    files = [path for path in files if path == inside or paths.is_trusted(str(path), reference=str(home))]
    if len(files) > 1:
        raise Invalid(f"there are two settings files, {str(inside)!r} and {str(beside)!r}", hint="keep one of them")
    return files[0] if files else None


def _read_file(file: Path) -> dict[str, tuple[str, Any]]:
    """Return what a settings file sets: by `inbox.remember`, the name that is written there and the value."""
    import tomllib  # many homes have no such file, and commands must start fast

    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{str(file)!r} is not TOML: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except UnicodeDecodeError:
        raise Invalid(f"{str(file)!r} is not valid UTF-8") from None
    except OSError as error:
        raise Unavailable(f"{str(file)!r} cannot be read: {error.strerror}") from None
    names = {name for name, _ in list_settings()}
    sections = {name.partition(".")[0] for name in names if "." in name}
    short_forms = dict(list_short_forms())
    values: dict[str, tuple[str, Any]] = {}
    for key, value in document.items():
        if isinstance(value, dict) and key not in names:
            values |= {f"{key}.{name}": (f"{key}.{name}", inner) for name, inner in value.items()}
        elif key in short_forms:
            values[short_forms[key]] = key, value
        elif key in sections:
            raise Invalid(
                f"{key!r} in {str(file)!r} is a section, not a value", hint=f"write [{key}] above its settings"
            )
        else:
            values[key] = key, value
    for name in values:
        if name not in names:
            hint = _suggest(name, [*names, *short_forms])
            raise Invalid(f"there is no setting {name!r}, as in {str(file)!r}", hint=hint)
    return values


def _list_variables() -> dict[str, str]:
    """Return the name of a setting by the variable that sets it; a setting with a short form has two."""
    variables = {variable_name(name): name for name, _ in list_settings()}
    return variables | {variable_name(section): name for section, name in list_short_forms()}


def _read_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """
    Return what the environment sets: by `inbox.remember`, the variable and its value. A variable that looks like a
    setting and is none is refused; others that only share the prefix are ignored: Kubernetes makes some
    (`GATEPOST_SERVICE_HOST`) for a service called gatepost.
    """
    names = _list_variables()
    values: dict[str, tuple[str, str]] = {}
    for key, value in environ.items():
        rest = key.removeprefix(PREFIX)
        if rest == key or rest in _NOT_SETTINGS or not value:
            continue
        if key in names:
            other_key, other_value = values.setdefault(names[key], (key, value))
            if other_value != value:
                raise Invalid(f"{other_key} and {key} have different values for one setting", hint="keep one of them")
        elif _is_misspelt(rest, names):
            raise Invalid(f"there is no setting for the variable {key!r}", hint=_suggest(key, names))
    return values


def find_near_misses(environ: Mapping[str, str]) -> list[str]:
    """
    Return a sentence about each variable that is ignored, and whose name ends like that of a setting or resembles it:
    `GATEPOST_PORT` for `GATEPOST_GATEWAY__PORT`. Those that Kubernetes makes are left out.
    """
    names = _list_variables()
    sentences = []
    for key, value in environ.items():
        rest = key.removeprefix(PREFIX)
        if rest == key or rest in _NOT_SETTINGS or key in names or not value or _is_misspelt(rest, names):
            continue
        if re.search(_KUBERNETES_NAME, rest) or value.startswith(("tcp://", "udp://")):
            continue
        short_names = {name.removeprefix(PREFIX): name for name in names}
        matches = [name for name in names if name.endswith(f"_{rest}")]
        matches = matches or [short_names[name] for name in _find_close_names(rest, short_names, 0.65)]
        if matches:
            sentences.append(f"{key} is not a setting, and is ignored: did you mean {' or '.join(matches[:3])}?")
    return sentences


def _is_misspelt(rest: str, names: Iterable[str]) -> bool:
    """Return True if a variable, without our prefix, can only be meant as a setting: it is refused."""
    return "__" in rest or bool(_find_close_names(rest, (name.removeprefix(PREFIX) for name in names), 0.8))


def _find_close_names(word: str, names: Iterable[str], cutoff: float) -> list[str]:
    """Return the name that is spelt most alike, if there is one."""
    from difflib import get_close_matches  # most variables are settings, and commands must start fast

    return get_close_matches(word, list(names), n=1, cutoff=cutoff)


def _suggest(name: str, names: Iterable[str]) -> str:
    matches = _find_close_names(name, names, 0.5)
    return f"did you mean {matches[0]!r}?" if matches else "docs/reference/settings.md lists all there are"


def _convert_variable(converter: Converter, value: str, name: str) -> Any:
    """Convert what a variable has. Where the working directory is gone, it must not depend on it."""
    try:
        return _convert(converter, value, name, Path.cwd())
    except FileNotFoundError:
        converted, elsewhere = (_convert(converter, value, name, Path(folder)) for folder in ("/", "/elsewhere"))
    if converted != elsewhere:
        raise Invalid(
            f"{name} is wrong: it is relative to the working directory, and that is gone", hint="write the whole path"
        )
    return converted


def _convert(converter: Converter, value: Any, source: str, folder: Path) -> Any:
    try:
        parsed = converter.parse(value)
        return converter.resolve(parsed, folder) if converter.resolve else parsed
    except Invalid as error:
        raise Invalid(f"{source} is wrong: {mask_passwords(error.message)}", hint=error.hint) from None


def _build(kind: type, prefix: str, values: Mapping[str, Value]) -> Any:
    arguments: dict[str, Any] = {}
    for field in fields(kind):
        section = field.metadata.get("section")
        arguments[field.name] = (
            _build(section, f"{field.name}.", values) if section else values[prefix + field.name].value
        )
    return kind(**arguments)
