"""`gatepost ledger`: what is on it, whether it is right, who is on it, and connections with agents outside."""

import json
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from gatepost import app, settings
from gatepost.cli import output
from gatepost.core.policy import Policy
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.jobs import job_actions as jobs
from gatepost.ledger import profile_actions as ledger_profiles, topic_rows as topics
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.topic import LedgerId, TopicKind
from tests.ledger.hedera.network.node import HederaNetwork
from tests.ledger.test_ledger_operations import PEER, UAID, append_foreign_message
from tests.ledger.test_running_hash import build_tutorial
from tests.support.command_homes import start_local_gateway
from tests.support.command_line import ACCESS_MODES, CommandLine

PUBLIC_LEDGER: Final = "hedera:testnet"


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
        "next": None,
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
    assert cli.run_ok("ledger", "topics").err == "no topics yet: `gatepost ledger sync` makes them\n"
    cli.run_ok("send", "quinn", "Which one?", "--as", "analyst")
    topics = cli.run_ok("ledger", "topics", "--json").json
    [topic] = [topic["id"] for topic in topics if topic["messages"]]
    heading, *rows = cli.run_ok("ledger", "topics", "--kind", "inbound").out.splitlines()
    assert heading.split() == ["TOPIC", "NETWORK", "KIND", "OF", "MESSAGES", "MEMO"]
    assert {row.split()[1] for row in rows} == {"local"}
    assert cli.run_ok("ledger", "topics", "--kind", "work").err == "no such topics\n"
    [message] = cli.run_ok("ledger", "messages", topic, "--json").json
    assert json.loads(message["text"])["op"] == "message"
    assert cli.run_ok("ledger", "verify", topic).out == "1 of 1 message proved\n"
    exported = cli.run_ok("ledger", "export", topic).out
    assert cli.run_ok("ledger", "verify", "-", stdin=exported.encode()).out == "1 of 1 message proved\n"
    ended = cli("ledger", "messages", "0.0.9")
    assert (ended.code, ended.error) == (1, "there is no topic '0.0.9'")
    ended = cli("ledger", "messages", "q4")
    assert (ended.code, ended.error) == (2, "'q4' is not the id of a topic or an account")


def test_messages_that_do_not_count_say_why(cli: CommandLine) -> None:
    cli.run_ok("send", "quinn", "Which one?", "--as", "analyst")
    topic = change_store(cli, append_foreign_message, "quinn")
    heading, ours, theirs = cli.run_ok("ledger", "messages", topic).out.splitlines()
    assert heading.split() == ["NUMBER", "TIME", "PAYER", "REFUSED", "MESSAGE"]
    assert (ours.split()[0], theirs.split()[0]) == ("1", "2")
    assert theirs.endswith("  0.0.9001 is a stranger  {}")
    assert cli.run_ok("ledger", "messages", topic, "--refused").out.splitlines()[1].split() == theirs.split()
    [first_topic, *_] = [row["id"] for row in cli.run_ok("ledger", "topics", "--json").json if row["id"] != topic]
    ended = cli.run_ok("ledger", "messages", first_topic, "--refused")
    assert (ended.out, ended.err) == ("", "no messages were refused\n")


class TestProfile:
    @pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
    def test_is_made_by_a_sync(self, cli: CommandLine) -> None:
        ended = cli("ledger", "profile", "bead-42")
        assert (ended.code, ended.error) == (1, "'quinn' is not on the ledger yet")
        cli.run_ok("work", "add", "task:7")
        ended = cli.run_ok("ledger", "sync")
        assert (ended.out, ended.err) == ("4 accounts, 11 topics and 4 profiles made\n", "")
        assert cli.run_ok("ledger", "sync").out == "nothing is missing\n"
        facts = read_facts(cli.run_ok("ledger", "profile", "bead-42").out)
        assert facts.pop("uaid").startswith("uaid:aid:")
        assert facts == {
            "name": "quinn",
            "network": "local",
            "account": facts["account"],
            "inbound topic": facts["inbound topic"],
            "outbound topic": facts["outbound topic"],
            "display name": "quinn",
            "type": "agent",
            "capabilities": "text-generation",
            "model": "unknown",
            "published": "yes",
        }
        view = cli.run_ok("ledger", "profile", "quinn", "--json").json
        assert (view["name"], view["profile"]["alias"], view["published"]) == ("quinn", "quinn", True)
        assert read_facts(cli.run_ok("ledger", "profile", "husam").out)["type"] == "person"

    def test_has_the_capabilities_of_a_role(self, cli: CommandLine) -> None:
        cli.environ["GATEPOST_LEDGER__CAPABILITIES"] = '{reviewer = ["code-generation", 16]}'
        assert cli.run_ok("ledger", "sync", "quinn").out == "1 account, 2 topics and 1 profile made\n"
        facts = read_facts(cli.run_ok("ledger", "profile", "quinn").out)
        assert facts["capabilities"] == "code-generation, multi-agent-coordination"
        del cli.environ["GATEPOST_LEDGER__CAPABILITIES"]
        facts = read_facts(cli.run_ok("ledger", "profile", "quinn").out)
        assert facts["published"] == "no: `gatepost ledger sync` publishes it"
        assert cli.run_ok("ledger", "sync", "quinn").out == "1 profile made\n"

    def test_of_a_service_is_none(self, cli: CommandLine) -> None:
        change_store(cli, add_service, "jira")
        cli.run_ok("send", "quinn", "A ticket", "--as", "jira")
        facts = read_facts(cli.run_ok("ledger", "profile", "jira").out)
        assert facts["type"] == "service, which has no profile"
        assert "published" not in facts


class TestSync:
    def test_says_what_it_made(self, cli: CommandLine) -> None:
        ended = cli.run_ok("ledger", "sync", "--json")
        assert ended.json == {"checked": 4, "accounts": 4, "topics": 10, "profiles": 4, "jobs": 0, "pending": 0}
        ended = cli("ledger", "sync", "nobody")
        assert (ended.code, ended.error) == (2, "there is no entity 'nobody'")
        ended = cli("ledger", "sync", GATEPOST_LEDGER="off")
        assert (ended.code, ended.error) == (2, "the ledger is off")

    def test_says_how_far_it_is_if_it_takes_long(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(output, "PROGRESS_INTERVAL", 0.0)
        cli.run_ok("work", "add", "task:7")
        assert cli.run_ok("ledger", "sync").err == "4 checked so far\n5 checked so far\n"

    def test_leaves_a_public_ledger_to_a_gateway(self, cli: CommandLine) -> None:
        cli.environ["GATEPOST_LEDGER"] = PUBLIC_LEDGER
        ended = cli.run_ok("ledger", "sync", "quinn")
        assert ended.out == "1 job written\n"
        assert ended.err == "1 job is done when a gateway runs: `gatepost up`\n"
        ended = cli.run_ok("ledger", "sync", "--json")
        assert (ended.json["jobs"], ended.json["pending"]) == (5, 6)

    def test_waits_for_a_gateway(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(output, "PROGRESS_INTERVAL", 0.0)
        with start_local_gateway(cli, policy=Policy(ledger=PUBLIC_LEDGER)) as gateway:
            ended = cli.run_ok("ledger", "sync", "--no-wait")
            assert (ended.out.splitlines(), ended.err.splitlines()[-1]) == (
                ["5 jobs written"],
                "the gateway still has 5 jobs to do",
            )
            errors = iter(["the operator has no money"])
            steps = iter(
                [lambda tx: fail_job(tx, next(errors)), lambda tx: end_jobs(tx, 3), lambda tx: end_jobs(tx, 9)]
            )
            monkeypatch.setattr(time, "sleep", lambda _: gateway.gateway.store.run_sync(next(steps)))
            ended = cli.run_ok("ledger", "sync", "quinn")
            assert ended.out == "1 job done\n"
            assert ended.err.splitlines() == [
                "6 of 6 jobs left",
                "it is tried again: the operator has no money",
                "6 of 6 jobs left",
                "3 of 6 jobs left",
            ]


@pytest.fixture
def network() -> Iterator[HederaNetwork]:
    with HederaNetwork() as network:
        yield network


@pytest.fixture
def public_cli(cli: CommandLine, network: HederaNetwork, tmp_path: Path) -> CommandLine:
    """The command in a home whose ledger is a network of the test; no gateway runs."""
    cli.environ |= {
        "GATEPOST_LEDGER": PUBLIC_LEDGER,
        "GATEPOST_HEDERA__OPERATOR_ID": network.operator_id,
        "GATEPOST_HEDERA__OPERATOR_KEY_FILE": str(network.operator_key_file(tmp_path)),
        "GATEPOST_HEDERA__MIRROR": network.mirror_url,
        "GATEPOST_HEDERA__NODES": network.nodes_setting,
    }
    return cli


class TestAccount:
    """An account that exists, with its private key in a file."""

    @pytest.mark.parametrize("kind", ["ed25519", "ecdsa"])
    def test_becomes_that_of_an_entity(self, public_cli: CommandLine, network: HederaNetwork, kind: str) -> None:
        account, key = network.create_account(kind=kind)
        words = ["--account", account, "--key-file", write_key(public_cli, key)]
        assert public_cli.run_ok("ledger", "sync", "bead-42", *words).out == "1 job written\n"
        stored = public_cli.home / "ledger" / "keys" / "testnet" / "quinn.key"
        assert stored.stat().st_mode & 0o777 == 0o600
        assert public_cli.run_ok("ledger", "sync", "quinn", *words).out == "1 job written\n"

        other_account, other_key = network.create_account()
        other_words = ["--account", other_account, "--key-file", write_key(public_cli, other_key)]
        ended = public_cli("ledger", "sync", "quinn", *other_words)
        assert (ended.code, ended.error) == (1, "'quinn' has another private key, which is not replaced")
        write_key(public_cli, key)
        ended = public_cli("ledger", "sync", "husam", *words)
        assert (ended.code, ended.error) == (1, f"the account {account} belongs to 'quinn'")
        assert [path.name for path in stored.parent.iterdir()] == ["quinn.key"], "the copy for husam is removed"

    def test_must_be_there_and_have_this_key(self, public_cli: CommandLine, network: HederaNetwork) -> None:
        account, key = network.create_account()
        _, other_key = network.create_account()
        file = write_key(public_cli, key)
        ended = public_cli("ledger", "sync", "quinn", "--account", "0.0.999999", "--key-file", file)
        assert (ended.code, ended.error) == (1, "there is no account 0.0.999999 on 'hedera:testnet'")
        file = write_key(public_cli, other_key)
        ended = public_cli("ledger", "sync", "quinn", "--account", account, "--key-file", file)
        assert (ended.code, ended.error) == (2, f"the key in 'account.key' is not that of the account {account}")
        ended = public_cli("ledger", "sync", "quinn", "--account", account, "--key-file", "nowhere.key")
        assert (ended.code, ended.error) == (2, "there is no private key at 'nowhere.key'")
        network.mirror.stop()
        ended = public_cli("ledger", "sync", "quinn", "--account", account, "--key-file", file)
        assert ended.code == 3
        assert not (public_cli.home / "ledger").exists()
        assert key not in ended.err

    def test_is_named_with_its_key_and_its_owner(self, cli: CommandLine) -> None:
        for words, sentence in (
            (["quinn", "--account", "0.0.7"], "--account and --key-file must be given together"),
            (["quinn", "--key-file", "x.key"], "--account and --key-file must be given together"),
            (["--account", "0.0.7", "--key-file", "x.key"], "NAME is missing"),
            (
                ["quinn", "--account", "x", "--key-file", "x.key"],
                "--account: 'x' is not the id of a topic or an account",
            ),
        ):
            ended = cli("ledger", "sync", *words)
            assert (ended.code, ended.error) == (2, sentence)
        ended = cli("ledger", "sync", "quinn", "--account", "0.0.7", "--key-file", "x.key")
        assert (ended.code, ended.error) == (1, "only a public ledger takes an account that exists")


class TestConnections:
    @pytest.fixture
    def cli(self, cli: CommandLine) -> CommandLine:
        cli.environ["GATEPOST_LEDGER"] = PUBLIC_LEDGER
        return cli

    def test_are_asked_for(self, cli: CommandLine) -> None:
        assert cli.run_ok("ledger", "connections").err == "no connections yet\n"
        ended = cli.run_ok("ledger", "connect", "0.0.9009", "--as", "quinn", "--note", "Hello?")
        assert ended.err == "quinn asks 0.0.9009\nit is posted when a gateway runs: `gatepost up`\n"
        view = cli.run_ok("ledger", "connect", UAID, "--json").json
        assert (view["entity"], view["peerAccountId"], view["peerInboundTopicId"]) == ("admin", "0.0.9001", "0.0.9002")
        heading, first, second = cli.run_ok("ledger", "connections").out.splitlines()
        assert heading.split() == ["ID", "STATE", "OF", "WITH", "ACCOUNT", "ASKED", "BY", "TOPIC", "NOTE"]
        assert first.split() == [ended.out.strip(), "requested", "quinn", "0.0.9009", "quinn", '"Hello?"']
        assert second.split() == [view["id"], "requested", "admin", "0.0.9001", "admin"]
        assert cli.run_ok("ledger", "requests").err == "no requests wait for an answer\n"
        ended = cli.run_ok("ledger", "close", view["id"])
        assert (ended.out, ended.err) == (f"{view['id']}\n", "admin is no longer connected with 0.0.9001\n")
        assert [row["entity"] for row in cli.run_ok("ledger", "connections", "--state", "closed", "--json").json] == [
            "admin"
        ]
        assert cli.run_ok("ledger", "connections", "--state", "open").err == "no such connections\n"

    def test_are_answered(self, cli: CommandLine) -> None:
        change_store(cli, receive_requests, "quinn", "husam")
        heading, *rows = cli.run_ok("ledger", "requests").out.splitlines()
        assert heading.split() == ["ID", "TO", "ACCOUNT", "SINCE", "NOTE"]
        first, second = (row.split()[0] for row in rows)
        assert rows[0].split()[1:3] == ["quinn", "0.0.9001"]
        assert rows[0].endswith('Z  "Let us \\u001b[2J talk"')
        ended = cli.run_ok("ledger", "accept", first)
        assert ended.out == f"{first}\n"
        assert ended.err.splitlines() == [
            "accepted: quinn is being connected with 0.0.9001",
            "it is posted when a gateway runs: `gatepost up`",
        ]
        assert cli.run_ok("ledger", "refuse", second).err == "refused: 0.0.9001 is not told\n"
        assert [row["state"] for row in cli.run_ok("ledger", "connections", "--json").json] == ["accepting", "refused"]
        ended = cli("ledger", "accept", second)
        assert (ended.code, ended.error) == (1, f"the connection {second!r} is refused already")
        ended = cli("ledger", "close", second)
        assert (ended.code, ended.error) == (1, f"the connection {second!r} is refused")

    def test_that_are_written_wrong_are_explained(self, cli: CommandLine) -> None:
        for words, sentence in (
            (["connect", "bob"], "'bob' is not the id of a topic or an account"),
            (["connect", "uaid:x"], "'uaid:x' is not the id of an agent"),
            (
                ["connect", UAID.replace("testnet", "mainnet")],
                "uaid: the agent is on 'mainnet', and the ledger is 'testnet'",
            ),
            (["accept", "con_7"], "'con_7' is not the id of a connection"),
            (["connections", "--state", "broken"], "--state: 'broken' is not a state of a connection"),
        ):
            ended = cli("ledger", *words)
            assert (ended.code, ended.error) == (2, sentence)
        ended = cli("ledger", "refuse", "con_" + "0" * 32)
        assert (ended.code, ended.error) == (1, f"there is no connection 'con_{'0' * 32}'")
        ended = cli("ledger", "connect", "0.0.9009", GATEPOST_LEDGER="local:")
        assert (ended.code, ended.error) == (1, "only a public ledger has agents outside")

    def test_go_through_a_gateway(self, cli: CommandLine) -> None:
        with start_local_gateway(cli, policy=Policy(ledger=PUBLIC_LEDGER)):
            ended = cli.run_ok("ledger", "connect", "0.0.9009", "--as", "quinn")
            assert ended.err == "quinn asks 0.0.9009\n"
            assert cli.run_ok("ledger", "connections", "--json").json[0]["entity"] == "quinn"
            assert cli.run_ok("ledger", "close", ended.out.strip()).code == 0


def test_mail_says_that_it_waits_for_a_public_ledger(cli: CommandLine) -> None:
    cli.environ["GATEPOST_LEDGER"] = PUBLIC_LEDGER
    ended = cli.run_ok("send", "quinn", "Which one?", "--as", "analyst")
    assert ended.err == "sent to quinn\nit is posted on the ledger when a gateway runs: `gatepost up`\n"
    _, row = cli.run_ok("inbox", "sent", "--as", "analyst").out.splitlines()
    assert "1 pending, unposted" in row
    assert "\nledger     unposted\n" in cli.run_ok("inbox", "sent", ended.out.strip()).out
    with start_local_gateway(cli, policy=Policy(ledger=PUBLIC_LEDGER)):
        assert cli.run_ok("send", "quinn", "And now?", "--as", "analyst").err == "sent to quinn\n"


def read_facts(text: str) -> dict[str, str]:
    return {name: value.strip() for name, _, value in (line.partition("  ") for line in text.splitlines())}


def write_key(cli: CommandLine, key: str) -> str:
    """Write a private key to a file that only its owner can read; return its name."""
    file = cli.cwd / "account.key"
    file.touch(0o600)
    file.write_text(key)
    return file.name


def change_store(cli: CommandLine, verb: Callable[..., Any], *args: Any) -> Any:
    """Run a verb on the store of the home."""
    with app.prepare_store(settings.load(cli.environ)) as store:
        return store.run_sync(verb, *args)


def add_service(tx: Transaction, name: str) -> None:
    directory.register(tx, EntitySpec(name=name, kind=EntityKind.SERVICE))


def receive_requests(tx: Transaction, *names: str) -> None:
    """Let an agent outside ask each of them for a connection."""
    for name in names:
        entity = directory.find(tx, name)
        id = LedgerId(0, 0, 7_100 + entity.number)
        topics.insert(tx, "testnet", id, TopicKind.INBOUND, "memo", entity=entity.number)
        topic = topics.find(tx, "testnet", str(id))
        assert topic is not None
        assert connections.record_request(tx, topic, 1, PEER, "Let us \x1b[2J talk") is None


def end_jobs(tx: Transaction, count: int) -> None:
    for job in jobs.take(tx, [ledger_profiles.SYNC_JOB], "worker", limit=count):
        jobs.complete(tx, job.id, "worker")


def fail_job(tx: Transaction, error: str) -> None:
    [job] = jobs.take(tx, [ledger_profiles.SYNC_JOB], "worker", limit=1)
    jobs.fail(tx, job, "worker", error, retry_in=0)
