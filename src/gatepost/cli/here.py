"""What a command stands on: what is set here, the verbs, and who I am."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gatepost import app, settings
from gatepost.actions.directory import ADMINISTRATOR
from gatepost.cli import near, output, words
from gatepost.cli.verbs import Verbs
from gatepost.errors import Invalid, Unavailable
from gatepost.hooks.session import Session
from gatepost.ports.store import Store
from gatepost.runtime import notice
from gatepost.settings import Configuration, masked

To = Annotated[str | None, typer.Option("--to", metavar="NAME", help="Whose inbox; else the current agent's.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
EventId = Annotated[str, typer.Argument(metavar="EVENT", help="The id of an event.", show_default=False)]
As = Annotated[
    str | None,
    typer.Option("--as", metavar="NAME", help="Who I am; else the current agent, else the administrator."),
]
Limit = Annotated[str, typer.Option("--limit", "-n", metavar="N", help="How many at most.")]


@dataclass(frozen=True, slots=True)
class Here:
    configuration: Configuration
    verbs: Verbs

    def whose(self, to: str | None) -> str:
        return whose(to, self.configuration)

    def myself(self, who: str | None) -> str:
        """Who does it: the one named, else the current agent, else the administrator."""
        return words.given(who, "--as") or current(self.configuration) or ADMINISTRATOR


def whose(to: str | None, configuration: Configuration) -> str:
    """Whose inbox is meant: the one named, else the current agent's."""
    name = words.given(to, "--to") or current(configuration)
    if name is None:
        raise Invalid(
            "no address is given, and no current agent is set",
            hint="give --to NAME, or set GATEPOST_AGENT, or `agent` in gatepost.toml",
        )
    return name


def current(configuration: Configuration) -> str | None:
    """The current agent: the one in whose session this is, else the one that is set."""
    return guest(configuration) or configuration.settings.agent


def guest(configuration: Configuration) -> str | None:
    """The agent in whose session this command was given, if its hooks have said who that is."""
    inside = session()
    return Session(configuration.home, inside).read().agent if inside else None


def pusher(configuration: Configuration) -> str | None:
    """The agent in whose session this command was given, if the store knows it too: whatever it pushes is from it."""
    inside = session()
    state = Session(configuration.home, inside).read() if inside else None
    return state.agent if state is not None and state.registered else None


def folder() -> Path:
    """The working directory."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise Unavailable("the working directory is gone", hint="go to a folder that is there") from None


def session() -> str | None:
    """The session in which this command was given; hosts tell that to what they run."""
    return os.environ.get("CLAUDE_CODE_SESSION_ID")


@contextmanager
def opened(configuration: Configuration | None = None) -> Iterator[Here]:
    """The verbs, done by the gateway that runs in this home, or else here on the store."""
    configuration = configuration or settings.load()
    with ExitStack() as stack:
        verbs = _reached(configuration, stack) or stack.enter_context(near.opened(configuration))
        yield Here(configuration, verbs)


@contextmanager
def store(configuration: Configuration | None = None) -> Iterator[Store]:
    """The store that is set here, made if there is none, whether a gateway runs or not."""
    with app.opened(configuration or settings.load(), tell=output.talk) as store:
        yield store


def _reached(configuration: Configuration, stack: ExitStack) -> Verbs | None:
    """The gateway of this home, if it runs, is on the store that is set, and answers."""
    found = notice.read(configuration.home)
    if found is None or found.store != masked(configuration.settings.store):
        return None
    from gatepost.cli import far

    return stack.enter_context(far.reached(found.url, configuration.home))
