"""All commands, put together."""

from functools import cache
from typing import Annotated

import typer
from typer.core import TyperGroup
from typer.main import get_command

from gatepost.cli import (
    agent,
    completion,
    config,
    courier,
    decision,
    doctor,
    export,
    gate,
    hooked,
    hooks,
    inbox,
    init,
    key,
    output,
    person,
    plan,
    space,
    trigger,
    up,
)
from gatepost.cli.plain import Noun

#: in the order in which a newcomer meets them
ORDER = (  # noqa: SIM905
    "up inbox agent person space plan gate decision hooks hook courier trigger key init config doctor"
    " export import completion"
).split()


class Ordered(TyperGroup):
    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        return sorted(super().list_commands(ctx), key=lambda name: (*ORDER, name).index(name))


app = Noun(
    cls=Ordered,
    name="gatepost",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@cache
def build_command() -> TyperGroup:
    """Return the whole command; a process builds it once, however many commands it runs."""
    command = get_command(app)
    assert isinstance(command, TyperGroup)
    return command


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        output.line_out(f"gatepost {version('gatepost')}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def gatepost(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 (its callback acts)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """
    One inbox for every agent, and gates that say when it may stop.

    \b
    A first walk:
      gatepost agent add analyst
      gatepost inbox push --to analyst "Pull the Q4 revenue numbers"
      gatepost inbox drain --to analyst
    """
    if context.invoked_subcommand is None:
        output.line_out(context.get_help())


app.verb("up", short_help="Start the gateway.")(up.up)
app.verb("init", short_help="Make a home here, for this folder.")(init.init)
app.verb("doctor", short_help="Look everything over, and say what is wrong.")(doctor.doctor)
app.add_typer(inbox.app, name="inbox", no_args_is_help=True)
app.add_typer(agent.app, name="agent", no_args_is_help=True)
app.add_typer(person.app, name="person", no_args_is_help=True)
app.add_typer(space.app, name="space", no_args_is_help=True)
app.add_typer(plan.app, name="plan", no_args_is_help=True)
app.add_typer(gate.app, name="gate", no_args_is_help=True)
app.add_typer(decision.app, name="decision", no_args_is_help=True)
app.add_typer(hooks.app, name="hooks", no_args_is_help=True)
app.verb("hook", short_help="Answer a hook of the program a guest lives in.")(hooked.hook)
app.verb("courier", short_help="Carry what comes for a guest to its sessions here.")(courier.courier)
app.add_typer(trigger.app, name="trigger", no_args_is_help=True)
app.add_typer(key.app, name="key", no_args_is_help=True)
app.add_typer(config.app, name="config", no_args_is_help=True)
app.verb("export", short_help="Write everything there is as lines of JSON.")(export.export)
app.verb("import", short_help="Fill an empty store with an export.")(export.import_)
app.verb("completion", short_help="Print completion for your shell.")(completion.completion)
