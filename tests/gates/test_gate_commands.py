"""`gatepost gate`, for gates that are in the store."""

import re
import threading

import pytest

from gatepost.gates.gate import GateKind
from tests.support.command_line import EITHER_WAY_BY_DAY, CommandLine, CommandResult
from tests.support.waits import LAST_RESORT

EITHER_WAY = True

SIGN_OFF_ARGS = ("--owner", "analyst", "--awaits", "husam")


def add_gate(cli: CommandLine, *words: str) -> str:
    return cli.run_ok("gate", "add", "Sign-off", *words).out.strip()


def test_add_list_show_resolve(cli: CommandLine) -> None:
    add_result = cli.run_ok(
        "gate", "add", "Sign-off", *SIGN_OFF_ARGS, "--within", "2h", "--instruction", "Wait for Husam"
    )
    gate = add_result.out.strip()
    assert re.fullmatch(r"gate_[0-9a-f]{32}", gate)
    assert add_result.err == "analyst may not stop until it has ended\n"
    heading, row = cli.run_ok("gate", "list", "--durable").out.splitlines()
    assert heading.split() == ["GATE", "KIND", "OWNER", "STATE", "DEADLINE", "NAME"]
    assert re.sub(r"\d{4}-\S+Z", "TIME", row).split() == [gate, "human", "analyst", "pending", "TIME", "Sign-off"]
    [row_document] = cli.run_ok("gate", "list", "--durable", "--owner", "analyst", "--kind", "human", "--json").json
    assert (row_document["holds"], row_document["madeBy"], row_document["instruction"]) == (
        True,
        "admin",
        "Wait for Husam",
    )
    assert cli.run_ok("gate", "show", gate, "--json").json == row_document

    assert cli.run_ok("gate", "waiter", gate, "bead-42").err == "quinn gets an event when it ends\n"
    assert len(cli.run_ok("gate", "list", "--durable", "--waiter", "quinn", "--json").json) == 1
    resolve_result = cli.run_ok("gate", "resolve", gate, "--reason", "it is\nsigned", "--as", "husam")
    assert (resolve_result.out, resolve_result.err) == (
        f"{gate}\n",
        'the gate was resolved by husam: "it is\\nsigned"\n',
    )
    text = cli.run_ok("gate", "show", gate).out
    assert "state        resolved\n" in text
    assert "waiters      quinn\n" in text
    for name in ("analyst", "quinn"):
        [item] = cli.run_ok("inbox", "list", "--to", name, "--json").json
        assert (item["type"], item["dedupKey"]) == ("gate", f"gate:{gate}")
    late_result = cli("gate", "resolve", gate)
    assert (late_result.code, late_result.error) == (
        1,
        f"the gate {gate!r} was resolved already by 'husam': 'it is\\nsigned'",
    )
    assert cli.run_ok("gate", "list", "--durable").err == "no pending gates\n"
    assert len(cli.run_ok("gate", "list", "--durable", "--all", "--json").json) == 1


def test_a_person_is_not_kept_from_stopping(cli: CommandLine) -> None:
    refusal = cli("gate", "add", "Sign-off", "--owner", "husam")
    assert (refusal.code, refusal.error) == (1, "'husam' is a person, and a gate keeps an agent from stopping")
    assert "`--waiter husam` lets a person know when it ends" in refusal.err
    assert cli.run_ok("gate", "list", "--durable").err == "no pending gates\n"


def test_those_of_sessions_are_listed_beside(cli: CommandLine) -> None:
    gate = add_gate(cli, *SIGN_OFF_ARGS)
    rows = [line.split() for line in cli.run_ok("gate", "list").out.splitlines()[1:]]
    assert [row[:2] for row in rows] == [
        [gate, "human"],
        ["decision", "session"],
        ["commit-push", "session"],
        ["work-update", "session"],
    ]
    assert [row[2] for row in rows[1:]] == ["off", "soft", "soft"]
    session_gates = cli.run_ok(
        "gate", "list", "--kind", "session", "--json", GATEPOST_STOP_DECISION__ENABLED="true"
    ).json
    assert [(gate_row["name"], gate_row["mode"], gate_row["active"]) for gate_row in session_gates] == [
        ("decision", "strict", True),
        ("commit-push", "soft", True),
        ("work-update", "soft", True),
    ]


def test_withdraw_and_who_may(cli: CommandLine) -> None:
    gate = add_gate(cli, *SIGN_OFF_ARGS, "--as", "analyst")
    refusal = cli("gate", "resolve", gate, "--as", "analyst")
    assert (refusal.code, refusal.error) == (1, f"'analyst' cannot resolve the gate {gate!r}")
    refusal = cli("gate", "withdraw", gate, "--as", "quinn")
    assert (refusal.code, refusal.error) == (1, f"{gate!r} does not concern 'quinn'")
    assert cli.run_ok("gate", "withdraw", gate, GATEPOST_AGENT="analyst").err == "the gate was withdrawn by analyst\n"


def test_of_the_current_agent(cli: CommandLine) -> None:
    gate = cli.run_ok("gate", "add", "Mine", "--json", GATEPOST_AGENT="quinn").json
    assert (gate["owner"], gate["madeBy"], gate["awaits"]) == ("quinn", "quinn", "admin")


@pytest.mark.parametrize("kind", [GateKind.HUMAN, GateKind.TIMER, GateKind.EVENT, GateKind.MAIL])
def test_every_kind(cli: CommandLine, kind: GateKind) -> None:
    awaits = {"event": "service:jira", "mail": "quinn"}.get(kind)
    words = ["--awaits", awaits] if awaits else []
    gate = cli.run_ok(
        *("gate", "add", "It", "--kind", kind, "--owner", "analyst", "--until", "2100-01-01T00:00:00+01:00", *words),
        *("--at-deadline", "escalate", "--fail", "closed", "--json"),
    ).json
    assert (gate["kind"], gate["deadline"]) == (kind.value, "2099-12-31T23:00:00Z")
    assert (gate["atDeadline"], gate["fail"]) == ("escalate", "closed")


@pytest.mark.parametrize("cli", ["alone"], indirect=True)
def test_ci_of_a_repository_that_is_listed(cli: CommandLine) -> None:
    build = ("gate", "add", "The build", "--owner", "analyst", "--kind", "ci", "--awaits", "run:4711@acme/shop")
    refusal = cli(*build)
    assert refusal.code == 1
    assert refusal.error == "`ci` gates may not ask about the repository 'acme/shop': it is not in gates.ci"
    assert 'add "acme/shop" to gates.ci in gatepost.toml' in refusal.err
    gate = cli.run_ok(*build, "--json", GATEPOST_GATES__CI="acme/site, acme/shop").json
    assert (gate["kind"], gate["awaits"]) == ("ci", "run:4711@acme/shop")


def test_wait_for_what_has_ended(cli: CommandLine) -> None:
    resolved_gate, withdrawn_gate, pending_gate = (add_gate(cli, *SIGN_OFF_ARGS) for _ in range(3))
    cli.run_ok("gate", "resolve", resolved_gate, "--reason", "signed")
    cli.run_ok("gate", "withdraw", withdrawn_gate)
    assert cli.run_ok("gate", "wait", resolved_gate).err == 'the gate was resolved by admin: "signed"\n'
    assert cli("gate", "wait", withdrawn_gate) == CommandResult(
        1, f"{withdrawn_gate}\n", "the gate was withdrawn by admin\n"
    )
    result = cli("gate", "wait", pending_gate, "--for", "1ms")
    assert result == CommandResult(1, f"{pending_gate}\n", "the gate is still pending\n")
    result = cli("gate", "wait", withdrawn_gate, "--json")
    assert (result.code, result.json["status"]) == (1, "withdrawn")


def test_an_end_that_was_printed_to_its_waiter_is_delivered(cli: CommandLine) -> None:
    gate = add_gate(cli, *SIGN_OFF_ARGS)
    cli.run_ok("gate", "resolve", gate)
    for agent, state in (("quinn", "pending"), ("analyst", "delivered")):
        cli.run_ok("gate", "wait", gate, GATEPOST_AGENT=agent)
        items = cli.run_ok("inbox", "list", "--to", "analyst", "--all", "--json").json
        assert [item["state"] for item in items if item["type"] == "gate"] == [state]


@EITHER_WAY_BY_DAY
def test_wait_for_what_ends_meanwhile(cli: CommandLine) -> None:
    """A process waits while the gate was resolved here."""
    gate = add_gate(cli, *SIGN_OFF_ARGS)
    results: list[CommandResult] = []
    thread = threading.Thread(target=lambda: results.append(cli.run_process("gate", "wait", gate)))
    thread.start()
    cli.run_ok("gate", "resolve", gate, "--as", "husam")
    thread.join(LAST_RESORT)
    assert results == [CommandResult(0, f"{gate}\n", "the gate was resolved by husam\n")]
