"""A courier beside a guest: what is pushed is in its spool, the idle guest is nudged, and its next hook shows it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.office import ALONE, Office
from tests.couriers import Carrying
from tests.servers import until
from tests.uplinks import running

EITHER_WAY = True


def told(office: Office, event: str, **fields: Any) -> bytes:
    """What a host tells its hooks."""
    return json.dumps({"session_id": "s1", "hook_event_name": event, "cwd": str(office.here)} | fields).encode()


def note(office: Office, event: str, **fields: Any) -> None:
    """A hook that is there to be noted: it is run in this process, and what it says is lost."""
    assert office("hook", event, stdin=told(office, event, **fields), GATEPOST_AGENT="analyst").code == 0


def hook(office: Office, event: str, **fields: Any) -> str:
    """A hook in a process of its own; what the model is told."""
    ended = office.process("hook", event, stdin=told(office, event, **fields), GATEPOST_AGENT="analyst")
    assert ended.code == 0, ended
    document: dict[str, Any] = json.loads(ended.out or "{}")
    return str(document.get("hookSpecificOutput", {}).get("additionalContext", ""))


def idle(office: Office) -> None:
    """A guest that has begun, worked and stopped."""
    note(office, "SessionStart", source="startup")
    note(office, "UserPromptSubmit", prompt="hello")
    note(office, "Stop", stop_hook_active=False)


def states(office: Office) -> list[str]:
    return [item["state"] for item in office.done("inbox", "list", "--to", "analyst", "--all", "--json").json]


def test_an_idle_guest_is_nudged_and_its_next_hook_shows_it_once(office: Office, tmp_path: Path) -> None:
    nudged = tmp_path / "nudged"
    idle(office)
    with Carrying("--as", "analyst", "--nudge", f'printf %s "$1" > {nudged}', **office.environ) as carrying:
        carrying.until("up")
        office.push("--to", "analyst", "main is red")
        carrying.until("nudged", "session=s1")
        assert nudged.read_text() == 'Inbox: 1 event waits: [Event: cli] "main is red"'
        assert states(office) == ["pending"]
        assert hook(office, "UserPromptSubmit", prompt="?").count("main is red") == 1
        assert states(office) == ["claimed"]
        hook(office, "Stop")
        assert states(office) == ["delivered"]
        assert carrying.stop() == 0
    assert "main is red" not in hook(office, "SessionStart", source="resume")


def test_a_guest_that_waits_to_be_woken_is(office: Office) -> None:
    idle(office)
    waiting = Carrying("--rewake", "--session", "s1", **office.environ)
    with waiting, Carrying("--as", "analyst", "--nudge", "rewake", **office.environ) as carrying:
        carrying.until("up")
        office.push("--to", "analyst", "main is red")
        carrying.until("nudged")
        assert waiting.until("Inbox") == 'Inbox: 1 event waits: [Event: cli] "main is red"\n'
        assert waiting.process.wait(20) == 2
        assert carrying.stop(signal.SIGINT) == 0


@ALONE
@pytest.mark.parametrize("kind", ["nats", "redis"])
def test_what_a_gateway_accepts_comes_by_its_transport(
    office: Office, kind: str, request: pytest.FixtureRequest
) -> None:
    office.environ["GATEPOST_TRANSPORT"] = request.getfixturevalue(kind).url
    idle(office)
    with running(office.home, **office.environ), Carrying("--as", "analyst", **office.environ) as carrying:
        carrying.until("up", f"source={kind}")
        sent = [office.push("--to", "analyst", "main is red"), office.push("--broadcast", "to all")]
        spool = office.home / "spool" / "s1.jsonl"
        until(lambda: spool.exists() and all(event in spool.read_text() for event in sent), "both are in the spool")
        shown = hook(office, "UserPromptSubmit", prompt="?")
        assert (shown.count("main is red"), shown.count("to all")) == (1, 1)
        assert states(office) == ["claimed", "claimed"]
        note(office, "Stop")  # a model has answered
        assert states(office) == ["delivered", "delivered"]
        assert carrying.stop() == 0


@ALONE
def test_a_guest_that_is_gone_keeps_nobody_waiting(office: Office) -> None:
    idle(office)
    note(office, "SessionEnd", reason="other")
    ended = office("courier", "--rewake", stdin=told(office, "Stop"))
    assert (ended.code, ended.out, ended.err) == (0, "", "")


@ALONE
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        ([], 2, "it is not said whose courier this is"),
        (["--as", ""], 2, "--as is empty"),
        (["--as", "nobody"], 2, "nobody is called 'nobody'"),
        (["--as", "husam"], 1, "'husam' is a person, and has no sessions"),
        (["--as", "quinn", "--session", "s1"], 2, "the session 's1' is one of 'analyst', not of 'quinn'"),
        (["--as", "quinn", "--nudge", "ftp://x/"], 2, "'ftp://x/' is not a URL to nudge by"),
        (["--rewake"], 1, "no session is named on stdin"),
    ],
)
def test_wrong_use_is_one_sentence(office: Office, words: list[str], code: int, error: str) -> None:
    note(office, "SessionStart", source="startup")
    ended = office("courier", *words)
    assert (ended.code, ended.error) == (code, error)


def wait_as_hook(office: Office, **environ: str) -> Carrying:
    return Carrying("--rewake", "--session", "s1", **office.environ, **environ)


@ALONE
def test_where_nobody_attends_it_does_not_wait(office: Office) -> None:
    """`claude -p` ends only when its hooks have."""
    idle(office)
    with wait_as_hook(office, CLAUDE_CODE_SESSION_ATTENDED="0") as waiting:
        assert waiting.process.wait(60) == 0


@ALONE
def test_a_host_that_is_killed_is_not_outlived(office: Office) -> None:
    """A shell stands between the host and its hook, and lives on."""
    idle(office)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as host:
        environ = {"CLAUDE_PID": str(host.pid), "CLAUDE_CODE_SESSION_ATTENDED": "1"}
        with wait_as_hook(office, **environ) as waiting:
            lock = office.home / "sessions" / "s1" / "rewake.lock"
            until(lock.exists, "it waits")
            assert waiting.process.poll() is None
            host.kill()
            assert waiting.process.wait(60) == 0


@ALONE
@pytest.mark.parametrize("pid", ["", "no number", "0", "-1", "99999999999999999999"])
def test_a_host_that_cannot_be_watched_is_not(office: Office, pid: str) -> None:
    idle(office)
    with wait_as_hook(office, CLAUDE_PID=pid) as waiting:
        until((office.home / "sessions" / "s1" / "rewake.lock").exists, "it waits")
        note(office, "SessionEnd", reason="other")
        assert waiting.process.wait(60) == 0
