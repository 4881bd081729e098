"""`gatepost gate`, for gates that are in the store."""

import re
import threading

import pytest

from gatepost.core.gate import GateKind
from tests.acceptance.office import Ended, Office

EITHER_WAY = True

SIGNED = ("--owner", "analyst", "--awaits", "husam")


def add(office: Office, *words: str) -> str:
    return office.done("gate", "add", "Sign-off", *words).out.strip()


def test_add_list_show_resolve(office: Office) -> None:
    made = office.done("gate", "add", "Sign-off", *SIGNED, "--within", "2h", "--instruction", "Wait for Husam")
    gate = made.out.strip()
    assert re.fullmatch(r"gate_[0-9a-f]{32}", gate)
    assert made.err == "analyst may not stop until it has ended\n"
    heading, row = office.done("gate", "list", "--durable").out.splitlines()
    assert heading.split() == ["GATE", "KIND", "OWNER", "STATE", "DEADLINE", "NAME"]
    assert re.sub(r"\d{4}-\S+Z", "TIME", row).split() == [gate, "human", "analyst", "pending", "TIME", "Sign-off"]
    [listed] = office.done("gate", "list", "--durable", "--owner", "analyst", "--kind", "human", "--json").json
    assert (listed["holds"], listed["madeBy"], listed["instruction"]) == (True, "admin", "Wait for Husam")
    assert office.done("gate", "show", gate, "--json").json == listed

    assert office.done("gate", "waiter", gate, "bead-42").err == "quinn is told when it ends\n"
    assert len(office.done("gate", "list", "--durable", "--waiter", "quinn", "--json").json) == 1
    ended = office.done("gate", "resolve", gate, "--reason", "it is\nsigned", "--as", "husam")
    assert (ended.out, ended.err) == (f"{gate}\n", 'resolved by husam: "it is\\nsigned"\n')
    shown = office.done("gate", "show", gate).out
    assert "state        resolved\n" in shown
    assert "waiters      quinn\n" in shown
    for name in ("analyst", "quinn"):
        [item] = office.done("inbox", "list", "--to", name, "--json").json
        assert (item["type"], item["dedupKey"]) == ("gate", f"gate:{gate}")
    late = office("gate", "resolve", gate)
    assert (late.code, late.error) == (1, f"the gate {gate!r} was resolved already by 'husam': 'it is\\nsigned'")
    assert office.done("gate", "list", "--durable").err == "there is no pending gate\n"
    assert len(office.done("gate", "list", "--durable", "--all", "--json").json) == 1


def test_those_of_sessions_are_listed_beside(office: Office) -> None:
    gate = add(office, *SIGNED)
    rows = [line.split() for line in office.done("gate", "list").out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [
        [gate, "human"],
        ["decision", "session"],
        ["commit-push", "session"],
        ["work-update", "session"],
    ]
    assert [row[2] for row in rows[1:]] == ["off", "soft", "soft"]
    listed = office.done("gate", "list", "--kind", "session", "--json", GATEPOST_STOP_DECISION__ENABLED="true").json
    assert [(each["name"], each["mode"], each["active"]) for each in listed] == [
        ("decision", "strict", True),
        ("commit-push", "soft", True),
        ("work-update", "soft", True),
    ]


def test_withdraw_and_who_may(office: Office) -> None:
    gate = add(office, *SIGNED, "--as", "analyst")
    refused = office("gate", "resolve", gate, "--as", "analyst")
    assert (refused.code, refused.error) == (1, f"'analyst' cannot resolve the gate {gate!r}")
    assert "there is no gate" in office("gate", "withdraw", gate, "--as", "quinn").error
    assert office.done("gate", "withdraw", gate, GATEPOST_AGENT="analyst").err == "withdrawn by analyst\n"


def test_of_the_current_agent(office: Office) -> None:
    made = office.done("gate", "add", "Mine", "--json", GATEPOST_AGENT="quinn").json
    assert (made["owner"], made["madeBy"], made["awaits"]) == ("quinn", "quinn", "admin")


@pytest.mark.parametrize("kind", [GateKind.HUMAN, GateKind.TIMER, GateKind.EVENT, GateKind.MAIL])
def test_every_kind(office: Office, kind: GateKind) -> None:
    awaits = {"event": "service:jira", "mail": "quinn"}.get(kind)
    words = ["--awaits", awaits] if awaits else []
    made = office.done(
        *("gate", "add", "It", "--kind", kind, "--owner", "analyst", "--until", "2100-01-01T00:00:00+01:00", *words),
        *("--at-deadline", "escalate", "--fail", "closed", "--json"),
    ).json
    assert (made["kind"], made["deadline"]) == (kind.value, "2099-12-31T23:00:00Z")
    assert (made["atDeadline"], made["fail"]) == ("escalate", "closed")


@pytest.mark.parametrize("office", ["alone"], indirect=True)
def test_ci_of_a_repository_that_is_listed(office: Office) -> None:
    build = ("gate", "add", "The build", "--owner", "analyst", "--kind", "ci", "--awaits", "run:4711@acme/shop")
    refused = office(*build)
    assert refused.code == 1
    assert refused.error == "`ci` gates may not ask about the repository 'acme/shop': it is not in gates.ci"
    assert 'add "acme/shop" to gates.ci in gatepost.toml' in refused.err
    made = office.done(*build, "--json", GATEPOST_GATES__CI="acme/site, acme/shop").json
    assert (made["kind"], made["awaits"]) == ("ci", "run:4711@acme/shop")


def test_wait_for_what_has_ended(office: Office) -> None:
    resolved, withdrawn, pending = (add(office, *SIGNED) for _ in range(3))
    office.done("gate", "resolve", resolved, "--reason", "signed")
    office.done("gate", "withdraw", withdrawn)
    assert office.done("gate", "wait", resolved).err == 'resolved by admin: "signed"\n'
    assert office("gate", "wait", withdrawn) == Ended(1, f"{withdrawn}\n", "withdrawn by admin\n")
    assert office("gate", "wait", pending, "--for", "1ms") == Ended(1, f"{pending}\n", "pending\n")
    ended = office("gate", "wait", withdrawn, "--json")
    assert (ended.code, ended.json["status"]) == (1, "withdrawn")


def test_wait_for_what_ends_meanwhile(office: Office) -> None:
    """A process waits while the gate is resolved here."""
    gate = add(office, *SIGNED)
    waited: list[Ended] = []
    waiting = threading.Thread(target=lambda: waited.append(office.process("gate", "wait", gate)))
    waiting.start()
    office.done("gate", "resolve", gate, "--as", "husam")
    waiting.join(60)
    assert waited == [Ended(0, f"{gate}\n", "resolved by husam\n")]
