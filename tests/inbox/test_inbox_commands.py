"""Reading an inbox: list, peek, show, drain; and mending it: replay, discard, done."""

import fcntl
import json
import os
import pty
import sqlite3
import struct
import termios
from pathlib import Path

import pytest

from gatepost.inbox.event import EventType
from tests.support.command_line import GATEPOST_COMMAND, WITHOUT_GATEWAY, CommandLine
from tests.support.processes import fork_server
from tests.support.waits import LAST_RESORT

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


def list_contents(cli: CommandLine, *words: str) -> list[str]:
    return [event["content"] for event in cli.run_ok("inbox", "list", *words, "--json").json]


class TestList:
    @pytest.fixture(autouse=True)
    def fill_inbox(self, cli: CommandLine) -> CommandLine:
        cli.push("--to", "analyst", "taken", "--as", "husam")
        cli.run_ok("inbox", "drain", "--to", "analyst")
        cli.push("--to", "analyst", "waiting", "--type", "mail", "--ref", "task:1")
        cli.push("--to", "analyst", "late", "--ttl", "1ms")
        cli.run_ok("inbox", "discard", cli.push("--to", "analyst", "unwanted"))
        cli.push("--to", "quinn", "elsewhere")
        return cli

    def test_what_is_pending_is_listed_unless_asked_otherwise(self, cli: CommandLine) -> None:
        assert list_contents(cli, "--to", "analyst") == ["waiting"]
        assert list_contents(cli, "--to", "analyst", "--all") == ["taken", "waiting", "late", "unwanted"]
        assert list_contents(cli, "--to", "analyst", "--delivered") == ["taken"]
        assert list_contents(cli, "--to", "analyst", "--expired") == ["late"]
        assert list_contents(cli, "--to", "analyst", "--dead") == []
        assert list_contents(cli, "--to", "analyst", "--state", "discarded") == ["unwanted"]

    def test_all_inboxes(self, cli: CommandLine) -> None:
        assert list_contents(cli, "--to", "*") == ["waiting", "elsewhere"]
        assert "FOR" in cli.run_ok("inbox", "list", "--to", "*").out.splitlines()[0]

    def test_filters(self, cli: CommandLine) -> None:
        analyst_args = ("--to", "analyst", "--all")
        assert list_contents(cli, *analyst_args, "--type", "mail") == ["waiting"]
        assert list_contents(cli, *analyst_args, "--from", "husam") == ["taken"]
        assert list_contents(cli, *analyst_args, "--ref", "task:1") == ["waiting"]
        assert len(list_contents(cli, *analyst_args, "--since", "1h")) == 4
        assert list_contents(cli, *analyst_args, "--older", "1h") == []
        assert list_contents(cli, *analyst_args, "--since", "2100-01-01T00:00:00Z") == []
        assert len(list_contents(cli, *analyst_args, "--older", "2100-01-01T00:00:00Z")) == 4

    def test_a_limit_says_when_there_is_more(self, cli: CommandLine) -> None:
        result = cli.run_ok("inbox", "list", "--to", "analyst", "--all", "-n", "2")
        assert len(result.out.splitlines()) == 3
        assert "there are more than 2" in result.err

    def test_as_a_table(self, cli: CommandLine) -> None:
        heading, row = cli.run_ok("inbox", "list", "--to", "analyst").out.splitlines()
        assert heading.split() == ["EVENT", "STATE", "AGE", "WHAT"]
        assert row.startswith("evt_")
        assert row.endswith('s   [Mail] cli: "waiting" (ref task:1)')
        cli.push("--to", "analyst", "now", "--priority", "high")
        heading, *rows = cli.run_ok("inbox", "list", "--to", "analyst").out.splitlines()
        assert heading.split() == ["EVENT", "STATE", "AGE", "PRIORITY", "WHAT"]
        assert rows[1].endswith('high      [Event: cli] "now"')

    def test_nothing_found_is_an_empty_list(self, cli: CommandLine) -> None:
        result = cli.run_ok("inbox", "list", "--to", "husam")
        assert (result.out, result.err) == ("", "no such items in the inbox of 'husam'\n")
        assert cli.run_ok("inbox", "list", "--to", "husam", "--json").json == []

    def test_the_fields_of_an_event(self, cli: CommandLine) -> None:
        [event] = cli.run_ok("inbox", "list", "--to", "analyst", "--json").json
        assert set(event) == EVENT_FIELDS


class TestPeek:
    def test_changes_nothing(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "later", "--priority", "low")
        cli.push("--to", "analyst", "sooner", "--priority", "0")
        first = cli.run_ok("inbox", "peek", "--to", "analyst")
        assert [line.partition('"')[2] for line in first.out.splitlines()[1:]] == ['sooner"', 'later"']
        assert cli.run_ok("inbox", "peek", "--to", "analyst", "--json").json[0]["content"] == "sooner"
        result = cli.run_ok("inbox", "peek", "--to", "analyst", "-n", "1")
        assert len(result.out.splitlines()) == 2
        assert "more items are pending" in result.err
        assert len(list_contents(cli, "--to", "analyst")) == 2

    def test_sees_a_broadcast(self, cli: CommandLine) -> None:
        cli.push("--broadcast", "all hands")
        assert "all hands" in cli.run_ok("inbox", "peek", "--to", "analyst").out
        assert cli.run_ok("inbox", "peek", "--to", "husam").err == "the inbox of 'husam' is empty\n"


class TestShow:
    def test_text_is_shown_whole_and_cannot_pretend(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "first\nevent      evt_forged\n\x1b[2J\u202eend", "--data", '{"a": "<b>"}')
        text = cli.run_ok("inbox", "show", event).out
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "<b>" not in text
        assert "\n  first\n  event      evt_forged\n  \\u001b[2J\\u202eend\n" in text

    def test_recipients(self, cli: CommandLine) -> None:
        event = cli.push("--broadcast", "all hands")
        cli.run_ok("inbox", "drain", "--to", "analyst", "--session", "s-1")
        event_details = cli.run_ok("inbox", "show", event, "--json").json
        assert event_details["state"] == "mixed"
        assert {recipient["name"]: recipient["state"] for recipient in event_details["recipients"]} == {
            "analyst": "delivered",
            "quinn": "pending",
        }
        assert event_details["recipients"][0]["receipt"]["owner"] == "s-1"
        assert "for quinn" in cli.run_ok("inbox", "show", event).out


class TestDrain:
    def test_prints_then_marks(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "hello")
        cli.run_ok("inbox", "drain", "--to", "analyst", "--session", "session-9")
        event_details = cli.run_ok("inbox", "show", event, "--json").json
        assert event_details["state"] == "delivered"
        assert event_details["recipients"][0]["receipt"] == {
            "kind": "drain",
            "owner": "session-9",
            "at": event_details["recipients"][0]["endedAt"],
        }

    def test_as_json(self, cli: CommandLine) -> None:
        for word in ("one", "two", "three"):
            cli.push("--to", "analyst", word)
        result = cli.run_ok("inbox", "drain", "--to", "analyst", "--format", "json", "--limit", "2")
        assert [event["content"] for event in result.json] == ["one", "two"]
        assert [event["state"] for event in result.json] == ["claimed", "claimed"]
        assert result.err == "1 more pending\n"
        assert len(cli.run_ok("inbox", "drain", "--to", "analyst", "--json").json) == 1
        assert cli.run_ok("inbox", "drain", "--to", "analyst", "--json").json == []

    def test_a_cap_is_announced(self, cli: CommandLine) -> None:
        for number in range(3):
            cli.push("--to", "analyst", f"number {number}")
        text = cli.run_ok("inbox", "drain", "--to", "analyst", "--limit", "2").out
        assert text.startswith("INBOX (2 events, 1 more waiting, ")

    def test_large_items_are_cut_in_text_and_whole_in_json(self, cli: CommandLine) -> None:
        large_content = "x" * 20_000
        cli.push("--to", "analyst", large_content)
        [_, line] = cli.run_ok("inbox", "drain", "--to", "analyst").out.splitlines()
        assert len(line) < 9_000
        assert "the rest: gatepost inbox show evt_" in line
        cli.push("--to", "analyst", large_content)
        assert cli.run_ok("inbox", "drain", "--to", "analyst", "--json").json[0]["content"] == large_content

    def test_lines_are_events_and_a_header(self, cli: CommandLine) -> None:
        for kind in EventType:
            cli.push("--to", "analyst", "--type", kind, "one\ntwo\r\u2028three\x85four")
        assert len(cli.run_ok("inbox", "drain", "--to", "analyst").out.splitlines()) == len(EventType) + 1

    @WITHOUT_GATEWAY
    def test_keeps_house(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "hello", "--ttl", "1ms")
        cli.run_ok("inbox", "drain", "--to", "analyst")
        assert cli.run_ok("inbox", "show", event, "--json").json["state"] == "expired"
        result = cli("inbox", "drain", "--to", "analyst", GATEPOST_INBOX__REMEMBER="1ms")
        assert result.code == 0
        assert cli("inbox", "show", event).code == 1
        assert cli.run_ok("agent", "show", "analyst", "--json").json["inbox"]["expired"] == 1


class TestMend:
    def test_discard_and_replay(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "hello")
        discard_result = cli.run_ok("inbox", "discard", event)
        assert (discard_result.out.strip(), discard_result.err) == (event, "discarded for analyst\n")
        assert cli("inbox", "discard", event).code == 1
        replay = cli.run_ok("inbox", "replay", event, "--json").json
        assert (replay["eventId"], replay["state"]) == (event, "pending")

    def test_replaying_what_was_delivered_makes_a_new_event(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "hello")
        cli.run_ok("inbox", "drain", "--to", "analyst")
        replay = cli.run_ok("inbox", "replay", event, "--json").json
        assert replay["eventId"] != event
        assert replay["recipients"][0]["state"] == "pending"
        assert "hello" in cli.run_ok("inbox", "drain", "--to", "analyst").out

    def test_a_person_is_done(self, cli: CommandLine) -> None:
        event = cli.push("--to", "husam", "please sign")
        assert cli("inbox", "drain", "--to", "husam").code == 1
        event_details = cli.run_ok("inbox", "done", event, "--json").json
        assert event_details["recipients"][0]["receipt"]["kind"] == "person"
        assert "is delivered for 'husam', not pending" in cli("inbox", "done", event).error

    def test_done_needs_to_know_who_when_several_have_it(self, cli: CommandLine) -> None:
        cli.run_ok("person", "add", "ana", "--team", "board")
        cli.run_ok("person", "add", "ben", "--team", "board")
        event = cli.push("--to", "team:board", "please sign")
        assert "has 2 recipients" in cli("inbox", "done", event).error
        assert cli.run_ok("inbox", "done", event, "--as", "ana").err == "done for ana\n"
        assert cli.run_ok("inbox", "done", event, GATEPOST_AGENT="ben").err == "done for ben\n"

    def test_an_agent_is_not_done(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "hello")
        assert "is not a person" in cli("inbox", "done", event).error


def test_output_in_a_terminal_that_knows_only_ascii(cli: CommandLine) -> None:
    cli.push("--to", "analyst", "schön \U0001f600")
    list_result = cli.run_process("inbox", "list", "--to", "analyst", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(list_result.out)[0]["content"] == "schön \U0001f600"
    peek_result = cli.run_process("inbox", "peek", "--to", "analyst", PYTHONIOENCODING="ascii")
    assert (peek_result.code, "sch\\xf6n" in peek_result.out) == (0, True)


@WITHOUT_GATEWAY
def test_a_busy_store_is_waited_for_and_then_given_up(cli: CommandLine, tmp_path: Path) -> None:
    locking_connection = sqlite3.connect(cli.database, isolation_level=None)
    locking_connection.execute("BEGIN IMMEDIATE")
    result = cli("inbox", "push", "--to", "analyst", "x", GATEPOST_SQLITE__BUSY="50ms")
    locking_connection.close()
    assert result.code == 3
    assert "is locked by another process" in result.error


def test_a_narrow_terminal_cuts_only_the_last_column(cli: CommandLine) -> None:
    event = cli.push("--to", "analyst", "x" * 200)
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    fork_server.run(
        [*GATEPOST_COMMAND, "inbox", "list", "--to", "analyst"],
        stdout=slave,
        env=os.environ | cli.environ | {"TERM": "xterm"},
        check=True,
        timeout=LAST_RESORT,
    )
    os.close(slave)
    [_, row] = os.read(master, 10_000).decode().splitlines()
    os.close(master)
    assert row.startswith(f"{event}  pending  ")
    assert row.endswith("x…")
    assert len(row) == 80
