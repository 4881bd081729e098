"""`gatepost hook` as a process: what it imports, whose handlers it asks, what it writes down, and how it fails."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.office import ROADS, Ended, Office

#: all that a hook imports beside what every Python has, where a gateway answers it
HANDFUL = {
    *("gatepost", "gatepost.cli", "gatepost.cli.main", "gatepost.cli.hook", "gatepost.home"),
    *("json", "json.decoder", "json.encoder", "json.scanner", "_json", "_socket"),
    # what json is made of
    *("re", "re._casefix", "re._compiler", "re._constants", "re._parser", "_sre", "copyreg", "enum", "functools"),
    *("_functools", "collections", "_collections", "itertools", "keyword", "operator", "_operator", "reprlib", "types"),
}
#: what takes long to import, and a hook with nothing to do does without
HEAVY = {
    *("asyncio", "concurrent.futures", "logging", "socket", "subprocess", "tomllib", "importlib.metadata", "random"),
    *("typer", "click", "rich", "pydantic", "msgspec", "structlog", "fastapi", "psycopg", "hashlib", "decimal"),
    *("gatepost.app", "gatepost.settings", "gatepost.core.event", "gatepost.actions.directory", "gatepost.hooks.drain"),
}
LISTING = """
import json, os, sys
from gatepost.cli.main import run
before = set(json.loads(os.environ["KNOWN"]))
sys.argv = ["gatepost", "hook", os.environ["EVENT"]]
code = run(sys.argv[1:])
sys.stderr.write(json.dumps(sorted(set(sys.modules) - before)))
sys.exit(code)
"""


def told(**fields: str) -> bytes:
    return json.dumps({"session_id": "s-1", **fields}).encode()


def hook(office: Office, event: str, **environ: str) -> Ended:
    """Run a hook of the analyst's, which must not block anything by its exit code."""
    ended = office.process("hook", event, stdin=told(source="startup"), **{"GATEPOST_AGENT": "analyst", **environ})
    assert ended.code == 0, ended
    return ended


def modules(office: Office, event: str) -> tuple[Ended, set[str]]:
    """What a hook says, and what it imports."""

    def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
        # not `json`: it would be among what is known
        env = os.environ | office.environ | {"GATEPOST_AGENT": "analyst", "EVENT": event} | environ
        words = [sys.executable, "-c", program]
        return subprocess.run(
            words, input=told().decode(), capture_output=True, text=True, env=env, cwd=office.here, check=False
        )

    plain = run("import sys; print(*sys.modules)").stdout.split()
    ended = run(LISTING, KNOWN=json.dumps(sorted({*plain} - HANDFUL)))
    return Ended(ended.returncode, ended.stdout, ""), set(json.loads(ended.stderr))


@contextmanager
def gateway(office: Office, *answers: bytes) -> Iterator[list[Any]]:
    """A gateway that says what the test says; what it was told is yielded."""
    heard: list[Any] = []
    path = office.home / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as ears:
        ears.bind(str(path))
        ears.listen()
        (office.home / "gateway.json").write_text(json.dumps({"socket": str(path)}))

        def serve() -> None:
            for answer in answers:
                line, _ = ears.accept()
                with line, line.makefile("rb") as file:
                    heard.append(json.loads(file.readline()))
                    line.sendall(answer)
                    if b'"claim": true' in answer:
                        heard.append(json.loads(file.readline()))

        thread = threading.Thread(target=serve)
        thread.start()
        yield heard
        thread.join()


def test_with_a_gateway_it_imports_a_handful(office: Office) -> None:
    answer = {"stdout": '{"systemMessage": "tea"}', "stderr": "", "exit": 0, "claim": True}
    with gateway(office, b"\n\n" + json.dumps(answer).encode() + b"\n") as heard:
        ended, imported = modules(office, "Stop")
    assert ended == Ended(0, '{"systemMessage": "tea"}', "")
    assert imported <= HANDFUL
    question, printed = heard
    assert question["argv"] == ["Stop", "--host", "claude"]
    assert question["stdin"] == told().decode()
    assert question["env"]["GATEPOST_AGENT"] == "analyst"
    assert not [name for name in question["env"] if not name.startswith("GATEPOST_")]
    assert printed == {"printed": True}


@pytest.mark.parametrize("event", ["Stop", "PostToolUse"])
def test_without_one_it_imports_nothing_heavy(office: Office, event: str) -> None:
    for before in ("SessionStart", "UserPromptSubmit", event):
        hook(office, before)
    ended, imported = modules(office, event)
    assert (ended.code, ended.out) == (0, "")
    assert imported & HEAVY == set()


@pytest.mark.parametrize(
    "answer", [b"", b"\n", b"nonsense\n", b"[]\n", b'{"error": "not here"}\n', b'{"stdout": "half', b'{"stdout": ""}\n']
)
def test_a_gateway_that_makes_no_sense_is_done_without(office: Office, answer: bytes) -> None:
    office.done("inbox", "push", "--to", "analyst", "tea")
    with gateway(office, answer):
        ended = hook(office, "SessionStart")
    assert "tea" in ended.out
    assert ended.err.startswith("gatepost: the gateway did not answer: ")


def test_a_gateway_that_hangs_is_done_without(office: Office) -> None:
    office.done("inbox", "push", "--to", "analyst", "tea")
    program = (
        "import sys; from gatepost.cli import hook; hook._PATIENCE = 0.05; sys.exit(hook.answer(['SessionStart']))"
    )
    with gateway(office):  # nobody takes the line
        ended = subprocess.run(
            [sys.executable, "-c", program],
            input=told(),
            capture_output=True,
            env=os.environ | office.environ | {"GATEPOST_AGENT": "analyst"},
            cwd=office.here,
            check=True,
        )
    assert b"tea" in ended.stdout
    assert ended.stderr == b"gatepost: the gateway did not answer: timed out\n"


def test_an_old_notice_is_not_minded(office: Office) -> None:
    (office.home / "gateway.json").write_text('{"url": "http://127.0.0.1:1", "pid": 1, "store": "", "socket": "/gone"}')
    assert hook(office, "SessionStart").err == ""
    (office.home / "gateway.json").write_text("{")
    assert hook(office, "SessionStart").err == ""


class TestHandlers:
    """Handlers of users, by entry point."""

    #: the one that the how-to shows, and more
    CODE = f"""
{(Path(__file__).parents[2] / "docs/howto/hook-handlers.md").read_text().partition("```python")[2].partition("```")[0]}
print("what is printed here is not for the host")
broken = None
"""

    def install(self, folder: Path, name: str, points: str) -> Path:
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[gatepost.hooks]\n{points}\n")
        return info

    def test_they_are_asked_from_the_next_hook_on(self, office: Office, tmp_path: Path) -> None:
        folder = tmp_path / "packages"
        folder.mkdir()
        (folder / "praising.py").write_text(self.CODE)
        office.environ["PYTHONPATH"] = str(folder)
        hook(office, "Stop")
        assert hook(office, "Stop").out == ""
        info = self.install(folder, "praising", "praise = praising:handler")
        assert json.loads(hook(office, "Stop").out) == {"systemMessage": "well done, analyst"}
        assert json.loads(hook(office, "Stop").out) == {"systemMessage": "well done, analyst"}
        assert hook(office, "PostToolUse").out == ""
        (info / "entry_points.txt").unlink()
        (info / "METADATA").unlink()
        info.rmdir()
        assert hook(office, "Stop").out == ""

    def test_one_that_cannot_be_loaded_is_left_out_and_told_of(self, office: Office, tmp_path: Path) -> None:
        folder = tmp_path / "packages"
        self.install(folder, "praising", "gone = nowhere:handler\nnone = praising:broken\npraise = praising:handler")
        (folder / "praising.py").write_text(self.CODE)
        office.environ["PYTHONPATH"] = str(folder)
        ended = hook(office, "Stop")
        assert "well done" in ended.out
        assert "the hook handler 'gone' (nowhere:handler) is left out" in ended.err
        assert "the hook handler 'none' (praising:broken) is left out" in ended.err


class TestWrittenDown:
    """What is set is read once, and again when it has changed."""

    def digests(self, office: Office) -> dict[str, int]:
        return {each.name: each.stat().st_mtime_ns for each in (office.home / ".hooks").iterdir()}

    def test_agents_share_it(self, office: Office) -> None:
        hook(office, "PostToolUse")
        before = self.digests(office)
        hook(office, "PostToolUse", GATEPOST_AGENT="quinn")
        assert self.digests(office) == before
        state = json.loads((office.home / "sessions" / "s-1" / "state.json").read_text())
        assert state["agent"] == "quinn"

    def test_what_is_set_anew_counts_at_once(self, office: Office) -> None:
        hook(office, "Stop")
        assert hook(office, "Stop").out == ""
        assert "ask for a decision" in hook(office, "Stop", GATEPOST_STOP_DECISION__ENABLED="true").out
        assert hook(office, "Stop").out == ""
        (office.home / "gatepost.toml").write_text("[stop_decision]\nenabled = true\n")
        assert "ask for a decision" in hook(office, "Stop").out

    def test_no_secret_is_written_down(self, office: Office) -> None:
        hook(office, "PostToolUse", GATEPOST_AUTH__JWT_SECRET="open-sesame-open-sesame")
        hook(office, "PostToolUse", GATEPOST_STORE="postgresql://ann:open-sesame@127.0.0.1:1/none")
        assert len(self.digests(office)) == 2
        for each in (office.home / ".hooks").iterdir():
            assert "sesame" not in each.read_text()
            assert each.stat().st_mode & 0o777 == 0o600

    def test_what_cannot_be_read_is_made_anew(self, office: Office) -> None:
        hook(office, "PostToolUse")
        [digest] = (office.home / ".hooks").iterdir()
        for garbage in (b"", b"{}", b"[]", b"\xff", b'{"key": 7}'):
            digest.write_bytes(garbage)
            assert hook(office, "PostToolUse").err == ""
            assert digest.read_bytes() != garbage


@pytest.mark.parametrize(
    "words", [(), ("--host", "claude"), ("Stop", "--host", "emacs"), ("Stop", "now"), ("Stop", "--hot"), ("",)]
)
def test_wrong_use_blocks_nothing(office: Office, words: tuple[str, ...]) -> None:
    ended = office.process("hook", *words, stdin=told())
    assert ended.code == 1, "2 would block"
    assert ended.out == ""
    assert ended.err.startswith("gatepost: wrong use of a hook: use gatepost hook EVENT")


@pytest.mark.parametrize("stdin", [b"", b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"session_id": ["x"]}'])
def test_whatever_a_host_says_it_goes_on(office: Office, stdin: bytes) -> None:
    for event in ("SessionStart", "Stop", "Whatever"):
        ended = office.process("hook", event, stdin=stdin)
        assert (ended.code, ended.out) == (0, "")
        assert "the host has named no session" in ended.err


def test_where_nobody_lives_nothing_is_made(gatepost: Office) -> None:
    ended = gatepost.process("hook", "SessionStart", stdin=told())
    assert ended == Ended(0, "", "")
    assert not gatepost.home.exists()


def test_its_help_says_what_it_does(office: Office) -> None:
    assert "Answer a hook" in office.process("hook", "--help").out


@pytest.mark.parametrize("office", ROADS, indirect=True)
def test_a_push_for_a_session_goes_to_whoever_is_in_it(office: Office) -> None:
    hook(office, "SessionStart")
    pushed = office.done("inbox", "push", "--session", "s-1", "--json", "tea")
    assert [each["name"] for each in pushed.json["recipients"]] == ["analyst"]
    refused = office("inbox", "push", "--session", "s-2", "tea")
    assert (refused.code, refused.error) == (1, "there is no session 's-2'")
    both = office("inbox", "push", "--session", "s-1", "--to", "quinn", "tea")
    assert (both.code, both.error) == (2, "give only one of --to, --bead, --session and --broadcast")


def test_within_a_session_its_agent_is_meant(office: Office) -> None:
    hook(office, "SessionStart")
    pushed = office.done("inbox", "push", "--json", "tea", CLAUDE_CODE_SESSION_ID="s-1")
    assert [each["name"] for each in pushed.json["recipients"]] == ["analyst"]


@pytest.mark.parametrize("office", ROADS, indirect=True)
def test_what_is_pushed_within_a_session_goes_on_with_its_chain(office: Office) -> None:
    office.done("inbox", "push", "--to", "analyst", "tea")
    assert "tea" in hook(office, "SessionStart").out
    for words in (("--to", "quinn"), ("--to", "quinn", "--as", "analyst")):
        pushed = office.done("inbox", "push", *words, "--json", "on", CLAUDE_CODE_SESSION_ID="s-1")
        assert office.done("inbox", "show", pushed.json["eventId"], "--json").json["hops"] == 1
    outside = office.done("inbox", "push", "--to", "quinn", "--json", "on")
    assert office.done("inbox", "show", outside.json["eventId"], "--json").json["hops"] == 0
