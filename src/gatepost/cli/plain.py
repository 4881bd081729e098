"""
How help reads, the words of a command as one types them, without the types of a programming language; and that every
word that is typed counts.
"""

import re
from collections.abc import Callable
from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from gatepost.errors import Invalid

Function = Callable[..., None]


def option(name: str, metavar: str, help: str) -> Any:
    """`--name METAVAR`, with one value or, where it is a list, several."""
    return typer.Option(name, metavar=metavar, help=help)


def flag(name: str, help: str) -> Any:
    return typer.Option(name, help=help)


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help, show_default=False)


Json = Annotated[bool, flag("--json", "Print JSON.")]
Limit = Annotated[str, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]
To = Annotated[str | None, option("--to", "NAME", "Whose inbox; else the current agent's.")]
As = Annotated[str | None, option("--as", "NAME", "Who I am; else the current agent, else the administrator.")]
EventId = Annotated[str, argument("EVENT", "The id of an event.")]


class Plain(TyperCommand):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option with one value that is given two: the first would be lost without a word."""
        rest = super().parse_args(ctx, list(args))
        *_, order = self.make_parser(ctx).parse_args(list(args))
        single = [each for each in order if isinstance(each, TyperOption) and not (each.multiple or each.is_flag)]
        for each in single:
            if single.count(each) > 1 and not ctx.resilient_parsing:  # a line that is being completed is not ours yet
                raise Invalid(f"{each.opts[0]} is given {single.count(each)} times", hint="give it once")
        return rest

    def get_help(self, ctx: Any) -> str:
        return super().get_help(ctx).replace(" <str>", "")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub(r"^\{(.*)\}$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


class Noun(typer.Typer):
    """What verbs are about: `inbox` in `gatepost inbox push`."""

    def verb(self, name: str, *, short_help: str | None = None) -> Callable[[Function], Function]:
        """A command, whose help is its docstring; examples, and whatever else is indented there, stay as they are."""

        def add(function: Function) -> Function:
            text = re.sub(r"\n\n(?=\S.*\n )", "\n\n\b\n", cleandoc(function.__doc__ or ""))
            return self.command(name, cls=Plain, help=text, short_help=short_help)(function)

        return add
