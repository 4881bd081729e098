"""Everything that can be typed or set has its place in the docs, and every help has an example."""

import re
import subprocess
import sys

import click
import pytest

from gatepost.cli.root import MODULES, ROOT
from gatepost.settings import list_settings, variable_name
from tests.support.collected_failures import CollectedFailures
from tools import reference

COMMANDS = dict(reference.list_commands())
VERBS = {path: command for path, command in COMMANDS.items() if not hasattr(command, "list_commands")}


def test_the_reference_is_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.main(["--check"]) == 0, capsys.readouterr().err


def test_every_command_and_option_is_in_it() -> None:
    text = (reference.FOLDER / "cli.md").read_text()
    for path, command in COMMANDS.items():
        assert f"### {path}\n" in text
        section = text.partition(f"### {path}\n")[2].partition("\n### ")[0]
        for parameter in command.params:
            for option in parameter.opts if parameter.param_type_name == "option" else ():
                assert option in section


def test_every_setting_is_in_it() -> None:
    text = (reference.FOLDER / "settings.md").read_text()
    for name, field in list_settings():
        assert f"| `{name}` | `{variable_name(name)}` |" in text
        assert field.metadata["meaning"] in text


def test_the_help_has_the_same_names_in_every_context() -> None:
    with CollectedFailures() as failures:
        for path, command in VERBS.items():
            with failures.check(path):
                with command.make_context(path, [], resilient_parsing=True) as context:
                    option = command.get_help_option(context)
                assert option is not None
                assert option.opts == ["-h", "--help"]


def test_every_help_has_an_example_that_begins_with_its_name() -> None:
    with CollectedFailures() as failures:
        for path, command in VERBS.items():
            with failures.check(path):
                examples = (command.help or "").partition("Example")[2]
                assert re.search(rf"\b{path}(\s|$)", examples)


def test_every_option_says_what_it_is() -> None:
    with CollectedFailures() as failures:
        for path, command in VERBS.items():
            for parameter in command.params:
                with failures.check(f"{path} {parameter.opts}"):
                    assert parameter.help
                    assert parameter.help.endswith(".")


def build_help(path: str, width: int) -> str:
    with COMMANDS[path].make_context(path, [], resilient_parsing=True, terminal_width=width) as context:
        return COMMANDS[path].get_help(context)


def test_who_the_current_agent_is_stands_where_it_is_spoken_of() -> None:
    with CollectedFailures() as failures:
        for path in VERBS:
            with failures.check(path):
                text = " ".join(build_help(path, 80).split())
                assert ("current agent" in text) == ("The current agent is that of the guest session" in text)


def test_only_examples_are_wider_than_a_terminal_of_50_columns() -> None:
    with CollectedFailures() as failures:
        for path in VERBS:
            with failures.check(path):
                description, _, options = build_help(path, 50).partition("\n  Example")
                explanation = description + options.partition("\n\n")[2]
                assert not [line for line in explanation.splitlines() if len(line) > 50]


def test_every_help_fits_a_terminal_of_80_columns_and_no_summary_is_cut() -> None:
    with CollectedFailures() as failures:
        for path in COMMANDS:
            with failures.check(path):
                lines = build_help(path, 80).splitlines()
                assert not [line for line in lines if len(line) > 80]
                assert not [line for line in lines[1:] if line.endswith("...")]


#: these speak to a shell, and in the words of a host
COMMANDS_WITHOUT_JSON = {"gatepost completion", "gatepost hook"}


def test_every_command_speaks_json() -> None:
    silent = {path for path, command in VERBS.items() if not any("--json" in option.opts for option in command.params)}
    assert silent == COMMANDS_WITHOUT_JSON


def test_every_noun_has_its_place() -> None:
    assert ROOT.list_commands(click.Context(ROOT)) == list(MODULES)


def test_the_help_of_all_commands_needs_no_extra() -> None:
    """Packages that may not be installed are blocked, as they would be after `pip install gatepost`."""
    program = (
        "import sys\n"
        "for name in ('mcp', 'psycopg', 'redis', 'nats', 'openai', 'anthropic'):\n"
        "    sys.modules[name] = None\n"
        "sys.argv = ['gatepost', '--help']\n"
        "from gatepost.cli.main import main\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert "Commands:" in result.stdout
