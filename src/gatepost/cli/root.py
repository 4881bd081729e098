"""
`gatepost`: the command that all others belong to.

A module of a room whose name ends with `commands` adds its list `commands`. A command in the table below imports its
own module only, so that `gatepost key list` imports the commands of keys; help and completion of the root, and a word
that is not in the table, import all of them.
"""

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import click

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.command import HelpFirst, build_verb
from gatepost.cli.parameters import ParameterSpec, check_choice
from gatepost.errors import UnknownAddress
from gatepost.operations import discovery

#: the module of each command, in the order in which a newcomer meets them; others follow in the order of their names
MODULES = {
    "up": "cli.home_commands",
    "setup": "guests.setup_commands",
    "sign-in": "directory.sign_in_commands",
    "inbox": "inbox.item_commands",
    "chat": "channels.chat_commands",
    "send": "mail.mail_commands",
    "reply": "mail.mail_commands",
    "agent": "residents.agent_commands",
    "person": "directory.person_commands",
    "attention": "directory.attention_commands",
    "space": "spaces.commands",
    "work": "mail.work_commands",
    "note": "mail.work_commands",
    "plan": "plans.commands",
    "gate": "gates.gate_commands",
    "decision": "gates.decision_commands",
    "hooks": "guests.hook_install_commands",
    "hook": "guests.hook_install_commands",
    "mcp": "mcp.commands",
    "courier": "guests.courier_commands",
    "trigger": "channels.triggers.commands",
    "channel": "channels.conversation_commands",
    "ledger": "ledger.topic_commands",
    "key": "directory.key_commands",
    "init": "cli.home_commands",
    "config": "cli.home_commands",
    "doctor": "cli.doctor_commands",
    "export": "export.commands",
    "import": "export.commands",
    "completion": "cli.root",
}
_COMPLETE_VARIABLE = "_GATEPOST_COMPLETE"
_SHELLS = ("bash", "zsh", "fish", "powershell")


class Root(HelpFirst, click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        for module in (*discovery.find_modules("commands"), __name__):
            self._add_commands(module)
        order = list(MODULES)
        return sorted(self.commands, key=lambda name: (order.index(name) if name in order else len(order), name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.commands and cmd_name in MODULES:
            self._add_commands(f"gatepost.{MODULES[cmd_name]}")
        if cmd_name not in self.commands:  # click names those that are spelt alike
            self.list_commands(ctx)
        return self.commands.get(cmd_name)

    def _add_commands(self, module: str) -> None:
        for command in getattr(import_module(module), "commands", ()):
            self.add_command(command)


def _print_version(context: click.Context, _: click.Parameter, is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version

        output.line_out(f"gatepost {version('gatepost')}")
        context.exit()


@click.pass_context
def _print_help(context: click.Context, /, **_: Any) -> None:
    if context.invoked_subcommand is None:
        output.line_out(context.get_help())


ROOT = Root(
    "gatepost",
    callback=_print_help,
    invoke_without_command=True,
    params=[
        click.Option(["--version"], is_flag=True, is_eager=True, callback=_print_version, help="Print the version.")
    ],
    context_settings={"max_content_width": 100},
    help="""
    One inbox for every agent, and gates that say when it may stop.

    \b
    First steps:
      gatepost agent add analyst
      gatepost inbox push --to analyst "Pull the Q4 revenue numbers"
      gatepost inbox drain --to analyst
    """,
)


def explain_current_agent(error: UnknownAddress, words: Iterable[str]) -> str | None:
    """Return a hint if an unknown entity was not typed in a command: it is the current agent."""
    from gatepost.cli.current_agent import find_current_agent  # only an error needs it

    agent = find_current_agent(settings.load())
    if agent is None or error.message != f"there is no entity {agent!r}" or any(agent in word for word in words):
        return None
    return f"it is the current agent: `gatepost agent add {agent}` adds it, `gatepost config show` says where it is set"


def answer_completion(instruction: str) -> int:
    """Print what a shell asks for in its variables, and return the exit code."""
    from click.shell_completion import BashComplete, add_completion_class, shell_complete

    class SplitBashComplete(BashComplete):
        """Bash passes `--host=ge` as three words; the one in the middle is none for us."""

        def get_completion_args(self) -> tuple[list[str], str]:
            words, incomplete = super().get_completion_args()
            pairs = zip(["", *words], words, strict=False)
            return [word for last, word in pairs if word != "=" or not last.startswith("--")], incomplete

    add_completion_class(SplitBashComplete)
    return shell_complete(ROOT, {}, "gatepost", _COMPLETE_VARIABLE, instruction)


def _print_completion(
    shell: Annotated[
        str,
        ParameterSpec(
            flag=None,
            metavar="SHELL",
            help=f"one of {', '.join(_SHELLS)}",
            choices=_SHELLS,
            parse=partial(check_choice, _SHELLS),
        ),
    ],
) -> None:
    """
    Print the script that lets the Tab key complete commands and options in your shell.

    Example:
      gatepost completion bash >> ~/.bashrc
    """
    from click.shell_completion import get_completion_class

    completion = get_completion_class(shell)
    assert completion is not None
    output.line_out(completion(ROOT, {}, "gatepost", _COMPLETE_VARIABLE).source())


commands = [build_verb("completion", _print_completion, "Print the completion script of a shell.")]
