"""
Write the pages of docs/reference about commands and settings from the commands and the settings. The part above the
mark in these files is written by hand.

    python tools/reference.py            write the pages
    python tools/reference.py --check    fail if a page is not up to date
"""

import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from gatepost.cli.root import ROOT
from gatepost.settings import list_settings, variable_name

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
MARK = "<!-- From here on written by tools/reference.py; change the code instead. -->\n"
WIDTH = 96


def list_commands(command: click.Command = ROOT, path: str = "gatepost") -> Iterator[tuple[str, click.Command]]:
    """Return every command, and how it is typed."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from list_commands(subcommand, f"{path} {name}")


def build_cli_reference() -> str:
    """Return the help of every command."""
    parts: list[str] = []
    for path, command in list_commands():
        with command.make_context(path, [], resilient_parsing=True, terminal_width=WIDTH) as context:
            text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
            parts.append(f"\n### {path}\n\n```text\n{text}\n```\n")
    return "".join(parts)


def build_settings_reference() -> str:
    """Return a table of every setting."""
    rows = ["\n| setting | variable | default | form | meaning |\n|---|---|---|---|---|\n"]
    for name, field in list_settings():
        converter = field.metadata["converter"]
        default = f"`{converter.format(field.default)}`" if field.default is not None else ""
        form, meaning = converter.description, field.metadata["meaning"]
        rows.append(f"| `{name}` | `{variable_name(name)}` | {default} | {form} | {meaning} |\n")
    return "".join(rows)


def main(arguments: list[str]) -> int:
    stale = 0
    for name, text in (("cli.md", build_cli_reference()), ("settings.md", build_settings_reference())):
        path = FOLDER / name
        old_text = path.read_text(encoding="utf-8")
        new_text = old_text.partition(MARK)[0] + MARK + text
        if "--check" not in arguments:
            path.write_text(new_text, encoding="utf-8")
        elif old_text != new_text:
            print(f"{path} is not up to date; run: python tools/reference.py", file=sys.stderr)
            print(
                *unified_diff(old_text.splitlines(), new_text.splitlines(), lineterm="", n=1), sep="\n", file=sys.stderr
            )
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
