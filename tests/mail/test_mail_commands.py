"""Mail at the command line: send, reply, and what was sent."""

import json
import sqlite3

import pytest

from tests.support.command_line import WITHOUT_GATEWAY, CommandLine

EITHER_WAY = True


def send(cli: CommandLine, *words: str) -> str:
    """Send mail, and return its id."""
    return cli.run_ok("send", *words).out.strip()


def list_pending(cli: CommandLine, name: str) -> list[dict[str, object]]:
    events: list[dict[str, object]] = cli.run_ok("inbox", "list", "--to", name, "--json").json
    return events


def find_event(cli: CommandLine, name: str) -> str:
    """The id of the only event in an inbox."""
    [event] = list_pending(cli, name)
    return str(event["eventId"])


def count_events(cli: CommandLine) -> int:
    with sqlite3.connect(cli.database) as db:
        count: int = db.execute("SELECT count(*) FROM events").fetchone()[0]
    db.close()
    return count


class TestSend:
    def test_it_is_in_the_inbox_when_the_command_returns(self, cli: CommandLine) -> None:
        result = cli.run_ok("send", "analyst", "Which schema?", "--as", "husam")
        assert result.out.startswith("mail_")
        assert result.err == "sent to analyst\n"
        [event] = list_pending(cli, "analyst")
        assert (event["type"], event["content"], event["sender"]) == ("mail", "Which schema?", "husam")

    def test_all_that_can_be_said(self, cli: CommandLine) -> None:
        (cli.cwd / "payload.json").write_text('{"rows": 7}')
        words = ["--subject", "Schema", "--priority", "high", "--ref", "task:7", "--type", "review.request"]
        words += ["--payload", "@payload.json", "--context", '["a", 1]', "--as", "husam"]
        mail = cli.run_ok("send", "quinn", "Look", *words, "--json").json
        assert (mail["sender"], mail["to"], mail["subject"], mail["text"]) == ("husam", "quinn", "Schema", "Look")
        assert (mail["priority"], mail["messageType"]) == (1, "review.request")
        assert (mail["payload"], mail["context"]) == ({"rows": 7, "text": "Look"}, ["a", 1])
        assert (mail["ref"], mail["ack"]) == ({"type": "task", "id": "7"}, None)

    @pytest.mark.parametrize("words", [("critical", "high", "normal", "low", "fyi"), ("0", "1", "2", "3", "4")])
    def test_each_priority(self, cli: CommandLine, words: tuple[str, ...]) -> None:
        for number, word in enumerate(words):
            sent = cli.run_ok("send", "analyst", "tea?", "--priority", word, "--as", "husam", "--json").json
            assert sent["priority"] == number
        assert [event["priority"] for event in list_pending(cli, "analyst")] == [0, 1, 2, 3, 4]
        with sqlite3.connect(cli.database) as db:
            rows = db.execute("SELECT data FROM outgoing ORDER BY number").fetchall()
        db.close()
        assert [json.loads(data)["priority"] for [data] in rows] == [1, 2, 3, 4, 5]
        assert cli("send", "analyst", "tea?", "--priority", "5", "--as", "husam").code == 2

    def test_text_from_stdin(self, cli: CommandLine) -> None:
        cli.run_ok("send", "analyst", "-", stdin=b"one\ntwo\n")
        [event] = list_pending(cli, "analyst")
        assert (event["content"], event["sender"]) == ("one\ntwo", "admin")

    def test_a_payload_or_a_subject_needs_no_text(self, cli: CommandLine) -> None:
        send(cli, "analyst", "--payload", '{"rows": 7}')
        send(cli, "analyst", "--subject", "Lunch?")
        first, second = list_pending(cli, "analyst")
        assert json.loads(str(first["content"])) == {"rows": 7}
        assert second["subject"] == "Lunch?"

    def test_teams_and_all_and_aliases(self, cli: CommandLine) -> None:
        cli.run_ok("agent", "add", "robin", "--team", "web")
        assert cli.run_ok("send", "team:web", "x").err == "sent to quinn, robin\n"
        assert cli.run_ok("send", "bead-42", "x").err == "sent to quinn\n"
        assert cli.run_ok("send", "ALL", "x").err == "sent to every agent\n"
        for number in range(5):
            cli.run_ok("agent", "add", f"web-{number}", "--team", "web")
        assert cli.run_ok("send", "team:web", "x").err == "sent to quinn, robin, web-0, web-1, web-2 and 2 more\n"

    def test_who_sends(self, cli: CommandLine) -> None:
        cli.run_ok("send", "analyst", "x", GATEPOST_AGENT="quinn")
        assert list_pending(cli, "analyst")[0]["sender"] == "quinn"

    def test_an_acknowledgement(self, cli: CommandLine) -> None:
        result = cli.run_ok("send", "husam", "Sign", "--ack", "--as", "analyst")
        assert result.err == "sent to husam; you get an event when it has been read\n"
        cli.run_ok("inbox", "done", find_event(cli, "husam"))
        [event] = list_pending(cli, "analyst")
        assert event["content"] == "your mail to husam was read by husam"
        mail = cli.run_ok("send", "husam", "Sign", "--ack-within", "2h", "--as", "analyst", "--json").json
        assert mail["ack"] == "pending"

    def test_with_an_event_to_reply_to_one_word_is_the_text(self, cli: CommandLine) -> None:
        send(cli, "analyst", "Which schema?", "--as", "husam", "--subject", "Schema", "--ref", "task:7")
        event = find_event(cli, "analyst")
        words = ["--reply-to", event, "--as", "analyst"]
        mail = cli.run_ok("send", *words, "The second", "--json").json
        assert (mail["to"], mail["text"], mail["subject"], mail["replyTo"]) == ("husam", "The second", "Schema", event)
        assert cli.run_ok("send", *words, "-", "--json", stdin=b"The third\n").json["text"] == "The third"
        forwarded = cli.run_ok("send", *words, "quinn", "See there", "--json").json
        assert (forwarded["to"], forwarded["text"]) == ("quinn", "See there")
        assert cli.run_ok("send", *words, "--payload", '{"n": 2}', "--json").json["payload"] == {"n": 2}

    @WITHOUT_GATEWAY
    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            ([], "TO is missing", "--reply-to ID"),
            (["analyst"], "the text is missing", "give TEXT, or - to read it from stdin"),
            (["analyst", ""], "the text is empty", ""),
            (["analyst", " \n"], "the text is empty", ""),
            (["analyst", "-"], "stdin is empty", "the command that writes to it may have failed"),
            (["analist", "x"], "there is no entity 'analist'", "did you mean 'analyst'?"),
            (["team:sales", "x"], "no entity is in 'team:sales'", "`gatepost agent list` shows"),
            (["analyst", "x", "--as", "analist"], "there is no entity 'analist'", "did you mean 'analyst'?"),
            (["analyst", "x", "--priority", "urgent"], "'urgent' is not a priority", "use 0 to 4"),
            (["analyst", "x", "--ref", "task"], "'task' is not a reference", "write it as TYPE:ID"),
            (["analyst", "x", "--type", "Two Words"], "'Two Words' is not a message type", "use one of task.blocked"),
            (["analyst", "x", "--payload", "{bad"], "--payload: '{bad' is not JSON", ""),
            (["analyst", "x", "--payload", "7"], "--payload: 7 is not a JSON object", "write it as"),
            (["analyst", "x", "--payload", '{"text": "y"}'], "the payload has a text of its own", "give the text once"),
            (["analyst", "-", "--payload", "-"], "stdin can be read only once", ""),
            (["analyst", "x", "--ack-within", "soon"], "'soon' is not a duration", "write a number and a unit"),
            (["ALL", "x", "--ack"], "mail to every agent cannot be acknowledged", "name those who have to read it"),
            (["--reply-to", "run_1", "x"], "'run_1' is the id of a run, not of an event", ""),
            (["analyst", "x" * (256 * 1024 + 1)], "the content is 262145 bytes, over the limit of 262144", ""),
            (["analyst", "x", "--subject", "s" * 1_001], "the subject has 1001 characters", ""),
            (["analyst", "hello", "world"], "this command does not take the argument 'world'", "needs quotes"),
        ],
    )
    def test_mistakes(self, cli: CommandLine, words: list[str], message: str, hint: str) -> None:
        result = cli("send", *words)
        assert (result.code, result.out) == (2, "")
        assert message in result.error
        assert hint in result.err
        assert count_events(cli) == 0
        assert cli.run_ok("inbox", "sent", "--json").json == []

    def test_what_is_too_large_is_not_sent(self, cli: CommandLine) -> None:
        result = cli("send", "analyst", "-", stdin=b"x" * 300_000)
        assert (result.code, result.error) == (2, "the content is 300000 bytes, over the limit of 262144")
        assert cli.run_ok("inbox", "sent", "--json").json == []

    def test_to_oneself(self, cli: CommandLine) -> None:
        result = cli("send", "husam", "x", "--as", "husam")
        assert (result.code, result.error) == (1, "the mail would go back to its sender 'husam'")

    def test_what_nobody_has_sent_needs_a_recipient(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "The build is red")
        result = cli("send", "--reply-to", event, "Fixed", "--as", "analyst")
        assert (result.code, result.error) == (1, f"{event!r} has no sender to reply to")
        assert result.err.endswith("hint: name the recipient in TO\n")
        assert cli.run_ok("send", "--reply-to", event, "husam", "Fixed", "--as", "analyst").err == "sent to husam\n"

    def test_an_event_of_somebody_else_cannot_be_answered(self, cli: CommandLine) -> None:
        send(cli, "analyst", "secret", "--as", "husam")
        event = find_event(cli, "analyst")
        result = cli("send", "--reply-to", event, "x", "--as", "quinn")
        assert (result.code, result.error) == (1, f"there is no event {event!r} for 'quinn'")
        unknown_event = f"evt_{'0' * 32}"
        result = cli("send", "--reply-to", unknown_event, "x", "--as", "quinn")
        assert (result.code, result.error) == (1, f"there is no event {unknown_event!r} for 'quinn'")


class TestReply:
    def test_by_mail(self, cli: CommandLine) -> None:
        first = send(cli, "husam", "Which schema?", "--as", "analyst")
        result = cli.run_ok("reply", find_event(cli, "husam"), "The second", "--as", "husam")
        assert result.out.startswith("mail_")
        assert result.err == "sent to analyst\n"
        mail = cli.run_ok("inbox", "sent", result.out.strip(), "--json").json
        assert (mail["threadId"], mail["text"]) == (first, "The second")

    def test_in_a_space_and_on_a_work_item(self, cli: CommandLine) -> None:
        cli.run_ok("space", "create", "Desk", "--member", "husam", "--member", "analyst")
        cli.run_ok("space", "post", "desk", "hello?", "--as", "husam")
        result = cli.run_ok("reply", find_event(cli, "analyst"), "-", "--as", "analyst", stdin=b"here\n")
        assert (result.out[:4], result.err) == ("msg_", "posted in its space\n")
        assert "here" in cli.run_ok("space", "read", "desk").out
        cli.run_ok("work", "add", "task:7")
        cli.run_ok("note", "task:7", "look", "--notify", "quinn", "--as", "analyst")
        event = next(str(event["eventId"]) for event in list_pending(cli, "quinn"))
        result = cli.run_ok("reply", event, "seen", "--as", "quinn")
        assert (result.out[:5], result.err) == ("note_", "posted as a note\n")

    def test_mistakes(self, cli: CommandLine) -> None:
        event = cli.push("--to", "analyst", "a plain event")
        result = cli("reply", event, "x", "--as", "analyst")
        assert (result.code, "cannot be replied to" in result.error) == (1, True)
        assert "hint: use `gatepost send` to write to somebody" in result.err
        send(cli, "husam", "Sign?", "--as", "analyst")
        mail_event = find_event(cli, "husam")
        assert (cli("reply", mail_event, "", "--as", "husam").code, cli("reply", mail_event).code) == (2, 2)
        assert cli("reply", mail_event, " ", "--as", "husam").error == "the text is empty"
        assert cli("reply", "evt_1", "x").code == 2
        assert cli("reply", mail_event, "x", "--as", "quinn").code == 1
        assert cli("reply", mail_event, "-", "--as", "husam", stdin=b"x" * 300_000).code == 2
        assert cli.run_ok("inbox", "sent", "--as", "husam", "--json").json == []


class TestSent:
    def test_newest_first_with_the_state_of_each(self, cli: CommandLine) -> None:
        cli.run_ok("agent", "add", "robin", "--team", "web")
        team_mail = send(cli, "team:web", "Ready?", "--as", "husam", "--subject", "Release")
        mail = send(cli, "analyst", "Look\nhere", "--as", "husam", "--ref", "task:7")
        cli.run_ok("inbox", "drain", "--to", "robin")
        heading, first, second = cli.run_ok("inbox", "sent", "--as", "husam").out.splitlines()
        assert heading.split() == ["MAIL", "TO", "STATE", "AGE", "WHAT"]
        assert first.startswith(f"{mail}  analyst   1 pending ")
        assert first.endswith('s   "Look\\nhere"')
        assert second.startswith(f"{team_mail}  team:web  1 delivered, 1 pending ")
        assert second.endswith('"Release" - "Ready?"')
        about = cli.run_ok("inbox", "sent", "--as", "husam", "--ref", "task:7", "--json").json
        assert [view["id"] for view in about] == [mail]
        in_thread = cli.run_ok("inbox", "sent", "--as", "husam", "--thread", team_mail, "--json").json
        assert [view["states"] for view in in_thread] == [{"delivered": 1, "pending": 1}]
        assert "there are more than 1" in cli.run_ok("inbox", "sent", "--as", "husam", "-n", "1").err

    def test_one_mail(self, cli: CommandLine) -> None:
        words = ["--as", "analyst", "--payload", '{"rows": 7}', "--ack"]
        mail = send(cli, "husam", "first\nmail  mail_forged\x1b[2J", *words)
        text = cli.run_ok("inbox", "sent", mail).out
        assert "for husam    pending\n" in text
        assert "ack          pending\n" in text
        assert "\n  first\n  mail  mail_forged\\u001b[2J\n" in text
        assert '\n    "rows": 7,\n' in text
        cli.run_ok("inbox", "done", find_event(cli, "husam"))
        assert "for husam    delivered, 20" in cli.run_ok("inbox", "sent", mail).out
        assert cli.run_ok("inbox", "sent", mail, "--json").json["ack"] == "read"

    def test_nothing(self, cli: CommandLine) -> None:
        assert cli.run_ok("inbox", "sent").err == "no mail sent yet\n"
        result = cli.run_ok("inbox", "sent", "--ref", "task:7", "--as", "husam")
        assert (result.out, result.err) == ("", "no such mail of 'husam'\n")
        assert cli.run_ok("inbox", "sent", "--json").json == []

    def test_mail_to_every_agent(self, cli: CommandLine) -> None:
        send(cli, "ALL", "hello")
        assert "to every agent" in cli.run_ok("inbox", "sent").out
        cli.run_ok("inbox", "drain", "--to", "analyst")
        assert "1 delivered" in cli.run_ok("inbox", "sent").out

    def test_mistakes(self, cli: CommandLine) -> None:
        unknown_id = f"mail_{'0' * 32}"
        result = cli("inbox", "sent", unknown_id)
        assert (result.code, result.error) == (1, f"there is no mail {unknown_id!r}")
        assert cli("inbox", "sent", "mail_1").code == 2
        assert "not both" in cli("inbox", "sent", unknown_id, "--ref", "task:7").error
        result = cli("inbox", "sent", "--as", "husan")
        assert (result.code, result.error) == (2, "there is no entity 'husan'")


class TestThread:
    @pytest.fixture
    def thread(self, cli: CommandLine) -> str:
        mail = send(cli, "husam", "Which schema?", "--as", "analyst", "--subject", "Schema")
        cli.run_ok("reply", find_event(cli, "husam"), "The second", "--as", "husam")
        return mail

    def test_oldest_first(self, cli: CommandLine, thread: str) -> None:
        result = cli.run_ok("inbox", "thread", thread)
        lines = [line.partition(" ")[2] for line in result.out.splitlines()]
        assert lines == [
            'analyst to husam: "Schema"',
            " Which schema?",
            "",
            'husam to analyst: "Schema"',
            " The second",
        ]
        assert [mail["text"] for mail in cli.run_ok("inbox", "thread", thread, "--json").json] == [
            "Which schema?",
            "The second",
        ]

    def test_by_any_mail_or_event_in_it(self, cli: CommandLine, thread: str) -> None:
        text = cli.run_ok("inbox", "thread", thread).out
        [answer] = cli.run_ok("inbox", "sent", "--as", "husam", "--json").json
        assert cli.run_ok("inbox", "thread", answer["id"]).out == text
        assert cli.run_ok("inbox", "thread", answer["eventId"]).out == text

    def test_a_limit_leaves_out_the_first_ones(self, cli: CommandLine, thread: str) -> None:
        result = cli.run_ok("inbox", "thread", thread, "-n", "1")
        assert "The second" in result.out
        assert "Which schema?" not in result.out
        assert result.err == "there are more than 1: raise --limit to see the first ones\n"

    def test_mistakes(self, cli: CommandLine) -> None:
        assert (cli("inbox", "thread", "t-1").code, cli("inbox", "thread", "t-1").error) == (
            1,
            "there is no thread 't-1'",
        )
        event = cli.push("--to", "analyst", "a plain event")
        assert cli("inbox", "thread", event).error == f"there is no thread {event!r}"
        assert cli("inbox", "thread", f"mail_{'0' * 32}").code == 1


def test_the_id_that_a_line_shows_is_taken_by_every_command(cli: CommandLine) -> None:
    cli.run_ok("send", "husam", "Which schema?", "--as", "analyst", "--type", "review.request")
    line = cli.run_ok("inbox", "peek", "--to", "husam").out
    assert "[Mail: review.request] " in line
    shown_id = line[line.index("mail_") :].partition(")")[0]
    event = find_event(cli, "husam")
    assert json.loads(cli.run_ok("inbox", "show", shown_id, "--json").out)["eventId"] == event
    assert json.loads(cli.run_ok("inbox", "sent", event, "--json").out)["id"] == shown_id
    first = cli.run_ok("reply", shown_id, "The second", "--as", "husam").out.strip()
    second = cli.run_ok("send", "--reply-to", shown_id, "And hurry", "--as", "husam").out.strip()
    for id in (shown_id, event, first):
        thread = json.loads(cli.run_ok("inbox", "thread", id, "--json").out)
        assert [mail["id"] for mail in thread] == [shown_id, first, second]
    cli.run_ok("inbox", "done", shown_id, "--as", "husam")
    assert list_pending(cli, "husam") == []
    typed = cli.run_ok("inbox", "list", "--to", "husam", "--all", "--message-type", "review.request", "--json").json
    assert [item["eventId"] for item in typed] == [event]
    assert cli.run_ok("inbox", "sent", "--as", "analyst", "--message-type", "fyi", "--json").json == []
