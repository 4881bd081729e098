"""`gatepost ledger verify`: what is right, what was changed, and what is no ledger at all."""

import json
from base64 import b64encode

from tests.acceptance.command_line import CommandLine
from tests.unit.test_ledger import build_tutorial


def test_messages_of_a_mirror_node_are_proved(empty_cli: CommandLine) -> None:
    document = build_tutorial()
    text = json.dumps(document)
    (empty_cli.cwd / "all.json").write_text(text)
    ended = empty_cli.run_ok("ledger", "verify", "all.json")
    assert (ended.out, ended.err) == ("3 of 3 messages proved\n", "")
    assert empty_cli.run_ok("ledger", "verify", "-", stdin=text.encode()).out == "3 of 3 messages proved\n"
    ended = empty_cli.run_ok("ledger", "verify", "-", stdin=b"[]")
    assert (ended.out, ended.err) == ("0 of 0 messages proved\n", "there are no messages to check\n")
    (empty_cli.cwd / "end.json").write_text(json.dumps(document["messages"][1:]))
    ended = empty_cli.run_ok("ledger", "verify", "end.json")
    assert ended.out == "1 of 2 messages proved\n"
    assert ended.err == "1 message cannot be checked: the message before is not in the file\n"


def test_the_first_message_that_is_not_right_is_named(empty_cli: CommandLine) -> None:
    document = build_tutorial()
    document["messages"][1]["message"] = b64encode(b"Message 9").decode()
    (empty_cli.cwd / "changed.json").write_text(json.dumps(document))
    ended = empty_cli("ledger", "verify", "changed.json")
    assert (ended.code, ended.out) == (1, "2 of 3 messages proved\n")
    assert ended.err == "message 2 of 0.0.4603900 is not right: its running hash does not match\n"
    ended = empty_cli("ledger", "verify", "changed.json", "--json")
    assert ended.code == 1
    assert ended.json == {
        "messages": 3,
        "proved": 2,
        "unknown": 0,
        "wrong": 1,
        "firstFault": {
            "topicId": "0.0.4603900",
            "sequenceNumber": 2,
            "reason": "its running hash does not match",
        },
    }
    del document["messages"][1]
    (empty_cli.cwd / "short.json").write_text(json.dumps(document))
    ended = empty_cli("ledger", "verify", "short.json")
    assert ended.err == "message 3 of 0.0.4603900 is not right: it does not follow message 1\n"


def test_what_is_no_ledger_is_refused(empty_cli: CommandLine) -> None:
    (empty_cli.cwd / "other.json").write_text("{}")
    (empty_cli.cwd / "text.json").write_text("messages")
    hint = "hint: give the JSON of a mirror node, or an export of `gatepost ledger export`\n"
    for name, sentence in (
        ("nothing.json", "error: 'nothing.json' cannot be read: No such file or directory\n"),
        ("other.json", f"error: 'other.json' has no list of messages\n{hint}"),
        ("text.json", f"error: 'text.json' is not JSON\n{hint}"),
        ("-", f"error: stdin is not JSON\n{hint}"),
    ):
        ended = empty_cli("ledger", "verify", name)
        assert (ended.code, ended.err) == (2, sentence)


def test_what_is_sent_is_on_the_local_ledger(cli: CommandLine) -> None:
    assert (
        cli.run_ok("ledger", "topics").err
        == 'no topics yet: set `ledger` to "local:" in gatepost.toml, and send mail\n'
    )
    cli.environ["GATEPOST_LEDGER"] = "local:"
    cli.run_ok("send", "quinn", "Which one?", "--as", "analyst")
    topics = cli.run_ok("ledger", "topics", "--json").json
    [topic] = [topic["id"] for topic in topics if topic["messages"]]
    assert cli.run_ok("ledger", "topics", "--kind", "inbound").out.splitlines()[0].split() == [
        *("TOPIC", "KIND", "OF", "MESSAGES", "MEMO")
    ]
    [message] = cli.run_ok("ledger", "messages", topic, "--json").json
    assert json.loads(message["text"])["op"] == "message"
    assert cli.run_ok("ledger", "verify", topic).out == "1 of 1 message proved\n"
    exported = cli.run_ok("ledger", "export", topic).out
    assert cli.run_ok("ledger", "verify", "-", stdin=exported.encode()).out == "1 of 1 message proved\n"
    ended = cli("ledger", "messages", "0.0.9")
    assert (ended.code, ended.error) == (1, "there is no topic '0.0.9'")
    ended = cli("ledger", "messages", "q4")
    assert (ended.code, ended.error) == (2, "'q4' is not the id of a topic or an account")
