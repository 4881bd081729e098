"""`gatepost agent` and `gatepost person`."""

import pytest

from tests.support.command_line import CommandLine

EITHER_WAY = True


def test_add_show_list_retire(empty_cli: CommandLine) -> None:
    agent = empty_cli.run_ok(
        "agent", "add", "quinn", "--display", "Quinn", "--team", "web", "--role", "lead", "--json"
    ).json
    assert agent["createdAt"]
    assert {name: agent[name] for name in ("name", "kind", "displayName", "team", "role", "owner", "aliases")} == {
        "name": "quinn",
        "kind": "agent",
        "displayName": "Quinn",
        "team": "web",
        "role": "lead",
        "owner": "admin",
        "aliases": [],
    }
    assert [row["name"] for row in empty_cli.run_ok("agent", "list", "--json").json] == ["quinn"]
    assert empty_cli.run_ok("agent", "list", "--team", "sales").err == "no agents in the team 'sales'\n"
    empty_cli.push("--to", "quinn", "hello")
    agent_details = empty_cli.run_ok("agent", "show", "quinn", "--json").json
    assert agent_details["inbox"]["accepted"] == agent_details["inbox"]["pending"] == 1
    assert "pending    1" in empty_cli.run_ok("agent", "show", "quinn").out

    assert empty_cli.run_ok("agent", "retire", "quinn").out == "quinn\n"
    assert empty_cli.run_ok("agent", "list").err == "no agents yet\n"
    assert "(retired)" in empty_cli.run_ok("agent", "list", "--retired").out
    assert "retired already" in empty_cli("agent", "retire", "quinn").error
    late_result = empty_cli("inbox", "push", "--to", "quinn", "hello")
    assert (late_result.code, late_result.error) == (1, "'quinn' is retired and receives nothing")


def test_people_and_agents_are_kept_apart(cli: CommandLine) -> None:
    assert [row["name"] for row in cli.run_ok("person", "list", "--json").json] == ["admin", "husam"]
    assert cli("agent", "show", "husam").error == "'husam' is a person, not an agent"
    assert cli("person", "retire", "quinn").error == "'quinn' is an agent, not a person"
    assert "cannot be retired" in cli("person", "retire", "admin").error
    assert cli.run_ok("person", "show", "husam", "--json").json["kind"] == "human"


def test_an_alias_is_a_name(cli: CommandLine) -> None:
    assert cli.run_ok("agent", "show", "bead-42", "--json").json["aliases"] == ["bead-42"]
    refusal = cli("agent", "add", "bead-42")
    assert (refusal.code, refusal.error) == (1, "the name 'bead-42' is taken: it is an alias of 'quinn'")


def test_out_of_a_team_and_under_another_name(cli: CommandLine) -> None:
    agent = cli.run_ok("agent", "set", "quinn", "--no-team", "--alias", "shop-7", "--alias", "q", "--json").json
    assert (agent["team"], agent["role"], agent["aliases"]) == (None, None, ["bead-42", "q", "shop-7"])
    agent = cli.run_ok("agent", "set", "q", "--no-alias", "q", "--no-alias", "bead-42", "--json").json
    assert (agent["name"], agent["aliases"]) == ("quinn", ["shop-7"])
    cli.push("--to", "shop-7", "hello")
    unknown = cli("agent", "set", "quinn", "--no-alias", "bead-42")
    assert (unknown.code, unknown.error) == (1, "'bead-42' is not an alias of 'quinn'")
    assert "hint: it has 'shop-7'\n" in unknown.err
    taken = cli("agent", "set", "quinn", "--alias", "analyst")
    assert (taken.code, taken.error.startswith("the name 'analyst' is taken")) == (1, True)
    assert cli("agent", "set", "quinn", "--no-team", "--team", "web").error == (
        "--no-team cannot be combined with --team or --role"
    )


@pytest.mark.parametrize(
    "words",
    [
        ("agent", "set", "quinn", "--owner", "quinn"),
        ("agent", "set", "quinn", "--owner", "bead-42"),
        ("agent", "set", "bead-42", "--owner", "quinn"),
        ("agent", "add", "zed", "--owner", "zed"),
        ("person", "add", "zed", "--owner", "z", "--alias", "z"),
    ],
)
def test_nobody_owns_itself(cli: CommandLine, words: tuple[str, ...]) -> None:
    refusal = cli(*words)
    assert (refusal.code, "cannot own itself" in refusal.error) == (2, True)
    assert cli.run_ok("agent", "show", "quinn", "--json").json["owner"] == "admin"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("agent", "add", "zed", "--display", ""), "--display is empty"),
        (("agent", "set", "quinn", "--display", " "), "--display is empty"),
        (("key", "create", "--name", ""), "--name is empty"),
    ],
)
def test_an_empty_label_is_an_unset_variable(cli: CommandLine, words: tuple[str, ...], error: str) -> None:
    refusal = cli(*words)
    assert (refusal.code, refusal.error) == (2, error)


def test_limit(cli: CommandLine) -> None:
    result = cli.run_ok("agent", "list", "--limit", "1")
    assert len(result.out.splitlines()) == 2
    assert result.err == "there are more than 1: raise --limit\n"
