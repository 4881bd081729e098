"""`gatepost agent` and `gatepost person`."""

from tests.acceptance.office import Office

EITHER_WAY = True


def test_add_show_list_retire(gatepost: Office) -> None:
    made = gatepost.done(
        "agent", "add", "quinn", "--display", "Quinn", "--team", "web", "--role", "lead", "--json"
    ).json
    assert made["createdAt"]
    assert {name: made[name] for name in ("name", "kind", "displayName", "team", "role", "owner", "aliases")} == {
        "name": "quinn",
        "kind": "agent",
        "displayName": "Quinn",
        "team": "web",
        "role": "lead",
        "owner": "admin",
        "aliases": [],
    }
    assert [each["name"] for each in gatepost.done("agent", "list", "--json").json] == ["quinn"]
    assert gatepost.done("agent", "list", "--team", "sales").err == "there is nobody in the team 'sales'\n"
    gatepost.push("--to", "quinn", "hello")
    shown = gatepost.done("agent", "show", "quinn", "--json").json
    assert shown["inbox"]["accepted"] == shown["inbox"]["pending"] == 1
    assert "pending    1" in gatepost.done("agent", "show", "quinn").out

    assert gatepost.done("agent", "retire", "quinn").out == "quinn\n"
    assert gatepost.done("agent", "list").err == "there is nobody\n"
    assert "(retired)" in gatepost.done("agent", "list", "--retired").out
    assert "retired already" in gatepost("agent", "retire", "quinn").error
    late = gatepost("inbox", "push", "--to", "quinn", "hello")
    assert (late.code, late.error) == (1, "'quinn' is retired and receives nothing")


def test_people_and_agents_are_kept_apart(office: Office) -> None:
    assert [each["name"] for each in office.done("person", "list", "--json").json] == ["admin", "husam"]
    assert office("agent", "show", "husam").error == "'husam' is a person, not an agent"
    assert office("person", "retire", "quinn").error == "'quinn' is an agent, not a person"
    assert "cannot be retired" in office("person", "retire", "admin").error
    assert office.done("person", "show", "husam", "--json").json["kind"] == "human"


def test_an_alias_is_a_name(office: Office) -> None:
    assert office.done("agent", "show", "bead-42", "--json").json["aliases"] == ["bead-42"]
    taken = office("agent", "add", "bead-42")
    assert (taken.code, taken.error) == (1, "the name 'bead-42' is taken: it is an alias of 'quinn'")


def test_limit(office: Office) -> None:
    one = office.done("agent", "list", "--limit", "1")
    assert len(one.out.splitlines()) == 2
    assert one.err == "there are more than 1: raise --limit\n"
