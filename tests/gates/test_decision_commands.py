"""`gatepost decision`."""

import re
import threading
from typing import Any, NoReturn

import pytest

from gatepost import app, settings
from gatepost.gates import decision_commands as decision_command
from gatepost.guests import session_actions as sessions
from gatepost.guests.hooks.session_state import Session
from tests.guests.hooks.hook_calls import run_hook
from tests.support.command_line import WITHOUT_GATEWAY, CommandLine, CommandResult
from tests.support.waits import LAST_RESORT

EITHER_WAY = True

SHIP_ARGS = ("Ship it?", "--option", "ship=Ship it", "--option", "wait", "--as", "analyst", "--of", "husam")


def ask_decision(cli: CommandLine, *words: str) -> str:
    return cli.run_ok("decision", "ask", *SHIP_ARGS, *words).out.strip()


def begin_session(cli: CommandLine, id: str, agent: str) -> None:
    with app.prepare_store(settings.load(cli.environ)) as store:
        store.run_sync(sessions.begin, id, agent=agent, host="claude")


def test_ask_list_show_answer(cli: CommandLine) -> None:
    ask_result = cli.run_ok(
        "decision", "ask", *SHIP_ARGS, "--of", "team:web", "--ref", "task:0.0.1", "--context", "All green"
    )
    decision = ask_result.out.strip()
    assert re.fullmatch(r"dec_[0-9a-f]{32}", decision)
    assert ask_result.err == "quinn, husam are asked\n"
    heading, row = cli.run_ok("decision", "list").out.splitlines()
    assert heading.split() == ["DECISION", "STATE", "BY", "ASKED", "DEADLINE", "QUESTION"]
    assert row.split(maxsplit=4) == [decision, "pending", "analyst", "quinn,", 'husam            "Ship it?"']
    show_result = cli.run_ok("decision", "show", decision)
    assert "asked by  analyst\n" in show_result.out
    assert "  Ship it?\n\n  All green\n" in show_result.out
    assert [line.split() for line in show_result.out.splitlines()[-2:]] == [["ship", "Ship", "it"], ["wait", "wait"]]
    document = cli.run_ok("decision", "show", decision, "--json").json
    assert document["ref"] == {"type": "task", "id": "0.0.1"}
    assert [option["id"] for option in document["options"]] == ["ship", "wait"]
    [item] = cli.run_ok("inbox", "list", "--to", "husam", "--json").json
    assert (item["type"], item["data"]["contextHash"]) == ("decision", document["contextHash"])
    assert item["dedupKey"] == f"decision:{decision}:1"

    hash_args = ("--hash", document["contextHash"])
    answer_result = cli.run_ok(
        "decision", "answer", decision, "ship", "--text", "go\u2028on", "--as", "husam", *hash_args
    )
    assert (answer_result.out, answer_result.err) == (
        f"{decision}\n",
        'answered by husam: ship "go\\u2028on"; analyst gets the answer\n',
    )
    late_result = cli("decision", "answer", decision, "wait", "--as", "quinn")
    assert (late_result.code, late_result.error) == (
        1,
        f"the decision {decision!r} was answered already by 'husam': 'Ship it - go\\u2028on'",
    )
    assert cli.run_ok("decision", "list").err == "no decisions are open\n"
    [row_document] = cli.run_ok("decision", "list", "--all", "--by", "analyst", "--of", "quinn", "--json").json
    assert (row_document["status"], row_document["answer"]["option"], row_document["answer"]["by"]) == (
        "answered",
        "ship",
        "husam",
    )
    [answer_item] = cli.run_ok("inbox", "list", "--to", "analyst", "--json").json
    assert (answer_item["priority"], answer_item["dedupKey"]) == (1, f"decision:{decision}:1")
    assert cli.run_ok("inbox", "list", "--to", "husam", "--json").json == []


def test_sent_back_and_revised(cli: CommandLine) -> None:
    begin_session(cli, "s-1", "analyst")
    decision = ask_decision(cli, "--text", "--session", "s-1")
    answer_result = cli.run_ok("decision", "answer", decision, "--text", "When?", "--again", "--as", "husam")
    assert answer_result.err == 'sent back by husam: "When?"; analyst gets the answer\n'
    assert cli("decision", "wait", decision) == CommandResult(1, "", 'not answered: sent back by husam: "When?"\n')
    words = ("Ship it on Monday?", "--option", "yes", "--option", "no")
    assert cli("decision", "check", "--as", "analyst").code == 0, "it is for who asked to go on with"
    revision = cli.run_ok("decision", "revise", decision, *words, "--as", "analyst", "--json").json
    assert cli("decision", "check", "--as", "analyst").code == 1, "what is asked now was not answered yet"
    refusal = cli("decision", "answer", decision, "--text", "Which Monday?", "--again", "--as", "husam")
    assert (refusal.code, refusal.error) == (2, "this decision cannot be sent back: it takes no free text")
    assert (revision["iteration"], revision["guidance"], revision["session"]) == (2, "When?", "s-1")
    assert cli.run_ok("decision", "answer", decision, "no", "--as", "husam").err.startswith("answered by husam: no")
    rounds = cli.run_ok("decision", "show", decision).out.splitlines()[-2:]
    assert [line.split()[:3] for line in rounds] == [["1", "again", "husam"], ["2", "answered", "husam"]]


def test_in_a_session_of_a_guest(cli: CommandLine) -> None:
    """Whose session it is asks, whether it is named or the command is given in it."""
    begin_session(cli, "s-9", "quinn")
    Session(cli.home, "s-9").update(lambda state: state._replace(agent="quinn"))
    named_decision = cli.run_ok("decision", "ask", "Why?", "--text", "--session", "s-9", "--json").json
    session_decision = cli.run_ok("decision", "ask", "Why?", "--text", "--json", CLAUDE_CODE_SESSION_ID="s-9").json
    for decision in (named_decision, session_decision):
        assert (decision["asker"], decision["session"]) == ("quinn", "s-9")
    assert len(cli.run_ok("decision", "list", "--session", "s-9", "--json").json) == 2
    for asker in ([], ["--as", "quinn"]):
        unknown_result = cli("decision", "ask", "Why?", "--text", "--session", "s-8", *asker)
        assert (unknown_result.code, unknown_result.error) == (1, "there is no guest session 's-8'")


def test_check(cli: CommandLine) -> None:
    check_args = ("decision", "check", "--as", "analyst", "--since", "5m")
    begin_session(cli, "s-1", "analyst")
    decision = ask_decision(cli, "--session", "s-1")
    empty_result = cli(*check_args)
    assert (empty_result.code, empty_result.out) == (1, "")
    assert re.fullmatch(r"no decision has ended since \S+Z\n", empty_result.err)
    cli.run_ok("decision", "answer", decision, "--reject", "--as", "husam")
    assert "rejected by husam" in cli.run_ok(*check_args, "--session", "s-1").out
    assert [row["id"] for row in cli.run_ok(*check_args, "--json").json] == [decision]
    other_result = cli("decision", "check", "--json", GATEPOST_AGENT="quinn")
    assert (other_result.code, other_result.out) == (1, "[]\n")
    assert cli(*check_args, "--session", "s-2").code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("answer", "--reject", "--text", "not mine", "--as", "husam"), 'rejected by husam: "not mine"\n'),
        (("withdraw", "--reason", "found out", "--as", "analyst"), 'withdrawn by analyst: "found out"\n'),
    ],
    ids=["rejected", "withdrawn"],
)
def test_wait_for_what_ended_otherwise(cli: CommandLine, words: tuple[str, ...], message: str) -> None:
    decision = ask_decision(cli)
    verb, *rest = words
    cli.run_ok("decision", verb, decision, *rest)
    assert cli("decision", "wait", decision) == CommandResult(1, "", f"not answered: {message}")
    result = cli("decision", "wait", decision, "--json")
    assert (result.code, result.json["answer"]["outcome"]) == (1, message.split(maxsplit=1)[0])


def test_wait_in_vain(cli: CommandLine) -> None:
    decision = ask_decision(cli)
    assert cli("decision", "wait", decision, "--for", "1ms") == CommandResult(1, "", "not answered: it is pending\n")


def test_ask_and_wait(cli: CommandLine) -> None:
    """A process asks and waits; the question is answered here."""
    results: list[CommandResult] = []
    words = ("decision", "ask", *SHIP_ARGS, "--text", "--wait")
    thread = threading.Thread(target=lambda: results.append(cli.run_process(*words)))
    thread.start()
    while not (decisions := cli.run_ok("decision", "list", "--json").json):
        assert thread.is_alive(), results
    cli.run_ok("decision", "answer", decisions[0]["id"], "ship", "--text", "at\nonce", "--as", "husam")
    thread.join(LAST_RESORT)
    assert results == [CommandResult(0, "ship\nat\nonce\n", f"{decisions[0]['id']}: husam is asked, waiting\n")]


def ask_and_answer(cli: CommandLine, *words: str, **environ: Any) -> CommandResult:
    """Let a process ask and wait, and answer the question meanwhile."""
    results: list[CommandResult] = []
    thread = threading.Thread(
        target=lambda: results.append(cli.run_process("decision", "ask", *words, "--wait", **environ))
    )
    thread.start()
    while not (decisions := cli.run_ok("decision", "list", "--json").json):
        assert thread.is_alive(), results
    cli.run_ok("decision", "answer", decisions[0]["id"], "ship", "--as", decisions[0]["asked"][0])
    thread.join(LAST_RESORT)
    [result] = results
    assert (result.code, result.out) == (0, "ship\n")
    return result


def read_state(cli: CommandLine, name: str) -> str:
    """Return the state of the answer in an inbox."""
    [item] = [
        item for item in cli.run_ok("inbox", "list", "--to", name, "--all", "--json").json if item["type"] == "decision"
    ]
    state: str = item["state"]
    return state


@pytest.mark.parametrize(("asker", "respondent"), [("analyst", "husam"), ("husam", "analyst")])
def test_an_answer_that_was_printed_is_delivered(cli: CommandLine, asker: str, respondent: str) -> None:
    """To an agent, and to a person."""
    ask_and_answer(cli, "Ship it?", "--option", "ship", "--as", asker, "--of", respondent)
    assert read_state(cli, asker) == "delivered"


def test_an_answer_that_somebody_else_waited_for_is_pending(cli: CommandLine) -> None:
    decision = ask_decision(cli)
    cli.run_ok("decision", "answer", decision, "ship", "--as", "husam")
    cli.run_ok("decision", "wait", decision)
    assert read_state(cli, "analyst") == "pending"


@pytest.mark.parametrize(
    ("event", "is_shown_again", "state"), [("Stop", False, "delivered"), ("UserPromptSubmit", True, "claimed")]
)
def test_an_answer_that_was_printed_to_a_guest_waits_for_a_proof(
    cli: CommandLine, event: str, is_shown_again: bool, state: str
) -> None:
    """It comes with the output of the tool, and again only if no reply of the model shows that it was read."""
    for first_event in ("SessionStart", "UserPromptSubmit"):
        run_hook(cli, first_event)
    ask_and_answer(cli, *SHIP_ARGS, CLAUDE_CODE_SESSION_ID="s-1")
    assert read_state(cli, "analyst") == "claimed"
    assert "answered by" not in run_hook(cli, "PostToolUse").out
    assert ("answered by" in run_hook(cli, event).out) == is_shown_again
    assert read_state(cli, "analyst") == state


def test_who_stops_waiting_is_told_how_to_wait_again(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(decision_command, "poll", interrupt)
    result = cli("decision", "ask", *SHIP_ARGS, "--wait")
    [decision] = cli.run_ok("decision", "list", "--json").json
    assert (result.code, result.out) == (130, "")
    assert result.err.splitlines()[-1] == (
        f"the question is still open: `gatepost decision wait {decision['id']}` waits for the answer"
    )


@WITHOUT_GATEWAY
def test_a_deadline_without_a_gateway(cli: CommandLine) -> None:
    """Whoever waits has what is due end, though nobody else would."""
    expired_result = cli("decision", "ask", *SHIP_ARGS, "--within", "1ms", "--wait")
    assert (expired_result.code, expired_result.out) == (1, "")
    assert expired_result.err.splitlines()[-1] == "not answered: expired"
    default_result = cli.run_ok("decision", "ask", *SHIP_ARGS, "--within", "1ms", "--default", "wait", "--wait")
    assert default_result.out == "wait\n"
    timer = cli.run_ok("gate", "add", "Soon", "--kind", "timer", "--owner", "analyst", "--within", "1ms").out.strip()
    assert cli.run_ok("gate", "wait", timer).err == 'the gate was resolved: "the time has come"\n'
