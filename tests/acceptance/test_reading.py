"""Reading an inbox: list, peek, show, drain; and mending it: replay, discard, done."""

import fcntl
import json
import os
import pty
import sqlite3
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

from gatepost.core.event import EventType
from tests.acceptance.office import ALONE, PROGRAM, Office

EITHER_WAY = True

EVENT_FIELDS = {
    *(
        "eventId",
        "type",
        "content",
        "subject",
        "priority",
        "sender",
        "source",
        "createdAt",
        "occurredAt",
        "state",
        "data",
    ),
    *("timestamp", "recipient", "dedupKey", "expiresAt", "ref", "route", "hops", "trust", "wakes", "attempts"),
    *("seenAt", "endedAt", "receipt", "senderName", "senderType"),
}


def contents(office: Office, *words: str) -> list[str]:
    return [event["content"] for event in office.done("inbox", "list", *words, "--json").json]


class TestList:
    @pytest.fixture(autouse=True)
    def filled(self, office: Office) -> Office:
        office.push("--to", "analyst", "taken", "--as", "husam")
        office.done("inbox", "drain", "--to", "analyst")
        office.push("--to", "analyst", "waiting", "--type", "mail", "--ref", "task:1")
        office.push("--to", "analyst", "late", "--ttl", "1ms")
        office.done("inbox", "discard", office.push("--to", "analyst", "unwanted"))
        office.push("--to", "quinn", "elsewhere")
        return office

    def test_what_is_pending_is_listed_unless_asked_otherwise(self, office: Office) -> None:
        assert contents(office, "--to", "analyst") == ["waiting"]
        assert contents(office, "--to", "analyst", "--all") == ["taken", "waiting", "late", "unwanted"]
        assert contents(office, "--to", "analyst", "--delivered") == ["taken"]
        assert contents(office, "--to", "analyst", "--expired") == ["late"]
        assert contents(office, "--to", "analyst", "--dead") == []
        assert contents(office, "--to", "analyst", "--state", "discarded") == ["unwanted"]

    def test_all_inboxes(self, office: Office) -> None:
        assert contents(office, "--to", "*") == ["waiting", "elsewhere"]
        assert "FOR" in office.done("inbox", "list", "--to", "*").out.splitlines()[0]

    def test_filters(self, office: Office) -> None:
        of_analyst = ("--to", "analyst", "--all")
        assert contents(office, *of_analyst, "--type", "mail") == ["waiting"]
        assert contents(office, *of_analyst, "--from", "husam") == ["taken"]
        assert contents(office, *of_analyst, "--ref", "task:1") == ["waiting"]
        assert len(contents(office, *of_analyst, "--since", "1h")) == 4
        assert contents(office, *of_analyst, "--older", "1h") == []
        assert contents(office, *of_analyst, "--since", "2100-01-01T00:00:00Z") == []
        assert len(contents(office, *of_analyst, "--older", "2100-01-01T00:00:00Z")) == 4

    def test_a_limit_says_when_there_is_more(self, office: Office) -> None:
        short = office.done("inbox", "list", "--to", "analyst", "--all", "-n", "2")
        assert len(short.out.splitlines()) == 3
        assert "there are more than 2" in short.err

    def test_as_a_table(self, office: Office) -> None:
        heading, row = office.done("inbox", "list", "--to", "analyst").out.splitlines()
        assert heading.split() == ["EVENT", "STATE", "AGE", "WHAT"]
        assert row.startswith("evt_")
        assert row.endswith('s   [Mail] cli: "waiting" (ref task:1)')
        office.push("--to", "analyst", "now", "--priority", "high")
        heading, *rows = office.done("inbox", "list", "--to", "analyst").out.splitlines()
        assert heading.split() == ["EVENT", "STATE", "AGE", "PRIORITY", "WHAT"]
        assert rows[1].endswith('high      [Event: cli] "now"')

    def test_nothing_found_is_an_empty_list(self, office: Office) -> None:
        empty = office.done("inbox", "list", "--to", "husam")
        assert (empty.out, empty.err) == ("", "nothing there for 'husam'\n")
        assert office.done("inbox", "list", "--to", "husam", "--json").json == []

    def test_the_fields_of_an_event(self, office: Office) -> None:
        [event] = office.done("inbox", "list", "--to", "analyst", "--json").json
        assert set(event) == EVENT_FIELDS


class TestPeek:
    def test_changes_nothing(self, office: Office) -> None:
        office.push("--to", "analyst", "later", "--priority", "low")
        office.push("--to", "analyst", "sooner", "--priority", "0")
        first = office.done("inbox", "peek", "--to", "analyst")
        assert [line.partition('"')[2] for line in first.out.splitlines()[1:]] == ['sooner"', 'later"']
        assert office.done("inbox", "peek", "--to", "analyst", "--json").json[0]["content"] == "sooner"
        one = office.done("inbox", "peek", "--to", "analyst", "-n", "1")
        assert len(one.out.splitlines()) == 2
        assert "more is waiting" in one.err
        assert len(contents(office, "--to", "analyst")) == 2

    def test_sees_a_broadcast(self, office: Office) -> None:
        office.push("--broadcast", "all hands")
        assert "all hands" in office.done("inbox", "peek", "--to", "analyst").out
        assert office.done("inbox", "peek", "--to", "husam").err == "nothing waits for 'husam'\n"


class TestShow:
    def test_text_is_shown_whole_and_cannot_pretend(self, office: Office) -> None:
        event = office.push(
            "--to", "analyst", "first\nevent      evt_forged\n\x1b[2J\u202eend", "--data", '{"a": "<b>"}'
        )
        shown = office.done("inbox", "show", event).out
        assert "\x1b" not in shown
        assert "\u202e" not in shown
        assert "<b>" not in shown
        assert "\n  first\n  event      evt_forged\n  \\u001b[2J\\u202eend\n" in shown

    def test_recipients(self, office: Office) -> None:
        event = office.push("--broadcast", "all hands")
        office.done("inbox", "drain", "--to", "analyst", "--session", "s-1")
        shown = office.done("inbox", "show", event, "--json").json
        assert shown["state"] == "mixed"
        assert {each["name"]: each["state"] for each in shown["recipients"]} == {
            "analyst": "delivered",
            "quinn": "pending",
        }
        assert shown["recipients"][0]["receipt"]["owner"] == "s-1"
        assert "for quinn" in office.done("inbox", "show", event).out


class TestDrain:
    def test_prints_then_marks(self, office: Office) -> None:
        event = office.push("--to", "analyst", "hello")
        office.done("inbox", "drain", "--to", "analyst", "--session", "session-9")
        shown = office.done("inbox", "show", event, "--json").json
        assert shown["state"] == "delivered"
        assert shown["recipients"][0]["receipt"] == {
            "kind": "drain",
            "owner": "session-9",
            "at": shown["recipients"][0]["endedAt"],
        }

    def test_as_json(self, office: Office) -> None:
        for word in ("one", "two", "three"):
            office.push("--to", "analyst", word)
        some = office.done("inbox", "drain", "--to", "analyst", "--format", "json", "--limit", "2")
        assert [event["content"] for event in some.json] == ["one", "two"]
        assert [event["state"] for event in some.json] == ["claimed", "claimed"]
        assert some.err == "1 more waiting\n"
        assert len(office.done("inbox", "drain", "--to", "analyst", "--json").json) == 1
        assert office.done("inbox", "drain", "--to", "analyst", "--json").json == []

    def test_a_cap_is_announced(self, office: Office) -> None:
        for number in range(3):
            office.push("--to", "analyst", f"number {number}")
        text = office.done("inbox", "drain", "--to", "analyst", "--limit", "2").out
        assert text.startswith("INBOX (2 events, 1 more waiting, ")

    def test_large_items_are_cut_in_text_and_whole_in_json(self, office: Office) -> None:
        large = "x" * 20_000
        office.push("--to", "analyst", large)
        [_, line] = office.done("inbox", "drain", "--to", "analyst").out.splitlines()
        assert len(line) < 9_000
        assert "the rest: gatepost inbox show evt_" in line
        office.push("--to", "analyst", large)
        assert office.done("inbox", "drain", "--to", "analyst", "--json").json[0]["content"] == large

    def test_lines_are_events_and_a_header(self, office: Office) -> None:
        for kind in EventType:
            office.push("--to", "analyst", "--type", kind, "one\ntwo\r\u2028three\x85four")
        assert len(office.done("inbox", "drain", "--to", "analyst").out.splitlines()) == len(EventType) + 1

    @ALONE
    def test_keeps_house(self, office: Office) -> None:
        event = office.push("--to", "analyst", "hello", "--ttl", "1ms")
        office.done("inbox", "drain", "--to", "analyst")
        assert office.done("inbox", "show", event, "--json").json["state"] == "expired"
        gone = office("inbox", "drain", "--to", "analyst", GATEPOST_INBOX__REMEMBER="1ms")
        assert gone.code == 0
        assert office("inbox", "show", event).code == 1
        assert office.done("agent", "show", "analyst", "--json").json["inbox"]["expired"] == 1


class TestMend:
    def test_discard_and_replay(self, office: Office) -> None:
        event = office.push("--to", "analyst", "hello")
        gone = office.done("inbox", "discard", event)
        assert (gone.out.strip(), gone.err) == (event, "discarded for analyst\n")
        assert office("inbox", "discard", event).code == 1
        back = office.done("inbox", "replay", event, "--json").json
        assert (back["eventId"], back["state"]) == (event, "pending")

    def test_replaying_what_was_delivered_makes_a_new_event(self, office: Office) -> None:
        event = office.push("--to", "analyst", "hello")
        office.done("inbox", "drain", "--to", "analyst")
        again = office.done("inbox", "replay", event, "--json").json
        assert again["eventId"] != event
        assert again["recipients"][0]["state"] == "pending"
        assert "hello" in office.done("inbox", "drain", "--to", "analyst").out

    def test_a_person_is_done(self, office: Office) -> None:
        event = office.push("--to", "husam", "please sign")
        assert office("inbox", "drain", "--to", "husam").code == 1
        done = office.done("inbox", "done", event, "--json").json
        assert done["recipients"][0]["receipt"]["kind"] == "person"
        assert "is delivered for 'husam', not pending" in office("inbox", "done", event).error

    def test_done_needs_to_know_who_when_several_have_it(self, office: Office) -> None:
        office.done("person", "add", "ana", "--team", "board")
        office.done("person", "add", "ben", "--team", "board")
        event = office.push("--to", "team:board", "please sign")
        assert "has 2 recipients" in office("inbox", "done", event).error
        assert office.done("inbox", "done", event, "--as", "ana").err == "done for ana\n"
        assert office.done("inbox", "done", event, GATEPOST_AGENT="ben").err == "done for ben\n"

    def test_an_agent_is_not_done(self, office: Office) -> None:
        event = office.push("--to", "analyst", "hello")
        assert "is not a person" in office("inbox", "done", event).error


def test_output_in_a_terminal_that_knows_only_ascii(office: Office) -> None:
    office.push("--to", "analyst", "schön \U0001f600")
    listed = office.process("inbox", "list", "--to", "analyst", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(listed.out)[0]["content"] == "schön \U0001f600"
    peeked = office.process("inbox", "peek", "--to", "analyst", PYTHONIOENCODING="ascii")
    assert (peeked.code, "sch\\xf6n" in peeked.out) == (0, True)


@ALONE
def test_a_busy_store_is_waited_for_and_then_given_up(office: Office, tmp_path: Path) -> None:

    held = sqlite3.connect(office.database, isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    ended = office("inbox", "push", "--to", "analyst", "x", GATEPOST_SQLITE__BUSY="50ms")
    held.close()
    assert ended.code == 3
    assert "is locked by another process" in ended.error
    assert time.monotonic() - began < 10


def test_a_narrow_terminal_cuts_only_the_last_column(office: Office) -> None:
    event = office.push("--to", "analyst", "x" * 200)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    subprocess.run(
        [*PROGRAM, "inbox", "list", "--to", "analyst"],
        stdout=theirs,
        env=os.environ | office.environ | {"TERM": "xterm"},
        check=True,
        timeout=60,
    )
    os.close(theirs)
    [_, row] = os.read(ours, 10_000).decode().splitlines()
    os.close(ours)
    assert row.startswith(f"{event}  pending  ")
    assert row.endswith("x…")
    assert len(row) == 80
