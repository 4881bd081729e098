"""
Write what docs/reference says about commands and settings from the commands and the settings themselves. What stands
above the mark in those files is written by hand.

    python tools/reference.py            writes it
    python tools/reference.py --check    fails if it is not as it would be written
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from gatepost.cli.commands import app
from gatepost.settings import list_settings, variable_name

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MARK = "<!-- From here on written by tools/reference.py; change the code instead. -->\n"
WIDTH = 96


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command, as one types it."""
    yield path, command
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from commands(command.commands[name], f"{path} {name}")


def cli() -> str:
    """The help of every command."""
    parts: list[str] = []
    for path, command in commands(get_command(app), "gatepost"):
        options = {"resilient_parsing": True, "terminal_width": WIDTH, "help_option_names": ["-h", "--help"]}
        with command.make_context(path, [], **options) as context:
            text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
            parts.append(f"\n### {path}\n\n```text\n{text}\n```\n")
    return "".join(parts)


def settings() -> str:
    """A table of every setting."""
    rows = ["\n| setting | variable | default | form | meaning |\n|---|---|---|---|---|\n"]
    for name, field in list_settings():
        converter = field.metadata["converter"]
        default = f"`{converter.format(field.default)}`" if field.default is not None else ""
        form, meaning = converter.description, field.metadata["meaning"]
        rows.append(f"| `{name}` | `{variable_name(name)}` | {default} | {form} | {meaning} |\n")
    return "".join(rows)


def main(arguments: list[str]) -> int:
    stale = 0
    for name, text in (("cli.md", cli()), ("settings.md", settings())):
        path = FOLDER / name
        there = path.read_text(encoding="utf-8")
        wanted = there.partition(MARK)[0] + MARK + text
        if "--check" not in arguments:
            path.write_text(wanted, encoding="utf-8")
        elif there != wanted:
            print(f"{path} is not up to date; run: python tools/reference.py", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
