"""`gatepost inbox push`: who gets it, what is in it, and what is printed."""

from pathlib import Path
from typing import Any

from tests.support.command_line import CommandLine

EITHER_WAY = True


def show_event(cli: CommandLine, event: str) -> Any:
    return cli.run_ok("inbox", "show", event, "--json").json


def test_all_of_it(cli: CommandLine) -> None:
    push_result = cli.run_ok(
        *("inbox", "push", "--to", "quinn", "--as", "analyst", "--type", "mail", "--subject", "Blocked on schema"),
        *("--priority", "high", "--ttl", "10m", "--dedup-key", "mail:1", "--ref", "task:0.0.123"),
        *("--data", '{"mailId": "m_3"}', "--source", "tests", "Need a decision", "--json"),
    ).json
    assert [recipient["name"] for recipient in push_result["recipients"]] == ["quinn"]
    event = show_event(cli, push_result["eventId"])
    expected = {
        "type": "mail",
        "content": "Need a decision",
        "subject": "Blocked on schema",
        "priority": 1,
        "sender": "analyst",
        "senderName": "Analyst",
        "senderType": "agent",
        "source": "tests",
        "state": "pending",
        "data": {"mailId": "m_3"},
        "dedupKey": "mail:1",
        "ref": {"type": "task", "id": "0.0.123"},
        "trust": "member",
    }
    assert {name: event[name] for name in expected} == expected
    assert event["createdAt"] < event["expiresAt"]
    assert event["timestamp"] == event["createdAt"]


def test_defaults(cli: CommandLine) -> None:
    event = show_event(cli, cli.push("--to", "analyst", "hello"))
    assert (event["type"], event["priority"], event["source"], event["sender"]) == ("event", 2, "cli", None)


def test_to_an_alias_a_bead_and_a_team(cli: CommandLine) -> None:
    for words in (["--to", "bead-42"], ["--bead", "bead-42"], ["--to", "team:web"], ["--to", "team:web/reviewer"]):
        push_result = cli.run_ok("inbox", "push", *words, "hello", "--json").json
        assert [recipient["name"] for recipient in push_result["recipients"]] == ["quinn"]


def test_a_team_without_its_prefix_is_suggested(cli: CommandLine) -> None:
    for words in (
        ["inbox", "push", "--to", "web", "hello"],
        ["trigger", "add", "jira", "--to", "web"],
        ["decision", "ask", "Ship it?", "--text", "--as", "analyst", "--of", "web"],
    ):
        refusal = cli(*words)
        assert (refusal.code, refusal.error) == (2, "there is no entity 'web'")
        assert "hint: did you mean the team, 'team:web'?\n" in refusal.err
    assert "team:web" not in cli("agent", "show", "web").err, "which cannot be a team"


def test_the_address_of_everybody_is_suggested(cli: CommandLine) -> None:
    for words in (["inbox", "push", "--to", "all", "hello"], ["send", "all", "hello"]):
        refusal = cli(*words)
        assert (refusal.code, refusal.error) == (2, "there is no entity 'all'")
        assert "hint: did you mean every agent, 'ALL'?\n" in refusal.err


def test_to_everybody(cli: CommandLine) -> None:
    push_result = cli.run_ok("inbox", "push", "--broadcast", "all hands", "--as", "quinn", "--json").json
    assert push_result["recipients"] == []
    assert push_result["broadcast"] == 1
    assert "all hands" in cli.run_ok("inbox", "drain", "--to", "analyst").out
    assert cli.run_ok("inbox", "drain", "--to", "quinn").out == ""
    star_result = cli.run_ok("inbox", "push", "--to", "*", "once more")
    assert star_result.err == "pushed to every agent\n"


def test_to_the_current_agent(cli: CommandLine) -> None:
    assert cli.run_ok("inbox", "push", "hello", GATEPOST_AGENT="analyst").err == "pushed to analyst\n"
    (cli.home / "gatepost.toml").write_text('agent = "bead-42"')
    assert cli.run_ok("inbox", "push", "hello").err == "pushed to quinn\n"
    assert cli.run_ok("inbox", "drain").out.count("hello") == 1


def test_a_repeat_says_so_and_changes_nothing(cli: CommandLine) -> None:
    first = cli.push("--to", "analyst", "--dedup-key", "k", "one")
    repeat_result = cli.run_ok("inbox", "push", "--to", "analyst", "--dedup-key", "k", "two")
    assert repeat_result.out.strip() == first
    assert repeat_result.err == "a repeat for analyst: nothing changed\n"
    assert cli.run_ok("inbox", "push", "--to", "analyst", "--dedup-key", "k", "two", "--json").json == {
        "eventId": first,
        "recipients": [{"name": "analyst", "eventId": first, "duplicate": True}],
    }
    assert show_event(cli, first)["content"] == "one"


def test_for_nobody_else(cli: CommandLine) -> None:
    result = cli.run_ok("inbox", "push", "--to", "team:web", "--as", "quinn", "hello")
    assert (result.out, result.err) == ("", "no recipients: nothing was stored\n")
    assert cli.run_ok("inbox", "push", "--to", "team:web", "--as", "quinn", "x", "--json").json["eventId"] is None


def test_from_stdin(cli: CommandLine) -> None:
    result = cli.run_ok("inbox", "push", "--to", "analyst", "-", stdin="Zeile eins\nzwei äöü\n".encode())
    assert show_event(cli, result.out.strip())["content"] == "Zeile eins\nzwei äöü"
    max_content = b"x" * 256 * 1024
    result = cli.run_ok("inbox", "push", "--to", "analyst", "-", stdin=max_content + b"\r\n")
    assert len(show_event(cli, result.out.strip())["content"]) == len(max_content)


def test_data_from_stdin_and_from_a_file(cli: CommandLine, tmp_path: Path) -> None:
    result = cli.run_ok("inbox", "push", "--to", "analyst", "--data", "-", stdin=b'{"n": 1}')
    assert show_event(cli, result.out.strip())["data"] == {"n": 1}
    (tmp_path / "data.json").write_text('{"n": [2]}')
    event = show_event(cli, cli.push("--to", "analyst", "--data", f"@{tmp_path}/data.json", "with text"))
    assert (event["data"], event["content"]) == ({"n": [2]}, "with text")


def test_data_of_the_first_three_types_is_as_others_know_it(cli: CommandLine) -> None:
    space = show_event(
        cli,
        cli.push(
            *("--to", "analyst", "--as", "husam", "--type", "space_message", "Pull the Q4 revenue numbers", "--data"),
            '{"spaceId": "space-xyz", "spaceName": "Project Alpha", "messageId": "msg-g7h8", "seq": 41}',
        ),
    )
    assert space["data"] == {
        "spaceId": "space-xyz",
        "spaceName": "Project Alpha",
        "messageId": "msg-g7h8",
        "senderEntityId": "husam",
        "senderName": "Husam",
        "senderType": "human",
        "content": "Pull the Q4 revenue numbers",
    }
    assert space["extra"] == {"seq": 41}
    plan = show_event(
        cli,
        cli.push(
            *("--to", "analyst", "--type", "plan", "--data"),
            '{"planId": "plan-abc", "planName": "Daily Report", "instruction": "Generate the summary"}',
        ),
    )
    assert plan["data"] == {"planId": "plan-abc", "planName": "Daily Report", "instruction": "Generate the summary"}
    assert "extra" not in plan
    service = show_event(
        cli,
        cli.push(
            *("--to", "analyst", "--type", "service", "--data"),
            '{"serviceName": "jira-webhook", "payload": {"issue": "PROJ-123", "action": "created"}}',
        ),
    )
    assert service["data"] == {
        "serviceName": "jira-webhook",
        "payload": {"issue": "PROJ-123", "action": "created"},
    }
    service_event = show_event(
        cli, cli.push("--to", "analyst", "--type", "service", "--source", "ci", "--data", '{"ok": true}')
    )
    assert service_event["data"] == {"serviceName": "ci", "payload": {"ok": True}}


def test_an_alert_is_counted_while_it_is_pending_and_told_again_once_it_was_read(cli: CommandLine) -> None:
    words = ("inbox", "push", "--to", "analyst", "--type", "alert", "--source", "ci", "CI build failed on main")
    cli.run_ok(*words)
    cli.run_ok(*words)
    assert cli.run_ok(*words).err == "a repeat for analyst (3 times): only this number changed\n"
    assert cli.run_ok("inbox", "drain", "--to", "analyst").out.endswith('"CI build failed on main" (3 times)\n')
    assert cli.run_ok(*words).err == "pushed to analyst\n"
