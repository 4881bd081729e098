"""`gatepost decision`."""

import re
import threading

import pytest

from gatepost import app, settings
from gatepost.actions import sessions
from gatepost.hooks.session import Session
from tests.acceptance.office import ALONE, Ended, Office

EITHER_WAY = True

SHIP = ("Ship it?", "--option", "ship=Ship it", "--option", "wait", "--as", "analyst", "--of", "husam")


def ask(office: Office, *words: str) -> str:
    return office.done("decision", "ask", *SHIP, *words).out.strip()


def test_ask_list_show_answer(office: Office) -> None:
    asked = office.done("decision", "ask", *SHIP, "--of", "team:web", "--ref", "task:0.0.1", "--context", "All green")
    decision = asked.out.strip()
    assert re.fullmatch(r"dec_[0-9a-f]{32}", decision)
    assert asked.err == "quinn, husam are asked\n"
    heading, row = office.done("decision", "list").out.splitlines()
    assert heading.split() == ["DECISION", "STATE", "BY", "ASKED", "DEADLINE", "QUESTION"]
    assert row.split(maxsplit=4) == [decision, "pending", "analyst", "quinn,", 'husam            "Ship it?"']
    shown = office.done("decision", "show", decision)
    assert "asked by  analyst\n" in shown.out
    assert "  Ship it?\n\n  All green\n" in shown.out
    assert [line.split() for line in shown.out.splitlines()[-2:]] == [["ship", "Ship", "it"], ["wait", "wait"]]
    document = office.done("decision", "show", decision, "--json").json
    assert document["ref"] == {"type": "task", "id": "0.0.1"}
    assert [each["id"] for each in document["options"]] == ["ship", "wait"]
    [item] = office.done("inbox", "list", "--to", "husam", "--json").json
    assert (item["type"], item["data"]["contextHash"]) == ("decision", document["contextHash"])
    assert item["dedupKey"] == f"decision:{decision}:1"

    hashed = ("--context-hash", document["contextHash"])
    answered = office.done("decision", "answer", decision, "ship", "--text", "go\u2028on", "--as", "husam", *hashed)
    assert (answered.out, answered.err) == (
        f"{decision}\n",
        'answered by husam: ship "go\\u2028on"; analyst is told\n',
    )
    late = office("decision", "answer", decision, "wait", "--as", "quinn")
    assert (late.code, late.error) == (
        1,
        f"the decision {decision!r} was answered already by 'husam': 'Ship it - go\\u2028on'",
    )
    assert office.done("decision", "list").err == "there is no decision that has not ended\n"
    [listed] = office.done("decision", "list", "--all", "--by", "analyst", "--of", "quinn", "--json").json
    assert (listed["status"], listed["answer"]["option"], listed["answer"]["by"]) == ("answered", "ship", "husam")
    [told] = office.done("inbox", "list", "--to", "analyst", "--json").json
    assert (told["priority"], told["dedupKey"]) == (1, f"decision:{decision}:1")
    assert office.done("inbox", "list", "--to", "husam", "--json").json == []


def test_sent_back_and_revised(office: Office) -> None:
    decision = ask(office, "--text", "--session", "s-1")
    back = office.done("decision", "answer", decision, "--text", "When?", "--again", "--as", "husam")
    assert back.err == 'sent back by husam: "When?"; analyst is told\n'
    assert office("decision", "wait", decision) == Ended(1, "", 'sent back by husam: "When?"\n')
    words = ("Ship it on Monday?", "--option", "yes", "--option", "no")
    assert office("decision", "check", "--as", "analyst").code == 0, "it is for who asked to go on with"
    revised = office.done("decision", "revise", decision, *words, "--as", "analyst", "--json").json
    assert office("decision", "check", "--as", "analyst").code == 1, "what is asked now was not answered yet"
    refused = office("decision", "answer", decision, "--text", "Which Monday?", "--again", "--as", "husam")
    assert (refused.code, refused.error) == (2, "this decision cannot be sent back: it takes no words")
    assert (revised["iteration"], revised["guidance"], revised["session"]) == (2, "When?", "s-1")
    assert office.done("decision", "answer", decision, "no", "--as", "husam").err.startswith("answered by husam: no")
    rounds = office.done("decision", "show", decision).out.splitlines()[-2:]
    assert [line.split()[:3] for line in rounds] == [["1", "again", "husam"], ["2", "answered", "husam"]]


def test_in_a_session_of_a_guest(office: Office) -> None:
    """Whose session it is asks, whether it is named or the command is given in it."""
    with app.prepare_store(settings.load(office.environ)) as store:
        store.call(sessions.begin, "s-9", agent="quinn", host="claude")
    Session(office.home, "s-9").update(lambda state: state._replace(agent="quinn"))
    named = office.done("decision", "ask", "Why?", "--text", "--session", "s-9", "--json").json
    inside = office.done("decision", "ask", "Why?", "--text", "--json", CLAUDE_CODE_SESSION_ID="s-9").json
    for each in (named, inside):
        assert (each["asker"], each["session"]) == ("quinn", "s-9")
    assert len(office.done("decision", "list", "--session", "s-9", "--json").json) == 2
    unknown = office("decision", "ask", "Why?", "--text", "--session", "s-8")
    assert (unknown.code, unknown.error) == (1, "there is no session 's-8'")


def test_check(office: Office) -> None:
    mine = ("decision", "check", "--as", "analyst", "--since", "5m")
    decision = ask(office, "--session", "s-1")
    nothing = office(*mine)
    assert (nothing.code, nothing.out) == (1, "")
    assert re.fullmatch(r"nothing was answered since \S+Z\n", nothing.err)
    office.done("decision", "answer", decision, "--reject", "--as", "husam")
    assert "rejected by husam" in office.done(*mine, "--session", "s-1").out
    assert [each["id"] for each in office.done(*mine, "--json").json] == [decision]
    others = office("decision", "check", "--json", GATEPOST_AGENT="quinn")
    assert (others.code, others.out) == (1, "[]\n")
    assert office(*mine, "--session", "s-2").code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("answer", "--reject", "--text", "not mine", "--as", "husam"), 'rejected by husam: "not mine"\n'),
        (("withdraw", "--reason", "found out", "--as", "analyst"), 'withdrawn by analyst: "found out"\n'),
    ],
    ids=["rejected", "withdrawn"],
)
def test_wait_for_what_ended_otherwise(office: Office, words: tuple[str, ...], told: str) -> None:
    decision = ask(office)
    verb, *rest = words
    office.done("decision", verb, decision, *rest)
    assert office("decision", "wait", decision) == Ended(1, "", told)
    ended = office("decision", "wait", decision, "--json")
    assert (ended.code, ended.json["answer"]["outcome"]) == (1, told.split(maxsplit=1)[0])


def test_wait_in_vain(office: Office) -> None:
    decision = ask(office)
    assert office("decision", "wait", decision, "--for", "1ms") == Ended(1, "", "not answered: it is pending\n")


def test_ask_and_wait(office: Office) -> None:
    """A process asks and waits; the question is answered here."""
    asked: list[Ended] = []
    words = ("decision", "ask", *SHIP, "--text", "--wait")
    asking = threading.Thread(target=lambda: asked.append(office.process(*words)))
    asking.start()
    while not (found := office.done("decision", "list", "--json").json):
        assert asking.is_alive(), asked
    office.done("decision", "answer", found[0]["id"], "ship", "--text", "at\nonce", "--as", "husam")
    asking.join(60)
    assert asked == [Ended(0, "ship\nat\nonce\n", f"{found[0]['id']}: husam is asked, waiting\n")]


@ALONE
def test_a_deadline_without_a_gateway(office: Office) -> None:
    """Whoever waits has what is due end, though nobody else would."""
    expired = office("decision", "ask", *SHIP, "--within", "1ms", "--wait")
    assert (expired.code, expired.out) == (1, "")
    assert expired.err.splitlines()[-1] == "expired"
    counts = office.done("decision", "ask", *SHIP, "--within", "1ms", "--default", "wait", "--wait")
    assert counts.out == "wait\n"
    timer = office.done("gate", "add", "Soon", "--kind", "timer", "--owner", "analyst", "--within", "1ms").out.strip()
    assert office.done("gate", "wait", timer).err == 'resolved: "the time has come"\n'
