"""`gatepost chat`, `gatepost inbox shared` and `gatepost reply` on a channel."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.command_line import CommandLine
from tests.support.gateways.gateway_process import GatewayProcess

EITHER_WAY = True


def test_a_text_is_sent_and_is_in_the_shared_inbox(cli: CommandLine) -> None:
    result = cli.run_ok("chat", "How far is it?", "--to", "analyst", "--as", "husam")
    assert result.err == "in the session cli-husam\n"
    [entry] = cli.run_ok("inbox", "shared", "--json").json
    assert entry["id"] == result.out.strip()
    assert (entry["kind"], entry["sessionId"], entry["sender"]) == ("user_prompt", "cli-husam", "husam")
    [item] = cli.run_ok("inbox", "list", "--to", "analyst", "--json").json
    assert (item["type"], item["content"], item["sender"]) == ("channel", "How far is it?", "husam")


def test_the_administrator_and_other_sessions(cli: CommandLine) -> None:
    assert cli.run_ok("chat", "-", "--to", "analyst", stdin=b"one\n").err == "in the session cli-main\n"
    travel = ("chat", "two", "--to", "analyst", "--as", "husam", "--session", "travel")
    assert cli.run_ok(*travel).err == "in the session cli-husam@travel\n"
    assert cli.run_ok("chat", "--reset", "--to", "analyst").out == "cli-main:reset-1\n"
    assert cli.run_ok("chat", "three", "--to", "analyst").err == "in the session cli-main:reset-1\n"
    rows = cli.run_ok("inbox", "shared", "--session", "cli-main").out.splitlines()
    assert [row.partition(": ")[2] for row in rows[1:]] == ['"one"']
    assert cli.run_ok("inbox", "shared", "--channel", "telegram").err == "no entries\n"


def test_nobody_gets_it_and_that_is_said(cli: CommandLine) -> None:
    result = cli.run_ok("chat", "hello")
    assert result.err.startswith("nobody gets it, and it is kept as dead_")
    assert cli("chat", "hello", "--wait", "--for", "1s").code == 1


def test_an_agent_asks_and_replies_there(cli: CommandLine) -> None:
    cli.run_ok("chat", "Ship?", "--to", "analyst", "--as", "husam")
    [item] = cli.run_ok("inbox", "list", "--to", "analyst", "--json").json
    words = ("--option", "yes=Ship it", "--option", "no", "--event", item["eventId"], "--as", "analyst")
    decision = cli.run_ok("decision", "ask", "Today?", *words).out.strip()
    [question] = cli.run_ok("inbox", "shared", "--pending", "--json").json
    assert (question["content"], question["askedBy"], question["decision"]) == ("Today?", "analyst", decision)
    assert cli.run_ok("chat", "ship it", "--as", "husam").err == "Noted: Ship it\n"
    assert cli.run_ok("decision", "show", decision, "--json").json["answer"]["by"] == "husam"
    assert cli.run_ok("reply", "cli-husam", "Shipped", "--as", "analyst").err == "sent on its channel\n"
    kinds = [(entry["kind"], entry["answer"]) for entry in cli.run_ok("inbox", "shared", "--json").json]
    assert kinds == [("user_prompt", None), ("system_question", "Ship it"), ("system_response", None)]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("chat", "x", "--to", "nobody"), "there is no entity 'nobody'"),
        (("chat", "x", "--to", "ALL"), "a chat is not with every agent"),
        (("chat", "x", "--as", "analyst"), "'analyst' is an agent, and only people chat"),
        (("chat", "x", "--session", "A B"), "'A B' is not a name of a session"),
        (("chat", "x", "--for", "1s"), "--for needs --wait"),
        (("chat", "--wait"), "--wait needs TEXT"),
        (("chat", "x", "--reset"), "TEXT and --reset cannot be combined"),
        (("inbox", "shared", "--kind", "poem"), "--kind: 'poem' is not a kind of entry"),
        (("inbox", "shared", "--pending", "--follow"), "--pending cannot be combined with --follow"),
        (("reply", "cli-husam", "x", "--as", "analyst"), "'analyst' got no prompt in the session 'cli-husam'"),
    ],
)
def test_mistakes_are_said_in_one_sentence(cli: CommandLine, words: tuple[str, ...], error: str) -> None:
    result = cli(*words)
    assert (result.code != 0, result.error) == (True, error)
    assert cli.run_ok("inbox", "shared", "--json").json == []


@contextmanager
def run_gateway(cli: CommandLine) -> Iterator[None]:
    """While entered, `gatepost up` runs in the home, with a resident that follows the rules of the demo."""
    cli.run_ok("agent", "add", "demo", "--model", "demo")
    gateway = GatewayProcess(cli.home)
    try:
        yield
    finally:
        gateway.stop()


@pytest.mark.parametrize("cli", ["alone"], indirect=True)
def test_a_resident_answers_while_one_waits(cli: CommandLine) -> None:
    with run_gateway(cli):
        result = cli.run_ok("chat", "hello", "--to", "demo", "--as", "husam", "--wait", "--for", "5m")
        assert result.out.startswith('(demo) Hello Husam! I heard you say "hello".')
        asked = cli.run_ok("chat", "Should we ship?", "--to", "demo", "--as", "husam", "--wait", "--for", "5m")
        assert asked.out.splitlines()[:3] == ["Should we ship?", "  yes: Yes", "  no: No"]
        answered = cli.run_ok("chat", "yes", "--to", "demo", "--as", "husam", "--wait", "--for", "5m")
        assert (answered.out, answered.err) == ("(demo) husam has decided: Yes\n", "Noted: Yes\n")
        cli.run_ok("agent", "add", "absent")
        unanswered = cli("chat", "hello", "--to", "absent", "--as", "husam", "--wait", "--for", "1s")
        assert (unanswered.code, unanswered.out, unanswered.err) == (1, "", "nobody has answered within 1s\n")


@pytest.mark.parametrize("cli", ["alone"], indirect=True)
def test_a_conversation(cli: CommandLine) -> None:
    lines = b"hello\n\nShould we ship?\nNo\n/reset\nhello again\n/quit\nnever read\n"
    with run_gateway(cli):
        result = cli.run_ok("chat", "--to", "demo", "--as", "husam", stdin=lines)
    assert [line.partition(" I heard")[0] for line in result.out.splitlines()] == [
        "demo: (demo) Hello Husam!",
        "demo: Should we ship?",
        "  yes: Yes",
        "  no: No",
        "demo: (demo) Husam, I have asked for a decision.",
        "demo: (demo) husam has decided: No",
        "demo: (demo) Hello Husam!",
    ]
    assert result.err == "Noted: No\nthe session begins anew as cli-husam:reset-1\n"


@pytest.mark.parametrize("cli", ["alone"], indirect=True)
def test_without_a_gateway_nobody_is_waited_for(cli: CommandLine) -> None:
    result = cli("chat", "hello", "--to", "analyst", "--wait")
    assert (result.code, result.out) == (1, "")
    assert result.err == "no gateway runs here, so no resident answers now: `gatepost up` starts one\n"
    conversation = cli.run_ok("chat", "--to", "analyst", stdin=b"one\ntwo\n")
    assert conversation.err.count("no gateway runs here") == 1
    assert len(cli.run_ok("inbox", "shared", "--json").json) == 3
