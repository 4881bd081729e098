"""The function of a command has the name of its verb, so that a search for the verb finds it."""

from collections.abc import Iterator

import click

from gatepost.cli.root import ROOT


def list_commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from list_commands(command, (*path, name))
        else:
            yield (*path, name), command


def test_the_function_of_a_command_has_the_name_of_its_verb() -> None:
    functions = {path: getattr(command.callback, "__name__", "") for path, command in list_commands(ROOT)}
    assert len(functions) > 100
    # Some have a noun behind it: `list` and `next` are functions of Python.
    assert {path: name for path, name in functions.items() if not has_verb(name, path[-1])} == {}


def has_verb(name: str, verb: str) -> bool:
    return f"_{verb.replace('-', '_')}_" in f"_{name}_"
