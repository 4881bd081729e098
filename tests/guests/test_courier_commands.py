"""A courier beside a guest: what is pushed is in its spool, the idle guest is nudged, and its next hook shows it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.guests.courier_fixtures import CourierProcess
from tests.support.command_line import EITHER_WAY_BY_DAY, WITHOUT_GATEWAY, CommandLine
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

EITHER_WAY = True


def build_payload(cli: CommandLine, event: str, **fields: Any) -> bytes:
    """What a host tells its hooks."""
    return json.dumps({"session_id": "s1", "hook_event_name": event, "cwd": str(cli.cwd)} | fields).encode()


def run_hook_quietly(cli: CommandLine, event: str, **fields: Any) -> None:
    """A hook that is there to be noted: it is run in this process, and what it says is lost."""
    assert cli("hook", event, stdin=build_payload(cli, event, **fields), GATEPOST_AGENT="analyst").code == 0


def run_hook(cli: CommandLine, event: str, **fields: Any) -> str:
    """A hook in a process of its own; what the model is told."""
    result = cli.run_process("hook", event, stdin=build_payload(cli, event, **fields), GATEPOST_AGENT="analyst")
    assert result.code == 0, result
    document: dict[str, Any] = json.loads(result.out or "{}")
    return str(document.get("hookSpecificOutput", {}).get("additionalContext", ""))


def start_idle_session(cli: CommandLine) -> None:
    """A guest that has begun, worked and stopped."""
    run_hook_quietly(cli, "SessionStart", source="startup")
    run_hook_quietly(cli, "UserPromptSubmit", prompt="hello")
    run_hook_quietly(cli, "Stop", stop_hook_active=False)


def list_states(cli: CommandLine) -> list[str]:
    return [item["state"] for item in cli.run_ok("inbox", "list", "--to", "analyst", "--all", "--json").json]


@EITHER_WAY_BY_DAY
def test_an_idle_guest_is_nudged_and_its_next_hook_shows_it_once(cli: CommandLine, tmp_path: Path) -> None:
    nudge_file = tmp_path / "nudged"
    start_idle_session(cli)
    with CourierProcess("--as", "analyst", "--nudge", f'printf %s "$1" > {nudge_file}', **cli.environ) as courier:
        courier.wait_for_line("up")
        cli.push("--to", "analyst", "main is red")
        courier.wait_for_line("nudged", "session=s1")
        assert nudge_file.read_text() == 'Inbox: 1 event waits: [Event: cli] "main is red"'
        assert list_states(cli) == ["pending"]
        assert run_hook(cli, "UserPromptSubmit", prompt="?").count("main is red") == 1
        assert list_states(cli) == ["claimed"]
        run_hook(cli, "Stop")
        assert list_states(cli) == ["delivered"]
        assert courier.stop() == 0
    assert "main is red" not in run_hook(cli, "SessionStart", source="resume")


def test_a_guest_that_waits_to_be_woken_is(cli: CommandLine) -> None:
    start_idle_session(cli)
    rewake = CourierProcess("--rewake", "--session", "s1", **cli.environ)
    with rewake, CourierProcess("--as", "analyst", "--nudge", "rewake", **cli.environ) as courier:
        courier.wait_for_line("up")
        cli.push("--to", "analyst", "main is red")
        courier.wait_for_line("nudged")
        assert rewake.wait_for_line("Inbox") == 'Inbox: 1 event waits: [Event: cli] "main is red"\n'
        assert rewake.process.wait(LAST_RESORT) == 2
        assert courier.stop(signal.SIGINT) == 0


@WITHOUT_GATEWAY
@pytest.mark.parametrize("kind", ["nats", "redis"])
def test_what_a_gateway_accepts_comes_by_its_transport(
    cli: CommandLine, kind: str, request: pytest.FixtureRequest
) -> None:
    cli.environ["GATEPOST_TRANSPORT"] = request.getfixturevalue(kind).url
    start_idle_session(cli)
    with run_gateway_process(cli.home, **cli.environ), CourierProcess("--as", "analyst", **cli.environ) as courier:
        courier.wait_for_line("up", f"source={kind}")
        event_ids = [cli.push("--to", "analyst", "main is red"), cli.push("--broadcast", "to all")]
        spool = cli.home / "spool" / "s1.jsonl"
        wait_until(
            lambda: spool.exists() and all(event in spool.read_text() for event in event_ids), "both are in the spool"
        )
        context = run_hook(cli, "UserPromptSubmit", prompt="?")
        assert (context.count("main is red"), context.count("to all")) == (1, 1)
        assert list_states(cli) == ["claimed", "claimed"]
        run_hook_quietly(cli, "Stop")  # a model has answered
        assert list_states(cli) == ["delivered", "delivered"]
        assert courier.stop() == 0


@WITHOUT_GATEWAY
def test_a_guest_that_is_gone_keeps_nobody_waiting(cli: CommandLine) -> None:
    start_idle_session(cli)
    run_hook_quietly(cli, "SessionEnd", reason="other")
    result = cli("courier", "--rewake", stdin=build_payload(cli, "Stop"))
    assert (result.code, result.out, result.err) == (0, "", "")


@WITHOUT_GATEWAY
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ([], 2, "the courier has no agent"),
        (["--as", ""], 2, "--as is empty"),
        (["--as", "nobody"], 2, "there is no entity 'nobody'"),
        (["--as", "husam"], 1, "'husam' is a person, and has no guest sessions"),
        (["--as", "quinn", "--session", "s1"], 2, "the guest session 's1' is one of 'analyst', not of 'quinn'"),
        (["--as", "quinn", "--nudge", "ftp://x/"], 2, "'ftp://x/' is not a URL to nudge by"),
        (["--rewake"], 1, "no guest session is named on stdin"),
    ],
)
def test_wrong_use_is_one_sentence(cli: CommandLine, words: list[str], code: int, error: str) -> None:
    run_hook_quietly(cli, "SessionStart", source="startup")
    result = cli("courier", *words)
    assert (result.code, result.error) == (code, error)


def start_rewake(cli: CommandLine, **environ: str) -> CourierProcess:
    return CourierProcess("--rewake", "--session", "s1", **cli.environ, **environ)


@WITHOUT_GATEWAY
def test_in_a_session_of_a_program_it_does_not_wait(cli: CommandLine) -> None:
    """`claude -p` ends only when its hooks have."""
    start_idle_session(cli)
    with start_rewake(cli, CLAUDE_CODE_ENTRYPOINT="sdk-cli") as rewake:
        assert rewake.process.wait(LAST_RESORT) == 0


@WITHOUT_GATEWAY
def test_a_host_that_is_killed_is_not_outlived(cli: CommandLine) -> None:
    """A shell stands between the host and its hook, and lives on."""
    start_idle_session(cli)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as host:
        # `claude --bg` is not attended, and can be woken
        environ = {"CLAUDE_PID": str(host.pid), "CLAUDE_CODE_SESSION_ATTENDED": "0"}
        with start_rewake(cli, **environ) as rewake:
            lock = cli.home / "sessions" / "s1" / "rewake.lock"
            wait_until(lock.exists, "it waits")
            assert rewake.process.poll() is None
            host.kill()
            assert rewake.process.wait(LAST_RESORT) == 0


@WITHOUT_GATEWAY
@pytest.mark.parametrize("pid", ["", "no number", "0", "-1", "99999999999999999999"])
def test_a_host_that_cannot_be_watched_is_not(cli: CommandLine, pid: str) -> None:
    start_idle_session(cli)
    with start_rewake(cli, CLAUDE_PID=pid) as rewake:
        wait_until((cli.home / "sessions" / "s1" / "rewake.lock").exists, "it waits")
        run_hook_quietly(cli, "SessionEnd", reason="other")
        assert rewake.process.wait(LAST_RESORT) == 0
