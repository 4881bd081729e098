"""What a command stands on: what is set here, the store, and who I am."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from gatepost import app, settings
from gatepost.cli import output, words
from gatepost.errors import Invalid
from gatepost.ports.store import Store
from gatepost.settings import Configuration

To = Annotated[str | None, typer.Option("--to", metavar="NAME", help="Whose inbox; else the current agent's.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
EventId = Annotated[str, typer.Argument(metavar="EVENT", help="The id of an event.", show_default=False)]
Limit = Annotated[str, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]


@dataclass(frozen=True, slots=True)
class Here:
    configuration: Configuration
    store: Store

    def whose(self, to: str | None) -> str:
        return whose(to, self.configuration)


def whose(to: str | None, configuration: Configuration) -> str:
    """Whose inbox is meant: the one named, else the current agent's."""
    name = words.given(to, "--to") or configuration.settings.agent
    if name is None:
        raise Invalid(
            "no address is given, and no current agent is set",
            hint="give --to NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml",
        )
    return name


@contextmanager
def opened(configuration: Configuration | None = None) -> Iterator[Here]:
    """The store that is set here, made if there is none."""
    configuration = configuration or settings.load()
    with app.opened(configuration, tell=output.talk) as store:
        yield Here(configuration, store)
