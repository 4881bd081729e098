"""`gatepost init`: a home of one's own for a folder."""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from gatepost import app, paths, settings
from gatepost.cli import identity, output
from gatepost.cli.plain import Json
from gatepost.errors import Unavailable
from gatepost.runtime import gateway_files
from gatepost.settings import FILE, HOME, Converter, list_settings, variable_name


def init(json: Json = False) -> None:
    """
    Make a home here: the folder .gatepost with a settings file, a store, the person admin and their key.

    With GATEPOST_HOME set, that folder is the home. What is there already is left as it is, so it can be run again.

    Example:
      gatepost init
    """
    home = Path(os.environ.get("GATEPOST_HOME") or HOME).expanduser()
    home = home if home.is_absolute() else identity.get_folder() / home
    steps = [("home", str(home), paths.make_home(home)), *_files(home)]
    configuration = settings.load({**os.environ, "GATEPOST_HOME": str(home)})
    made: list[str] = []
    with app.prepare_store(configuration, report=made.append) as store:
        steps.append(("store", str(configuration.values["store"]), bool(made)))
        new = gateway_files.ensure_admin_key(store, home)
        steps.append(("key", str(home / gateway_files.ADMIN_KEY), new))
    if json:
        output.document([{"what": what, "where": where, "made": new} for what, where, new in steps])
        return
    output.table(["", "WHAT", "WHERE"], [["made" if new else "found", what, where] for what, where, new in steps])
    output.talk("next: gatepost agent add NAME, then gatepost inbox push --to NAME TEXT")


def _files(home: Path) -> Iterator[tuple[str, str, bool]]:
    """Write the settings file, all of it commented out, and keep what is private out of version control."""
    found = settings.find_file(home)
    if found is None:
        _write(home / FILE, template())
    yield "settings", str(found or home / FILE), found is None
    if home.name == HOME and not (home / ".gitignore").exists():
        _write(home / ".gitignore", "*\n")


def template() -> str:
    """A settings file with every setting in it, at its default and commented out."""
    parts = ["# Settings of Gatepost. The variable in brackets sets the same, and is stronger.\n"]
    for section, group in groupby(list_settings(), key=lambda each: each[0].rpartition(".")[0]):
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
