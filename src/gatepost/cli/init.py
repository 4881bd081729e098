"""`gatepost init` and `gatepost config`: the home of a folder, and its settings."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from gatepost import app, paths, settings
from gatepost.cli import output
from gatepost.cli.command import Noun, build_verb
from gatepost.cli.connect import get_folder
from gatepost.cli.parameters import Json
from gatepost.errors import Unavailable
from gatepost.runtime import gateway_files
from gatepost.settings import FILE, HOME, Converter, list_settings, variable_name


def init(json: Json = False) -> None:
    """
    Create a home here: the folder .gatepost with a settings file, a store, the person admin and their key.

    With GATEPOST_HOME set, that folder is the home. It can be run again: what exists is not changed.

    Example:
      gatepost init
    """
    home = Path(os.environ.get("GATEPOST_HOME") or HOME).expanduser()
    home = home if home.is_absolute() else get_folder() / home
    steps = [("home", str(home), paths.make_home(home)), *_write_files(home)]
    configuration = settings.load({**os.environ, "GATEPOST_HOME": str(home)})
    reports: list[str] = []
    with app.prepare_store(configuration, report=reports.append) as store:
        steps.append(("store", str(configuration.values["store"]), bool(reports)))
        new = gateway_files.ensure_admin_key(store, home)
        steps.append(("key", str(home / gateway_files.ADMIN_KEY), new))
    if json:
        output.document([{"what": what, "where": where, "made": new} for what, where, new in steps])
        return
    output.table(["", "WHAT", "WHERE"], [["made" if new else "found", what, where] for what, where, new in steps])
    output.talk("next: gatepost agent add NAME, then gatepost inbox push --to NAME TEXT")


def _write_files(home: Path) -> Iterator[tuple[str, str, bool]]:
    """Write the settings file, with all settings commented out, and keep the home out of version control."""
    file = settings.find_file(home)
    if file is None:
        _write(home / FILE, build_template())
    yield "settings", str(file or home / FILE), file is None
    if home.name == HOME and not (home / ".gitignore").exists():
        _write(home / ".gitignore", "*\n")


def build_template() -> str:
    """Return a settings file with every setting, at its default and commented out."""
    parts = ["# Settings of Gatepost. The variable in brackets sets the same, and takes precedence.\n"]
    for section, group in groupby(list_settings(), key=lambda pair: pair[0].rpartition(".")[0]):
        parts.append(f"\n[{section}]\n" if section else "")
        for name, field in group:
            converter: Converter = field.metadata["converter"]
            value = converter.format(field.default) if field.default is not None else "..."
            quoted = f'"{value}"' if converter.is_quoted else value
            parts.append(f"\n# {field.metadata['meaning']} [{variable_name(name)}]\n")
            parts.append(f"# {name.rpartition('.')[2]} = {quoted}\n")
    return "".join(parts)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{str(path)!r} cannot be written: {error.strerror}") from None


config = Noun("config", "Show the settings.")


@config.command("show")
def show(json: Json = False) -> None:
    """
    Show every setting, its value, and where the value comes from. Passwords are masked.

    Example:
      gatepost config show
    """
    configuration = settings.load()
    rows = [("home", str(configuration.home), configuration.home_origin)]
    rows += [(name, str(value), value.origin) for name, value in configuration.values.items()]
    if json:
        output.document({name: {"value": value or None, "origin": origin} for name, value, origin in rows})
    else:
        output.table(["SETTING", "VALUE", "FROM"], rows)


commands = [build_verb("init", init, "Create a home for this folder."), config]
