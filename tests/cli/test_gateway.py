"""With a gateway running, commands go through it; without one they work on the store: the result is the same."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from queue import SimpleQueue

import pytest

from gatepost.core.signals import Signal, TransportMessage
from gatepost.settings import gateway_files
from gatepost.transports.socket import SocketTransport
from tests.support.command_homes import start_local_gateway
from tests.support.command_line import GATEPOST_COMMAND, CommandLine
from tests.support.gateways.gateway_process import GatewayProcess, run_gateway_process
from tests.support.gateways.local_gateways import GatewayThread, serve_gateway
from tests.support.processes.fork_server import ForkedProcess
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT


def list_answered_routes(gateway: GatewayThread) -> set[str]:
    """What a gateway has answered that is gone by now: method and route."""
    [metric] = gateway.gateway.app_state.meters.requests.collect()
    return {f"{sample.labels['method']} {sample.labels['route']}" for sample in metric.samples}


def test_commands_go_through_it(cli: CommandLine) -> None:
    with start_local_gateway(cli) as gateway:
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
            cli.run_ok(*words)
    assert list_answered_routes(gateway) >= {
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


def test_some_always_work_here(cli: CommandLine) -> None:
    with start_local_gateway(cli) as gateway:
        for words in (["init"], ["doctor"], ["config", "show"], ["export", "out.jsonl"]):
            cli.run_ok(*words)
        refusal = cli("import", "out.jsonl")
        assert (refusal.code, refusal.error) == (1, "a gateway is running on this store")
    assert list_answered_routes(gateway) == {"GET /api/agents"}  # doctor: the gateway knows what models lack there


def test_what_is_done_here_is_heard_there(cli: CommandLine) -> None:
    """A gateway that does not say where it is hears signals all the same."""
    transport = SocketTransport(cli.home / "signals")
    with serve_gateway(f"sqlite:///{cli.database}", transport=transport) as gateway:
        signals: SimpleQueue[TransportMessage] = SimpleQueue()
        with gateway.gateway.app_state.signal_bus.subscribe(signals.put):
            cli.push("--to", "analyst", "hello")
            cli.run_ok("agent", "wake", "analyst")
            received_signals = [signals.get(timeout=LAST_RESORT), signals.get(timeout=LAST_RESORT)]
    assert list_answered_routes(gateway) == set()
    assert [(signal.topic.recipient, signal.cause) for signal in received_signals if isinstance(signal, Signal)] == [
        ("analyst", "event"),
        ("analyst", "wake"),
    ]


class TestTheNotice:
    def test_of_somebody_who_does_not_answer_is_not_believed(self, cli: CommandLine) -> None:
        self.write_gateway_file(cli)
        assert "analyst" in cli.run_ok("agent", "list").out
        (cli.home / gateway_files.ADMIN_KEY).write_text("sk_" + "x" * 43 + "\n")
        assert "analyst" in cli.run_ok("agent", "list").out

    @pytest.mark.parametrize("text", ["", "[]", "{}", '{"url": 1}', "\udcff", '{"url":"x","pid":"y","store":"z"}'])
    def test_that_cannot_be_read_is_none(self, cli: CommandLine, text: str) -> None:
        (cli.home / gateway_files.FILE_NAME).write_text(text, errors="surrogateescape")
        assert "analyst" in cli.run_ok("agent", "list").out

    def write_gateway_file(self, cli: CommandLine) -> None:
        url, store = "http://127.0.0.1:9", f"sqlite:///{cli.database}"
        (cli.home / gateway_files.FILE_NAME).write_text(json.dumps({"url": url, "pid": os.getpid(), "store": store}))


class TestTheKey:
    def test_that_is_not_there(self, cli: CommandLine) -> None:
        with start_local_gateway(cli):
            (cli.home / gateway_files.ADMIN_KEY).unlink()
            result = cli("agent", "list")
        assert (result.code, result.out) == (3, "")
        assert result.error.startswith("the administrator's key cannot be read: ")
        assert "start the gateway again: `gatepost up` makes one" in result.err

    @pytest.mark.parametrize("content", [b"", b"hello", b"\xff\xfe", b"sk_a\nb", "sk_\u00e9".encode()])
    def test_that_is_no_key_is_named_with_its_file(self, cli: CommandLine, content: bytes) -> None:
        file = cli.home / gateway_files.ADMIN_KEY
        with start_local_gateway(cli):
            file.write_bytes(content)
            for result in (cli("agent", "list"), cli("init")):
                assert (result.code, result.out) == (3, "")
                assert result.error == f"the administrator's key cannot be read: '{file}': that is not a key"
                assert gateway_files.RENEW_HINT in result.err

    @pytest.mark.parametrize("words", [("init",), ("up", "--port", "0")])
    def test_that_is_a_pipe_does_not_block(self, cli: CommandLine, words: tuple[str, ...]) -> None:
        file = cli.home / gateway_files.ADMIN_KEY
        os.mkfifo(file)
        result = cli.run_process(*words)
        assert (result.code, result.out) == (3, "")
        assert result.error == f"the administrator's key cannot be read: '{file}': it is not a regular file"

    def test_that_others_can_read_is_warned_of(self, cli: CommandLine) -> None:
        cli.run_ok("init")
        file = cli.home / gateway_files.ADMIN_KEY
        file.chmod(0o644)
        process = ForkedProcess(
            [*GATEPOST_COMMAND, "up", "--port", "0"],
            env=os.environ | cli.environ | {"GATEPOST_GATEWAY__LOG": "json"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith('{"url": "http://')
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=LAST_RESORT)
        finally:
            process.kill()
            process.communicate()
        [warning] = [json.loads(line) for line in err.splitlines() if "other users can read it" in line]
        assert (warning["level"], warning["path"], warning["fix"]) == ("warning", str(file), f"chmod 600 {file}")

    def test_that_is_not_known(self, cli: CommandLine) -> None:
        with start_local_gateway(cli) as gateway:
            (cli.home / gateway_files.ADMIN_KEY).write_text("sk_" + "x" * 43)
            result = cli("agent", "list")
        assert (result.code, result.out) == (1, "")
        assert result.error == f"the gateway at {gateway.base_url} does not know the key in '{cli.home}/admin.key'"
        assert "restart the gateway" in result.err

    def test_that_was_revoked_is_said_to_be(self, cli: CommandLine) -> None:
        cli.run_ok("init")
        key = (cli.home / gateway_files.ADMIN_KEY).read_text().strip()
        cli.run_ok("key", "revoke", key)
        result = cli("init")
        assert (result.code, result.error) == (1, f"the key in '{cli.home}/admin.key' was revoked")
        assert gateway_files.RENEW_HINT in result.err
        (cli.home / gateway_files.ADMIN_KEY).unlink()
        assert [step["made"] for step in cli.run_ok("init", "--json").json] == [False, False, False, True]

    def test_that_was_revoked_while_the_gateway_runs(self, cli: CommandLine) -> None:
        """The hint gets one in again."""
        file = cli.home / gateway_files.ADMIN_KEY
        with run_gateway_process(cli.home):
            cli.run_ok("key", "revoke", file.read_text().strip())
            result = cli("key", "list")
        assert result.code == 1
        assert f"hint: if the key was revoked, {gateway_files.RENEW_HINT}" in result.err
        file.unlink()
        with run_gateway_process(cli.home):
            assert [key["revokedAt"] is None for key in cli.run_ok("key", "list", "--json").json] == [False, True]

    def test_of_another_store_is_made_good(self, cli: CommandLine) -> None:
        cli.run_ok("init")
        cli.run_ok("init", GATEPOST_STORE="sqlite:///other.db")
        assert cli.run_ok("key", "list", "--json", GATEPOST_STORE="sqlite:///other.db").json[0]["name"] == "admin.key"


def test_up_with_a_transport_that_its_store_does_not_have(empty_cli: CommandLine) -> None:
    result = empty_cli.run_process("up", "--port", "0", GATEPOST_TRANSPORT="postgres:")
    assert (result.code, result.out) == (2, "")
    assert result.error.endswith("goes through a store on PostgreSQL, and this one is on SQLite")
    assert not empty_cli.home.exists()


def test_up_and_down(cli: CommandLine) -> None:
    """The gateway as a process: commands find it while it runs, and do without it when it is gone."""
    cli.cwd.joinpath("gatepost.toml").touch()
    with run_gateway_process(cli.home) as gateway:
        gateway_info = gateway_files.read_gateway_file(cli.home)
        assert gateway_info is not None
        assert (gateway_info.url, gateway_info.pid) == (gateway.url, gateway.process.pid)
        assert (cli.home / gateway_files.FILE_NAME).stat().st_mode & 0o777 == 0o600
        event = cli.push("--to", "analyst", "hello")
        assert cli.run_ok("inbox", "show", event, "--json").json["dedupKey"].startswith("client:")

        gateway.kill()
        assert (cli.home / gateway_files.FILE_NAME).exists()
        event = cli.push("--to", "analyst", "hello")
        assert cli.run_ok("inbox", "show", event, "--json").json["dedupKey"] is None
        assert not (cli.home / gateway_files.FILE_NAME).exists()

        gateway.start()
        cli.push("--to", "analyst", "hello")
        gateway.stop()
        assert gateway.process.returncode == 0
        assert not (cli.home / gateway_files.FILE_NAME).exists()
    assert len(cli.run_ok("inbox", "drain", "--to", "analyst", "--json").json) == 3


@pytest.mark.parametrize("leave", [GatewayProcess.stop, GatewayProcess.kill])
def test_two_in_one_home(cli: CommandLine, leave: Callable[[GatewayProcess], None]) -> None:
    """Commands and hooks find the first while it is there, whoever else comes and goes, and then the other one."""
    environ = {"GATEPOST_JANITOR__INTERVAL": "1s"}
    with run_gateway_process(cli.home, **environ) as first:
        first_info = gateway_files.read_gateway_file(cli.home)
        with run_gateway_process(cli.home, **environ) as third:
            assert gateway_files.read_gateway_file(cli.home) == first_info
            leave(third)
        assert gateway_files.read_gateway_file(cli.home) == first_info
        with run_gateway_process(cli.home, **environ) as second:
            leave(first)
            wait_until(lambda: gateway_files.find_gateway(cli.home) is not None, "the second has put up its notice")
            second_info = gateway_files.read_gateway_file(cli.home)
            assert second_info is not None
            assert (second_info.url, second_info.pid) == (second.url, second.process.pid)
            assert second_info.socket is not None
            with socket.socket(socket.AF_UNIX) as line:
                line.connect(second_info.socket)


@pytest.mark.parametrize("access_mode", ["alone", "through a gateway"])
class TestWatching:
    def test_an_inbox(self, cli: CommandLine, access_mode: str) -> None:
        words = ("inbox", "watch", "--to", "analyst")
        assert self.watch_with_access(cli, access_mode, *words) == [
            '[Event: cli] "one"\n',
            '[Event: cli] "two\\u2028"\n',
        ]
        assert len(cli.run_ok("inbox", "list", "--to", "analyst", "--json").json) == 2

    def test_an_inbox_as_json(self, cli: CommandLine, access_mode: str) -> None:
        output_lines = self.watch_with_access(cli, access_mode, "inbox", "watch", "--to", "analyst", "--json")
        assert [json.loads(line)["content"] for line in output_lines] == ["one", "two\u2028"]

    def test_a_space(self, cli: CommandLine, access_mode: str) -> None:
        cli.run_ok("space", "create", "Q4", "--member", "husam", "--member", "analyst")
        output_lines = self.watch_with_access(cli, access_mode, "space", "watch", "q4", "--as", "husam")
        assert [line.split("  ", 2)[::2] for line in output_lines] == [
            ["1", 'Analyst (agent): "one"\n'],
            ["2", 'Analyst (agent): "two\\u2028"\n'],
        ]
        [_, member] = cli.run_ok("space", "show", "q4", "--json").json["members"]
        assert (member["name"], member["readSeq"] in (1, 2)) == ("husam", True)  # the last may not have been noted yet

    def watch_with_access(self, cli: CommandLine, access_mode: str, *words: str) -> list[str]:
        """What is printed while two things happen, one line each, and then Ctrl-C."""
        if access_mode == "alone":
            return self._watch(cli, *words)
        with start_local_gateway(cli):
            return self._watch(cli, *words)

    def _watch(self, cli: CommandLine, *words: str) -> list[str]:
        process = ForkedProcess(
            [*GATEPOST_COMMAND, *words],
            env=os.environ | cli.environ,
            cwd=cli.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stderr.readline().startswith("watching ")
            output_lines = []
            for text in ("one", "two\u2028"):
                if words[0] == "space":
                    cli.run_ok("space", "post", "q4", "--as", "analyst", text)
                else:
                    cli.push("--to", "analyst", text)
                output_lines.append(process.stdout.readline())
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=LAST_RESORT)
        finally:
            process.kill()
            process.communicate()
        assert (process.returncode, out, err) == (130, "", "")
        return output_lines
