"""`gatepost gate`, the half about sessions: marks, looks, and how each ends."""

import json

import pytest

from tests.acceptance.office import Ended, Office

HERE = ("--session", "s-1")


def states(office: Office) -> dict[str, str]:
    return {each["name"]: each["reason"] or "open" for each in office.done("gate", "status", *HERE, "--json").json}


def test_a_gate_from_its_registration_to_its_end(office: Office) -> None:
    office.done("gate", "register", "tested", "--hint", "run the tests", "--closed")
    shut = office("gate", "check", *HERE)
    assert (shut.code, shut.out) == (1, "tested: it is not marked (run the tests)\n")
    office.done("gate", "mark", "tested", *HERE)
    assert office.done("gate", "check", *HERE) == Ended(0, "", "")
    assert office("gate", "check", "--session", "another").code == 1
    assert office.done("gate", "clear", "tested", *HERE).err == "cleared tested\n"
    assert office.done("gate", "clear", "tested", *HERE).err == "nothing was marked\n"
    assert office("gate", "check", *HERE).code == 1
    office.done("gate", "unregister", "tested")
    assert office("gate", "check", *HERE).code == 0


def test_a_soft_one_counts_when_asked_for(office: Office) -> None:
    office.done("gate", "register", "said", "--soft")
    assert office("gate", "check", *HERE).code == 0
    assert office("gate", "check", *HERE, "--soft").out == "said: it is not marked\n"


def test_each_stands_at_its_event(office: Office) -> None:
    told = office.done("gate", "register", "careful", "--hook", "PreToolUse").err
    assert "`gatepost hooks install` has programs call us at PreToolUse too" in told
    assert office("gate", "check", *HERE).code == 0
    checked = office("gate", "check", "--hook", "PreToolUse", *HERE, "--json")
    assert (checked.code, checked.json["open"]) == (1, False)
    assert [each["name"] for each in checked.json["gates"]] == ["careful"]
    office.done("gate", "mark", "careful", *HERE)
    office.done("gate", "clear", "--hook", "PreToolUse", *HERE)
    assert office("gate", "check", "--hook", "PreToolUse", *HERE).code == 1


def test_what_holds_the_agent_in_the_store_counts_at_its_stop(office: Office) -> None:
    hook = json.dumps({"session_id": "s-1", "source": "startup"}).encode()
    office.process("hook", "SessionStart", stdin=hook, GATEPOST_AGENT="analyst")
    office.done("gate", "add", "Sign-off", "--owner", "analyst", "--instruction", "wait for it")
    checked = office("gate", "check", *HERE)
    assert checked.code == 1
    assert "Sign-off: wait for it (gate_" in checked.out
    assert office("gate", "check", "--hook", "PreToolUse", *HERE).code == 0


def test_how_they_stand_is_shown_and_not_changed(office: Office) -> None:
    office.done("gate", "register", "tested")
    before = states(office)
    assert before == {"decision": "open", "commit-push": "open", "work-update": "open", "tested": "it is not marked"}
    assert states(office) == before
    office.done("gate", "mark", "tested", *HERE)
    shown = office.done("gate", "status", *HERE).out
    assert [line.split()[:4] for line in shown.splitlines()][-1] == ["tested", "Stop", "strict", "marked"]


def test_within_a_session_it_need_not_be_named(office: Office) -> None:
    office.done("gate", "register", "tested")
    office.done("gate", "mark", "tested", CLAUDE_CODE_SESSION_ID="s-1")
    assert office("gate", "check", *HERE).code == 0


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("mark", "tested"), 2, "no session is named"),
        (("mark", "tested", "--session", ""), 2, "--session is empty"),
        (("mark", "tested", *HERE), 1, "there is no session gate 'tested'"),
        (("mark", "../../etc", *HERE), 2, "'../../etc' is not a name of a session gate"),
        (("clear", *HERE), 2, "name one gate, or an event with --hook"),
        (("clear", "decision", "--hook", "Stop", *HERE), 2, "name one gate, or an event with --hook"),
        (("check", "--hook", "stop", *HERE), 2, "'stop' is no event for a gate"),
        (("register", "decision"), 1, "the session gate 'decision' is built in"),
        (("register", "tested", "--hook", "Whenever"), 2, "'Whenever' is no event for a gate"),
        (("register", "tested", "--soft", "--closed"), 2, "a soft gate holds nobody, so it cannot be closed"),
        (("register", "tested", "--hint", "a\nb"), 2, "the hint is too long, or has line breaks in it"),
        (("unregister", "tested"), 1, "there is no session gate 'tested'"),
    ],
)
def test_wrong_words(office: Office, words: tuple[str, ...], code: int, error: str) -> None:
    ended = office("gate", *words)
    assert (ended.code, ended.error) == (code, error)
    assert not (office.home / "gates.json").exists()
    assert not (office.home / "sessions").exists()


def test_a_list_that_cannot_be_read_is_said(office: Office) -> None:
    (office.home / "gates.json").write_text("[{")
    ended = office("gate", "mark", "tested", *HERE)
    assert (ended.code, ended.error) == (3, f"the session gates in '{office.home}/gates.json' cannot be read")
