"""`gatepost completion`."""

from typing import Annotated, NoReturn

import typer

from gatepost.cli import output
from gatepost.cli.plain import argument
from gatepost.errors import Invalid

_SHELLS = ("bash", "zsh", "fish", "powershell")


def complete(app: typer.Typer) -> NoReturn:
    """Answer the shell, which asks by variables."""
    from typer.completion import completion_init  # type: ignore[attr-defined]

    completion_init()
    app(prog_name="gatepost")
    raise SystemExit


def completion(
    shell: Annotated[str, argument("|".join(_SHELLS), "Your shell.")],
) -> None:
    """
    Print what makes the Tab key complete commands and options in your shell.

    Example:
      gatepost completion bash >> ~/.bashrc
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    if shell not in _SHELLS:
        raise Invalid(f"{shell!r} is not a shell known here", hint=f"use one of {', '.join(_SHELLS)}")
    output.line_out(get_completion_script(prog_name="gatepost", complete_var="_GATEPOST_COMPLETE", shell=shell))
