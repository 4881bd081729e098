"""Bad input is refused in the same words on the store and through a gateway."""

import shlex

from tests.support.collected_failures import CollectedFailures
from tests.support.command_line import CommandLine

EITHER_WAY = True

ALIASES = [argument for number in range(51) for argument in ("--alias", f"a{number}")]
NAME_HINT = "use up to 63 lower-case letters"
MISSING_GATE, MISSING_RUN = f"gate_{'0' * 32}", f"run_{'0' * 32}"

REFUSED_COMMANDS = [
    (["agent", "add", "many", *ALIASES], "51 aliases are too many", "give at most 50"),
    (["agent", "add", "many", "--model", "demo", *ALIASES], "51 aliases are too many", "give at most 50"),
    (["person", "add", "many", *ALIASES], "51 aliases are too many", "give at most 50"),
    (
        ["trigger", "add", "t", "--to", "analyst", "--secret", "s" * 501],
        "the secret has 501 characters, over the limit of 500",
        "`openssl rand -hex 24` makes a good one",
    ),
    (
        ["trigger", "add", "t", "--to", "analyst", "--prompt", "p" * 10_001],
        "the prompt has 10001 characters, over the limit of 4000",
        "",
    ),
    (["trigger", "add", "", "--to", "analyst"], "'' is not a name of a trigger", NAME_HINT),
    (["trigger", "add", "a" * 200, "--to", "analyst"], f"'{'a' * 59}…' is not a name of a trigger", NAME_HINT),
    (["trigger", "show", "a/b"], "'a/b' is not a name of a trigger", NAME_HINT),
    (["trigger", "show", ".."], "'..' is not a name of a trigger", NAME_HINT),
    (["trigger", "enable", "A"], "'A' is not a name of a trigger", NAME_HINT),
    (["trigger", "delete", "../agents/analyst"], "'../agents/analyst' is not a name of a trigger", NAME_HINT),
    (
        ["inbox", "list", "--to", "analyst", "--ref", "t:" + "a" * 700],
        "the reference has 700 characters, over the limit of 256",
        "",
    ),
    (
        ["inbox", "push", "--to", "analyst", "--ref", "t:" + "a" * 700, "x"],
        "the reference has 700 characters, over the limit of 256",
        "",
    ),
    (["inbox", "push", "--to", "a" * 300, "x"], f"'{'a' * 59}…' is not an address", "use the name or an alias"),
    (["gate", "waiter", MISSING_GATE, ""], "'' is not a name", "give the name or an alias of an agent or person"),
    (["gate", "waiter", "gate_1", ""], "'gate_1' is not the id of a gate", "such an id is gate_"),
    (["plan", "set", "--id", f"plan_{'0' * 32}"], "nothing to change", "such as --after 5h"),
    (["agent", "replay", MISSING_RUN, "--model", "bad"], "--model: 'bad' is not a model", "such as"),
    (["agent", "replay", MISSING_RUN, "--model", "m" * 301], "--model: 'mmm", "such as"),
]


def test_what_is_refused(cli: CommandLine) -> None:
    with CollectedFailures() as failures:
        for words, message, hint in REFUSED_COMMANDS:
            with failures.check(shlex.join(words)[:100]):
                result = cli(*words)
                assert (result.code, result.out) == (2, "")
                assert result.error.startswith(message)
                assert hint in result.err


def test_as_many_aliases_as_there_may_be(cli: CommandLine) -> None:
    agent = cli.run_ok("agent", "add", "many", "--json", *ALIASES[2:]).json
    assert len(agent["aliases"]) == 50


def test_a_trigger_that_is_not_there(cli: CommandLine) -> None:
    result = cli("trigger", "show", "nobody")
    assert (result.code, result.error) == (1, "there is no trigger 'nobody'")
