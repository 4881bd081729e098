"""With a gateway running, commands go through it; without one they work on the store: the result is the same."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue

import pytest

from gatepost.adapters.transports.socket import SocketTransport
from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.runtime import admin_key, gateway_file
from tests.acceptance.conftest import attended
from tests.acceptance.office import PROGRAM, Ended, Office
from tests.acceptance.test_bad_input import OTHERS, PUSHES
from tests.gateways import Served, served
from tests.servers import until
from tests.uplinks import Running, running

#: what is wrong with commands that the tests of bad input do not know
WRONG = [
    ["space", "create", " "],
    ["space", "create", "Q4", "--member", "nobody"],
    ["space", "create", "Q4", "--id", "Q 4"],
    ["space", "show", "nowhere"],
    ["space", "show", "no where"],
    ["space", "join", "nowhere", "analyst"],
    ["space", "leave", "nowhere", "analyst"],
    ["space", "post", "nowhere", "hello"],
    ["space", "post", "nowhere", "hello", "--as", "husam"],
    ["space", "post", "nowhere", "hello", "--as", "nobody"],
    ["space", "read", "nowhere"],
    ["space", "read", "nowhere", "--as", ""],
    ["space", "watch", "nowhere"],
    ["space", "list", "--member", "nobody"],
    ["inbox", "watch", "--to", "nobody"],
    ["inbox", "watch", "--to", "team:web"],
    ["inbox", "watch"],
    ["agent", "wake", "nobody"],
    ["agent", "wake", "husam"],
    ["plan", "set", "--owner", "analyst", "--after", "5h", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "x"],
    ["plan", "set", "--name", "n", "--after", "5h", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--after", "soon", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--at", "tomorrow", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--cron", "0 9 * *", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--cron", "0 9 * * *", "--zone", "Mars/Base", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--cron", "0 9 * * *", "--catch-up", "some", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--after", "5h", "--catch-up", "all", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--after", "5h", "--cron", "@daily", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n", "--after", "5h", "--zone", "UTC", "x"],
    ["plan", "set", "--owner", "nobody", "--name", "n", "--after", "5h", "x"],
    ["plan", "set", "--owner", "analyst", "--name", "n" * 201, "--after", "5h", "x"],
    ["plan", "set", "--id", "plan_1", "--after", "5h"],
    ["plan", "set", "--id", "plan_" + "0" * 32, "--after", "5h"],
    ["plan", "set", "--id", "plan_" + "0" * 32, "--owner", "analyst"],
    ["plan", "list", "--owner", "nobody"],
    ["plan", "list", "--status", "maybe"],
    ["plan", "delete", "plan_" + "0" * 32],
    ["plan", "delete", "evt_" + "0" * 32],
    ["gate", "add", " ", "--owner", "analyst"],
    ["gate", "add", "n" * 201, "--owner", "analyst"],
    ["gate", "add", "x"],
    ["gate", "add", "x", "--owner", "nobody"],
    ["gate", "add", "x", "--owner", ""],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "cat"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "decision"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "timer"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "timer", "--awaits", "x", "--within", "1h"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "command", "--awaits", "true"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "event", "--awaits", "gossip"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "mail", "--awaits", "nobody"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "ci"],
    ["gate", "add", "x", "--owner", "analyst", "--kind", "ci", "--awaits", "run:x"],
    ["gate", "add", "x", "--owner", "husam", "--awaits", "husam"],
    ["gate", "add", "x", "--owner", "analyst", "--waiter", "nobody"],
    ["gate", "add", "x", "--owner", "analyst", "--within", "soon"],
    ["gate", "add", "x", "--owner", "analyst", "--within", "2h", "--until", "2100-01-01T00:00:00Z"],
    ["gate", "add", "x", "--owner", "analyst", "--until", "2020-01-01T00:00:00Z"],
    ["gate", "add", "x", "--owner", "analyst", "--until", "tomorrow"],
    ["gate", "add", "x", "--owner", "analyst", "--at-deadline", "explode"],
    ["gate", "add", "x", "--owner", "analyst", "--fail", "soft"],
    ["gate", "add", "x", "--owner", "analyst", "--as", "quinn"],
    ["gate", "add", "x", "--owner", "analyst", "--as", "nobody"],
    ["gate", "add", "x", "--owner", "analyst", "--instruction", "i" * 4_001],
    ["gate", "show", "gate_1"],
    ["gate", "show", "gate_" + "0" * 32],
    ["gate", "show", "dec_" + "0" * 32],
    ["gate", "resolve", "gate_" + "0" * 32],
    ["gate", "resolve", "gate_" + "0" * 32, "--as", "nobody"],
    ["gate", "withdraw", "gate_" + "0" * 32],
    ["gate", "wait", "gate_" + "0" * 32],
    ["gate", "wait", "gate_" + "0" * 32, "--for", "a while"],
    ["gate", "waiter", "gate_" + "0" * 32, "quinn"],
    ["gate", "list", "--owner", "nobody"],
    ["gate", "list", "--kind", "cat"],
    ["decision", "ask", "Why?", "--text"],
    ["decision", "ask", "Why?", "--as", "analyst"],
    ["decision", "ask", " ", "--text", "--as", "analyst"],
    ["decision", "ask", "q" * 10_001, "--text", "--as", "analyst"],
    ["decision", "ask", "Why?", "--text", "--as", "nobody"],
    ["decision", "ask", "Why?", "--text", "--as", "analyst", "--of", "nobody"],
    ["decision", "ask", "Why?", "--text", "--as", "analyst", "--of", "*"],
    ["decision", "ask", "Why?", "--text", "--as", "analyst", "--of", "analyst"],
    ["decision", "ask", "Why?", "--as", "analyst", "--option", "no spaces=x"],
    ["decision", "ask", "Why?", "--as", "analyst", "--option", "x="],
    ["decision", "ask", "Why?", "--as", "analyst", "--option", "x=" + "l" * 201],
    ["decision", "ask", "Why?", "--as", "analyst", "--option", "x", "--option", "x=y"],
    ["decision", "ask", "Why?", "--as", "analyst", *["--option=a"] * 21],
    ["decision", "ask", "Why?", "--as", "analyst", "--option", "x", "--default", "y", "--within", "1h"],
    ["decision", "ask", "Why?", "--as", "analyst", "--option", "x", "--default", "x"],
    ["decision", "ask", "Why?", "--as", "analyst", "--text", "--within", "2h", "--until", "2100-01-01T00:00:00Z"],
    ["decision", "ask", "Why?", "--as", "analyst", "--text", "--urgency", "very"],
    ["decision", "ask", "Why?", "--as", "analyst", "--text", "--ref", "task"],
    ["decision", "ask", "Why?", "--as", "analyst", "--text", "--context", "@missing"],
    ["decision", "ask", "Why?", "--as", "analyst", "--text", "--context", "c" * 65_537],
    ["decision", "ask", "Why?", "--as", "analyst", "--text", "--for", "1h"],
    ["decision", "answer", "dec_1", "x"],
    ["decision", "answer", "dec_" + "0" * 32, "x"],
    ["decision", "answer", "dec_" + "0" * 32, "x", "--as", "nobody"],
    ["decision", "revise", "dec_" + "0" * 32, "Why?", "--text"],
    ["decision", "withdraw", "dec_" + "0" * 32],
    ["decision", "show", "gate_" + "0" * 32],
    ["decision", "wait", "dec_" + "0" * 32],
    ["decision", "list", "--of", "nobody"],
    ["decision", "list", "--by", "nobody"],
    ["decision", "check", "--since", "yesterday"],
    ["decision", "check", "--as", "nobody"],
    ["key", "create", "--agent", "nobody"],
    ["key", "create", "--agent", "analyst", "--public"],
    ["key", "create", "--agent", ""],
    ["key", "create", "--name", "n" * 201],
    ["key", "revoke", "sk_12345678"],
    ["key", "revoke", "key_" + "0" * 32],
    ["key", "revoke", "nonsense"],
    ["trigger", "add", "hook", "--to", "nobody"],
    ["trigger", "add", "Hook", "--to", "analyst"],
    ["trigger", "add", "hook", "--to", "analyst", "--scheme", "magic"],
    ["trigger", "add", "hook", "--to", "analyst", "--scheme", "slack"],
    ["trigger", "add", "hook", "--to", "analyst", "--secret", "short"],
    ["trigger", "add", "hook", "--to", "analyst", "--secret", "@missing"],
    ["trigger", "add", "hook", "--to", "analyst", "--owner", "nobody"],
    ["trigger", "show", "hook"],
    ["trigger", "show", "no hook"],
    ["trigger", "enable", "hook"],
    ["trigger", "delete", "hook"],
]
WORDS = [["inbox", "push", *words] for words, _, _ in PUSHES] + [words for words, _, _ in OTHERS] + WRONG


def answered(gateway: Served) -> set[str]:
    """What a gateway has answered that is gone by now: method and route."""
    [metric] = gateway.gateway.office.meters.requests.collect()
    return {f"{sample.labels['method']} {sample.labels['route']}" for sample in metric.samples}


@pytest.fixture
def alone(
    tmp_path: Path, office: Office, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Office:
    """The same home once more, where no gateway runs."""
    home = tmp_path / "alone"
    home.mkdir(mode=0o700)
    (home / "gatepost.db").write_bytes(office.database.read_bytes())
    return Office(home, office.here, monkeypatch, capsys, office.environ | {"GATEPOST_HOME": str(home)})


def test_bad_words_are_answered_alike(office: Office, alone: Office) -> None:
    wrong: list[tuple[list[str], Ended, Ended]] = []
    with attended(office) as gateway:
        for words in WORDS:
            through, direct = office(*words), alone(*words)
            assert direct.code in (1, 2, 3), words
            assert direct.error, words
            if through != direct:
                wrong.append((words, through, direct))
    assert not wrong
    assert len(answered(gateway)) > 20


def test_commands_go_through_it(office: Office) -> None:
    with attended(office) as gateway:
        for words in (
            ["inbox", "push", "--to", "analyst", "hello"],
            ["inbox", "list", "--to", "analyst"],
            ["inbox", "drain", "--to", "analyst"],
            ["agent", "show", "analyst"],
            ["space", "create", "Q4"],
            ["plan", "list"],
            ["gate", "list"],
            ["decision", "list"],
            ["key", "list"],
            ["trigger", "list"],
        ):
            office.done(*words)
    assert answered(gateway) >= {
        "POST /api/inbox",
        "GET /api/inbox/{name}",
        "POST /api/inbox/{name}/claim",
        "POST /api/inbox/{name}/ack",
        "GET /api/inbox/{name}/account",
        "POST /api/spaces",
        "GET /api/plans",
        "GET /api/gates",
        "GET /api/decisions",
        "GET /api/keys",
        "GET /api/triggers",
    }


def test_some_always_work_here(office: Office) -> None:
    with attended(office) as gateway:
        for words in (["init"], ["doctor"], ["config", "show"], ["export", "out.jsonl"], ["import", "out.jsonl"]):
            office.done(*words)
    assert answered(gateway) == set()


def test_what_is_done_here_is_heard_there(office: Office) -> None:
    """A gateway that does not say where it is hears the doorbell all the same."""
    transport = SocketTransport(office.home / "rings")
    with served(f"sqlite:///{office.database}", transport=transport) as gateway:
        heard: SimpleQueue[TransportMessage] = SimpleQueue()
        with gateway.gateway.office.exchange.subscribe(heard.put):
            office.push("--to", "analyst", "hello")
            office.done("agent", "wake", "analyst")
            rings = [heard.get(timeout=60), heard.get(timeout=60)]
    assert answered(gateway) == set()
    assert [(ring.recipient, ring.cause) for ring in rings if isinstance(ring, Signal)] == [
        ("analyst", "event"),
        ("analyst", "wake"),
    ]


class TestTheNotice:
    def test_of_somebody_who_does_not_answer_is_not_believed(self, office: Office) -> None:
        self.write(office)
        assert "analyst" in office.done("agent", "list").out
        (office.home / admin_key.ADMIN_KEY).write_text("sk_" + "x" * 43 + "\n")
        assert "analyst" in office.done("agent", "list").out

    def test_of_a_gateway_on_another_store_is_not_believed(self, office: Office) -> None:
        with attended(office) as gateway:
            assert office.done("agent", "list", GATEPOST_STORE="sqlite:///other.db").err.endswith("there is nobody\n")
        assert answered(gateway) == set()

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', "\udcff", '{"url":"x","pid":"y","store":"z"}'])
    def test_that_cannot_be_read_is_none(self, office: Office, text: str) -> None:
        (office.home / gateway_file.FILE_NAME).write_text(text, errors="surrogateescape")
        assert "analyst" in office.done("agent", "list").out

    def write(self, office: Office) -> None:
        url, store = "http://127.0.0.1:9", f"sqlite:///{office.database}"
        (office.home / gateway_file.FILE_NAME).write_text(json.dumps({"url": url, "pid": os.getpid(), "store": store}))


class TestTheKey:
    def test_that_is_not_there(self, office: Office) -> None:
        with attended(office):
            (office.home / admin_key.ADMIN_KEY).unlink()
            ended = office("agent", "list")
        assert (ended.code, ended.out) == (3, "")
        assert ended.error.startswith("the administrator's key cannot be read: ")
        assert "start the gateway again: `gatepost up` makes one" in ended.err

    @pytest.mark.parametrize("content", [b"", b"hello", b"\xff\xfe", b"sk_a\nb", "sk_\u00e9".encode()])
    def test_that_is_no_key_is_named_with_its_file(self, office: Office, content: bytes) -> None:
        file = office.home / admin_key.ADMIN_KEY
        with attended(office):
            file.write_bytes(content)
            for ended in (office("agent", "list"), office("init")):
                assert (ended.code, ended.out) == (3, "")
                assert ended.error == f"the administrator's key cannot be read: '{file}': that is not a key"
                assert admin_key.RENEW_HINT in ended.err

    def test_that_is_not_known(self, office: Office) -> None:
        with attended(office) as gateway:
            (office.home / admin_key.ADMIN_KEY).write_text("sk_" + "x" * 43)
            ended = office("agent", "list")
        assert (ended.code, ended.out) == (1, "")
        assert ended.error == f"the gateway at {gateway.base} does not know the key in '{office.home}/admin.key'"
        assert "`gatepost up` makes this one good" in ended.err

    def test_that_was_revoked_is_said_to_be(self, office: Office) -> None:
        office.done("init")
        key = (office.home / admin_key.ADMIN_KEY).read_text().strip()
        office.done("key", "revoke", key)
        ended = office("init")
        assert (ended.code, ended.error) == (1, f"the key in '{office.home}/admin.key' was revoked")
        assert admin_key.RENEW_HINT in ended.err
        (office.home / admin_key.ADMIN_KEY).unlink()
        assert [step["made"] for step in office.done("init", "--json").json] == [False, False, False, True]

    def test_that_was_revoked_while_the_gateway_runs(self, office: Office) -> None:
        """The hint gets one in again."""
        file = office.home / admin_key.ADMIN_KEY
        with running(office.home):
            office.done("key", "revoke", file.read_text().strip())
            ended = office("key", "list")
        assert ended.code == 1
        assert f"hint: if the key was revoked, {admin_key.RENEW_HINT}" in ended.err
        file.unlink()
        with running(office.home):
            assert [key["revokedAt"] is None for key in office.done("key", "list", "--json").json] == [False, True]

    def test_of_another_store_is_made_good(self, office: Office) -> None:
        office.done("init")
        office.done("init", GATEPOST_STORE="sqlite:///other.db")
        assert office.done("key", "list", "--json", GATEPOST_STORE="sqlite:///other.db").json[0]["name"] == "admin.key"


def test_up_with_a_transport_that_its_store_does_not_have(gatepost: Office) -> None:
    ended = gatepost.process("up", "--port", "0", GATEPOST_TRANSPORT="postgres:")
    assert (ended.code, ended.out) == (2, "")
    assert ended.error.endswith("goes through a store on PostgreSQL, and this one is on SQLite")
    assert not gatepost.home.exists()


def test_up_and_down(office: Office) -> None:
    """The gateway as a process: commands find it while it runs, and do without it when it is gone."""
    office.here.joinpath("gatepost.toml").touch()
    with running(office.home) as gateway:
        found = gateway_file.read_gateway_file(office.home)
        assert found is not None
        assert (found.url, found.pid) == (gateway.url, gateway.process.pid)
        assert (office.home / gateway_file.FILE_NAME).stat().st_mode & 0o777 == 0o600
        event = office.push("--to", "analyst", "hello")
        assert office.done("inbox", "show", event, "--json").json["dedupKey"].startswith("client:")

        gateway.kill()
        assert (office.home / gateway_file.FILE_NAME).exists()
        event = office.push("--to", "analyst", "hello")
        assert office.done("inbox", "show", event, "--json").json["dedupKey"] is None
        assert not (office.home / gateway_file.FILE_NAME).exists()

        gateway.start()
        office.push("--to", "analyst", "hello")
        gateway.stop()
        assert gateway.process.returncode == 0
        assert not (office.home / gateway_file.FILE_NAME).exists()
    assert len(office.done("inbox", "drain", "--to", "analyst", "--json").json) == 3


@pytest.mark.parametrize("leave", [Running.stop, Running.kill])
def test_two_in_one_home(office: Office, leave: Callable[[Running], None]) -> None:
    """Commands and hooks find the first while it is there, whoever else comes and goes, and then the other one."""
    often = {"GATEPOST_JANITOR__INTERVAL": "1s"}
    with running(office.home, **often) as first:
        posted = gateway_file.read_gateway_file(office.home)
        with running(office.home, **often) as passing:
            assert gateway_file.read_gateway_file(office.home) == posted
            leave(passing)
        assert gateway_file.read_gateway_file(office.home) == posted
        with running(office.home, **often) as second:
            leave(first)
            until(lambda: gateway_file.find_gateway(office.home) is not None, "the second has put up its notice")
            found = gateway_file.read_gateway_file(office.home)
            assert found is not None
            assert (found.url, found.pid) == (second.url, second.process.pid)
            assert found.socket is not None
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(found.socket)


@pytest.mark.parametrize("road", ["alone", "through a gateway"])
class TestWatching:
    def test_an_inbox(self, office: Office, road: str) -> None:
        words = ("inbox", "watch", "--to", "analyst")
        assert self.watched(office, road, *words) == ['[Event: cli] "one"\n', '[Event: cli] "two\\u2028"\n']
        assert len(office.done("inbox", "list", "--to", "analyst", "--json").json) == 2

    def test_an_inbox_as_json(self, office: Office, road: str) -> None:
        told = self.watched(office, road, "inbox", "watch", "--to", "analyst", "--json")
        assert [json.loads(line)["content"] for line in told] == ["one", "two\u2028"]

    def test_a_space(self, office: Office, road: str) -> None:
        office.done("space", "create", "Q4", "--member", "husam", "--member", "analyst")
        told = self.watched(office, road, "space", "watch", "q4", "--as", "husam")
        assert [line.split("  ", 2)[::2] for line in told] == [
            ["1", 'Analyst (agent): "one"\n'],
            ["2", 'Analyst (agent): "two\\u2028"\n'],
        ]
        [_, member] = office.done("space", "show", "q4", "--json").json["members"]
        assert (member["name"], member["readSeq"] in (1, 2)) == ("husam", True)  # the last may not have been noted yet

    def watched(self, office: Office, road: str, *words: str) -> list[str]:
        """What is printed while two things happen, one line each, and then Ctrl-C."""
        if road == "alone":
            return self._watched(office, *words)
        with attended(office):
            return self._watched(office, *words)

    def _watched(self, office: Office, *words: str) -> list[str]:
        process = subprocess.Popen(
            [*PROGRAM, *words],
            env=os.environ | office.environ,
            cwd=office.here,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stderr.readline().startswith("watching ")
            told = []
            for text in ("one", "two\u2028"):
                if words[0] == "space":
                    office.done("space", "post", "q4", "--as", "analyst", text)
                else:
                    office.push("--to", "analyst", text)
                told.append(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
        assert (process.returncode, out, err) == (130, "", "")
        return told
