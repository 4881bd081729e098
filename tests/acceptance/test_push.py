"""`gatepost inbox push`: who gets it, what is in it, and what is printed."""

from pathlib import Path
from typing import Any

from tests.acceptance.office import Office

EITHER_WAY = True


def only(office: Office, event: str) -> Any:
    return office.done("inbox", "show", event, "--json").json


def test_all_of_it(office: Office) -> None:
    pushed = office.done(
        *("inbox", "push", "--to", "quinn", "--as", "analyst", "--type", "mail", "--subject", "Blocked on schema"),
        *("--priority", "high", "--ttl", "10m", "--dedup-key", "mail:1", "--ref", "task:0.0.123"),
        *("--data", '{"mailId": "m_3"}', "--source", "tests", "Need a decision", "--json"),
    ).json
    assert [each["name"] for each in pushed["recipients"]] == ["quinn"]
    event = only(office, pushed["eventId"])
    wanted = {
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
    assert {name: event[name] for name in wanted} == wanted
    assert event["createdAt"] < event["expiresAt"]
    assert event["timestamp"] == event["createdAt"]


def test_defaults(office: Office) -> None:
    event = only(office, office.push("--to", "analyst", "hello"))
    assert (event["type"], event["priority"], event["source"], event["sender"]) == ("event", 2, "cli", None)


def test_to_an_alias_a_bead_and_a_team(office: Office) -> None:
    for words in (["--to", "bead-42"], ["--bead", "bead-42"], ["--to", "team:web"], ["--to", "team:web/reviewer"]):
        pushed = office.done("inbox", "push", *words, "hello", "--json").json
        assert [each["name"] for each in pushed["recipients"]] == ["quinn"]


def test_to_everybody(office: Office) -> None:
    pushed = office.done("inbox", "push", "--broadcast", "all hands", "--as", "quinn", "--json").json
    assert pushed["recipients"] == []
    assert pushed["broadcast"] == 1
    assert "all hands" in office.done("inbox", "drain", "--to", "analyst").out
    assert office.done("inbox", "drain", "--to", "quinn").out == ""
    star = office.done("inbox", "push", "--to", "*", "once more")
    assert star.err == "pushed to every agent\n"


def test_to_the_current_agent(office: Office) -> None:
    assert office.done("inbox", "push", "hello", GATEPOST_AGENT="analyst").err == "pushed to analyst\n"
    (office.home / "gatepost.toml").write_text('agent = "bead-42"')
    assert office.done("inbox", "push", "hello").err == "pushed to quinn\n"
    assert office.done("inbox", "drain").out.count("hello") == 1


def test_a_repeat_says_so_and_changes_nothing(office: Office) -> None:
    first = office.push("--to", "analyst", "--dedup-key", "k", "one")
    again = office.done("inbox", "push", "--to", "analyst", "--dedup-key", "k", "two")
    assert again.out.strip() == first
    assert again.err == "a repeat for analyst: nothing changed\n"
    assert office.done("inbox", "push", "--to", "analyst", "--dedup-key", "k", "two", "--json").json == {
        "eventId": first,
        "recipients": [{"name": "analyst", "eventId": first, "duplicate": True}],
    }
    assert only(office, first)["content"] == "one"


def test_for_nobody_else(office: Office) -> None:
    alone = office.done("inbox", "push", "--to", "team:web", "--as", "quinn", "hello")
    assert (alone.out, alone.err) == ("", "nobody else is there: nothing was stored\n")
    assert office.done("inbox", "push", "--to", "team:web", "--as", "quinn", "x", "--json").json["eventId"] is None


def test_from_stdin(office: Office) -> None:
    piped = office.done("inbox", "push", "--to", "analyst", "-", stdin="Zeile eins\nzwei äöü\n".encode())
    assert only(office, piped.out.strip())["content"] == "Zeile eins\nzwei äöü"
    most = b"x" * 256 * 1024
    piped = office.done("inbox", "push", "--to", "analyst", "-", stdin=most + b"\r\n")
    assert len(only(office, piped.out.strip())["content"]) == len(most)


def test_data_from_stdin_and_from_a_file(office: Office, tmp_path: Path) -> None:
    piped = office.done("inbox", "push", "--to", "analyst", "--data", "-", stdin=b'{"n": 1}')
    assert only(office, piped.out.strip())["data"] == {"n": 1}
    (tmp_path / "data.json").write_text('{"n": [2]}')
    event = only(office, office.push("--to", "analyst", "--data", f"@{tmp_path}/data.json", "with text"))
    assert (event["data"], event["content"]) == ({"n": [2]}, "with text")


def test_data_of_the_first_three_types_is_as_others_know_it(office: Office) -> None:
    space = only(
        office,
        office.push(
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
    plan = only(
        office,
        office.push(
            *("--to", "analyst", "--type", "plan", "--data"),
            '{"planId": "plan-abc", "planName": "Daily Report", "instruction": "Generate the summary"}',
        ),
    )
    assert plan["data"] == {"planId": "plan-abc", "planName": "Daily Report", "instruction": "Generate the summary"}
    assert "extra" not in plan
    service = only(
        office,
        office.push(
            *("--to", "analyst", "--type", "service", "--data"),
            '{"serviceName": "jira-webhook", "payload": {"issue": "PROJ-123", "action": "created"}}',
        ),
    )
    assert service["data"] == {
        "serviceName": "jira-webhook",
        "payload": {"issue": "PROJ-123", "action": "created"},
    }
    bare = only(office, office.push("--to", "analyst", "--type", "service", "--source", "ci", "--data", '{"ok": true}'))
    assert bare["data"] == {"serviceName": "ci", "payload": {"ok": True}}
