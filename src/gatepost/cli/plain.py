"""How help reads: the words of a command as one types them, without the types of a programming language."""

import re
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand


class Plain(TyperCommand):
    def get_help(self, ctx: Any) -> str:
        return super().get_help(ctx).replace(" <str>", "")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [re.sub(r"^\{(.*)\}$", r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


class Noun(typer.Typer):
    """What verbs are about: `inbox` in `gatepost inbox push`."""

    def verb(self, name: str, *, short_help: str | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
        return self.command(name, cls=Plain, short_help=short_help)
