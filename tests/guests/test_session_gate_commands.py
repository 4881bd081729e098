"""`gatepost gate`, the half about sessions: marks, looks, and how each ends."""

import json

import pytest

from gatepost.guests.hooks.session_gates import GATE_EVENTS
from tests.support.command_line import CommandLine, CommandResult

ONE_GATE_OR_EVENT = "give either NAME or --hook EVENT"
SESSION_ARGS = ("--session", "s-1")


def read_reasons(cli: CommandLine) -> dict[str, str]:
    return {row["name"]: row["reason"] or "open" for row in cli.run_ok("gate", "status", *SESSION_ARGS, "--json").json}


def test_a_gate_from_its_registration_to_its_end(cli: CommandLine) -> None:
    cli.run_ok("gate", "register", "tested", "--hint", "run the tests", "--closed")
    result = cli("gate", "check", *SESSION_ARGS)
    assert (result.code, result.out) == (1, "tested: it is not marked (run the tests)\n")
    cli.run_ok("gate", "mark", "tested", *SESSION_ARGS)
    assert cli.run_ok("gate", "check", *SESSION_ARGS) == CommandResult(0, "", "")
    assert cli("gate", "check", "--session", "another").code == 1
    assert cli.run_ok("gate", "clear", "tested", *SESSION_ARGS).err == "cleared tested\n"
    assert cli.run_ok("gate", "clear", "tested", *SESSION_ARGS).err == "nothing was marked\n"
    assert cli("gate", "check", *SESSION_ARGS).code == 1
    cli.run_ok("gate", "unregister", "tested")
    assert cli("gate", "check", *SESSION_ARGS).code == 0


def test_a_soft_one_counts_when_asked_for(cli: CommandLine) -> None:
    cli.run_ok("gate", "register", "said", "--soft")
    assert cli("gate", "check", *SESSION_ARGS).code == 0
    assert cli("gate", "check", *SESSION_ARGS, "--soft").out == "said: it is not marked\n"


def test_each_stands_at_its_event(cli: CommandLine) -> None:
    message = cli.run_ok("gate", "register", "careful", "--hook", "PreToolUse").err
    assert "run `gatepost hooks install`, so that programs call us at PreToolUse too" in message
    assert cli("gate", "check", *SESSION_ARGS).code == 0
    result = cli("gate", "check", "--hook", "PreToolUse", *SESSION_ARGS, "--json")
    assert (result.code, result.json["open"]) == (1, False)
    assert [gate["name"] for gate in result.json["gates"]] == ["careful"]
    cli.run_ok("gate", "mark", "careful", *SESSION_ARGS)
    cli.run_ok("gate", "clear", "--hook", "PreToolUse", *SESSION_ARGS)
    assert cli("gate", "check", "--hook", "PreToolUse", *SESSION_ARGS).code == 1


def test_what_holds_the_agent_in_the_store_counts_at_its_stop(cli: CommandLine) -> None:
    hook = json.dumps({"session_id": "s-1", "source": "startup"}).encode()
    cli.run_process("hook", "SessionStart", stdin=hook, GATEPOST_AGENT="analyst")
    cli.run_ok("gate", "add", "Sign-off", "--owner", "analyst", "--instruction", "wait for it")
    result = cli("gate", "check", *SESSION_ARGS)
    assert result.code == 1
    assert "Sign-off: wait for it (gate_" in result.out
    assert cli("gate", "check", "--hook", "PreToolUse", *SESSION_ARGS).code == 0


def test_how_they_stand_is_shown_and_not_changed(cli: CommandLine) -> None:
    cli.run_ok("gate", "register", "tested")
    before = read_reasons(cli)
    assert before == {"decision": "open", "commit-push": "open", "work-update": "open", "tested": "it is not marked"}
    assert read_reasons(cli) == before
    cli.run_ok("gate", "mark", "tested", *SESSION_ARGS)
    text = cli.run_ok("gate", "status", *SESSION_ARGS).out
    assert [line.split()[:4] for line in text.splitlines()][-1] == ["tested", "Stop", "strict", "marked"]


def test_within_a_session_it_need_not_be_named(cli: CommandLine) -> None:
    cli.run_ok("gate", "register", "tested")
    cli.run_ok("gate", "mark", "tested", CLAUDE_CODE_SESSION_ID="s-1")
    assert cli("gate", "check", *SESSION_ARGS).code == 0


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("mark", "tested"), 2, "no guest session is given"),
        (("mark", "tested", "--session", ""), 2, "--session is empty"),
        (("mark", "tested", *SESSION_ARGS), 1, "there is no session gate 'tested'"),
        (("mark", "../../etc", *SESSION_ARGS), 2, "'../../etc' is not a name of a session gate"),
        (("clear", *SESSION_ARGS), 2, "give either NAME or --hook EVENT"),
        (
            ("clear", "decision", "--hook", "Stop", *SESSION_ARGS),
            2,
            "give either NAME or --hook EVENT",
        ),
        (("check", "--hook", "stop", *SESSION_ARGS), 2, f"--hook: 'stop' is not one of {', '.join(GATE_EVENTS)}"),
        (("register", "decision"), 1, "the session gate 'decision' is built in"),
        (("register", "tested", "--hook", "Whenever"), 2, f"--hook: 'Whenever' is not one of {', '.join(GATE_EVENTS)}"),
        (("register", "tested", "--soft", "--closed"), 2, "a soft gate never blocks, so it cannot be closed"),
        (("register", "tested", "--hint", "a\nb"), 2, "the hint is too long, or has line breaks in it"),
        (("unregister", "tested"), 1, "there is no session gate 'tested'"),
    ],
)
def test_wrong_words(cli: CommandLine, words: tuple[str, ...], code: int, error: str) -> None:
    result = cli("gate", *words)
    assert (result.code, result.error) == (code, error)
    assert not (cli.home / "gates.json").exists()
    assert not (cli.home / "sessions").exists()


def test_a_list_that_cannot_be_read_is_said(cli: CommandLine) -> None:
    (cli.home / "gates.json").write_text("[{")
    result = cli("gate", "mark", "tested", *SESSION_ARGS)
    assert (result.code, result.error) == (3, f"the session gates in '{cli.home}/gates.json' cannot be read")
