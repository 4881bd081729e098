"""Bad input is refused in the same words on the store and through a gateway."""

import pytest

from tests.acceptance.office import Office

EITHER_WAY = True

ALIASES = [word for number in range(51) for word in ("--alias", f"a{number}")]
A_NAME = "use up to 63 lower-case letters"
NO_GATE, NO_RUN = f"gate_{'0' * 32}", f"run_{'0' * 32}"

REFUSED = [
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
    (["trigger", "add", "", "--to", "analyst"], "'' is not a name of a trigger", A_NAME),
    (["trigger", "add", "a" * 200, "--to", "analyst"], f"'{'a' * 60}' is not a name of a trigger", A_NAME),
    (["trigger", "show", "a/b"], "'a/b' is not a name of a trigger", A_NAME),
    (["trigger", "show", ".."], "'..' is not a name of a trigger", A_NAME),
    (["trigger", "enable", "A"], "'A' is not a name of a trigger", A_NAME),
    (["trigger", "delete", "../agents/analyst"], "'../agents/analyst' is not a name of a trigger", A_NAME),
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
    (["inbox", "push", "--to", "a" * 300, "x"], f"'{'a' * 60}' is not an address", "use a name, an alias"),
    (["gate", "waiter", NO_GATE, ""], "'' is not an address", "use a name, an alias"),
    (["gate", "waiter", "gate_1", ""], "'' is not an address", "use a name, an alias"),
    (["plan", "set", "--id", f"plan_{'0' * 32}"], "there is nothing to change", "such as --after 5h"),
    (["agent", "replay", NO_RUN, "--model", "bad"], "model: 'bad' is not a model", "such as"),
    (["agent", "replay", NO_RUN, "--model", "m" * 301], "model", ""),
]


@pytest.mark.parametrize(("words", "message", "hint"), REFUSED)
def test_what_is_refused(office: Office, words: list[str], message: str, hint: str) -> None:
    ended = office(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.error.startswith(message)
    assert hint in ended.err


def test_as_many_aliases_as_there_may_be(office: Office) -> None:
    added = office.done("agent", "add", "many", "--json", *ALIASES[2:]).json
    assert len(added["aliases"]) == 50


def test_a_trigger_that_is_not_there(office: Office) -> None:
    ended = office("trigger", "show", "nobody")
    assert (ended.code, ended.error) == (1, "there is no trigger 'nobody'")
