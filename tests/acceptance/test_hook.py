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

from gatepost.cli import hook as hook_command
from gatepost.gateway import doorstep
from gatepost.hooks.session import Session
from tests.acceptance.office import PROGRAM, ROADS, Ended, Office

#: all that a hook imports beside what every Python has, where a gateway answers it
HANDFUL = {
    *("gatepost", "gatepost.cli", "gatepost.cli.main", "gatepost.cli.hook", "gatepost.paths"),
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
        path.chmod(0o600)
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


@pytest.mark.parametrize("event", ["Stop", "PostToolUse", "UserPromptSubmit"])
def test_without_one_it_imports_nothing_heavy(office: Office, event: str) -> None:
    for before in ("SessionStart", "UserPromptSubmit", event):
        hook(office, before)
    ended, imported = modules(office, event)
    assert (ended.code, ended.out) == (0, "")
    assert imported & HEAVY == set()


def test_a_wrong_setting_is_told_the_person_as_such_and_not_as_a_missing_agent(office: Office) -> None:
    (office.home / "gatepost.toml").write_text('[stop_decision]\nwait = "soon"\n')
    message = json.loads(hook(office, "SessionStart").out)["systemMessage"]
    assert message.startswith("Gatepost does nothing in this session, because of its settings: ")
    assert "'soon'" in message
    assert "which agent" not in message
    assert hook(office, "UserPromptSubmit").out == "", "it is told once a session"
    (office.home / "gatepost.toml").unlink()
    assert hook(office, "SessionStart").out == ""


@pytest.mark.parametrize("office", ROADS, indirect=True)
def test_what_only_the_store_has_is_found_and_delivered_when_it_is_answered(office: Office) -> None:
    """The push of an agent to itself goes to no spool; the hooks of its session look into the store."""

    def states() -> list[str]:
        return [item["state"] for item in office.done("inbox", "list", "--to", "analyst", "--all", "--json").json]

    hook(office, "SessionStart")
    hook(office, "UserPromptSubmit")
    office.done("inbox", "push", "--to", "analyst", "--as", "analyst", "tea")
    assert [each.read_text() for each in office.home.glob("spool/*.jsonl")] == [""]
    assert "tea" in hook(office, "PostToolUse").out
    assert states() == ["claimed"]
    assert "tea" not in hook(office, "PostToolUse").out
    hook(office, "Stop")
    assert states() == ["delivered"]


@pytest.mark.parametrize(
    "answer", [b"", b"\n", b"nonsense\n", b"[]\n", b'{"error": "not here"}\n', b'{"stdout": "half', b'{"stdout": ""}\n']
)
def test_a_gateway_that_makes_no_sense_is_done_without(office: Office, answer: bytes) -> None:
    office.done("inbox", "push", "--to", "analyst", "tea")
    with gateway(office, answer):
        ended = hook(office, "SessionStart")
    assert "tea" in ended.out
    assert ended.err.startswith("gatepost: the gateway did not answer: ")


@pytest.mark.parametrize(("event", "patience"), [("SessionStart", "_PATIENCE"), ("SessionEnd", "_AT_THE_END")])
def test_a_gateway_that_hangs_is_done_without(office: Office, event: str, patience: str) -> None:
    office.done("inbox", "push", "--to", "analyst", "tea")
    program = (
        "import sys; from gatepost.cli import hook; hook._PATIENCE = hook._AT_THE_END = 600;"
        f"hook.{patience} = 0.05; sys.exit(hook.answer(['{event}']))"
    )
    with gateway(office):  # nobody takes the line
        ended = subprocess.run(
            [sys.executable, "-c", program],
            input=told(),
            capture_output=True,
            env=os.environ | office.environ | {"GATEPOST_AGENT": "analyst"},
            cwd=office.here,
            timeout=60,
            check=True,
        )
    assert (b"tea" in ended.stdout) is (event == "SessionStart")
    assert ended.stderr == b"gatepost: the gateway did not answer: timed out\n"


def test_an_old_notice_is_not_minded(office: Office) -> None:
    (office.home / "gateway.json").write_text('{"url": "http://127.0.0.1:1", "pid": 1, "store": "", "socket": "/gone"}')
    assert hook(office, "SessionStart").err == ""
    (office.home / "gateway.json").write_text("{")
    assert hook(office, "SessionStart").err == ""


def test_a_gateway_has_time_for_two_signs_of_life() -> None:
    assert 2 * doorstep._BEAT < hook_command._PATIENCE < 5
    assert hook_command._AT_THE_END <= 2


class TestSomebodyElses:
    """What others may have put into the home is not believed, and not waited for."""

    def test_a_notice_that_is_no_file(self, office: Office) -> None:
        os.mkfifo(office.home / "gateway.json")
        ended = hook(office, "SessionStart")
        assert "gateway.json' is not believed: it is not a regular file" in ended.err

    def test_a_notice_that_is_too_deep(self, office: Office) -> None:
        (office.home / "gateway.json").write_text("[" * 100_000)
        assert hook(office, "SessionStart").err == ""

    @pytest.mark.skipif(os.getuid() != 0, reason="giving files away takes root")
    @pytest.mark.parametrize("name", ["gateway.json", "gateway.sock"])
    def test_a_notice_or_socket_of_another_user(self, office: Office, name: str) -> None:
        office.done("inbox", "push", "--to", "analyst", "tea")
        with gateway(office):
            os.chown(office.home / name, 1234, 1234)
            ended = hook(office, "SessionStart")
        assert "tea" in ended.out
        assert "belongs to another user" in ended.err
        assert "did not answer" not in ended.err

    @pytest.mark.skipif(os.getuid() != 0, reason="giving files away takes root")
    def test_gates_of_another_user(self, office: Office) -> None:
        office.done("gate", "register", "tested")
        os.chown(office.home / "gates.json", 1234, 1234)
        ended = hook(office, "Stop")
        assert "block" not in ended.out
        assert "gates.json' cannot be read: it belongs to another user" in ended.err


class TestPayloads:
    """A gate that is to hold in any case is not passed by telling what cannot be read."""

    DEEP = "[" * 2_000 + "]" * 2_000

    @pytest.fixture
    def careful(self, office: Office) -> Office:
        (office.home / "gates.json").write_text('[{"name": "careful", "hook": "PreToolUse", "closed": true}]')
        return office

    def denied(self, office: Office, stdin: str, event: str = "PreToolUse") -> str:
        ended = office.process("hook", event, stdin=stdin.encode(), GATEPOST_AGENT="analyst")
        assert ended.code == 0
        return str(ended.json["hookSpecificOutput"]["permissionDecisionReason"]) if ended.out else ""

    @pytest.mark.parametrize(
        "stdin",
        [
            '\ufeff{"session_id": "s-1"}',
            '{"session_id": "s-1", "n": ' + "1" * 4_301 + "}",
            '{"a": ' + DEEP + ', "b": "]}\\"", "session_id": "s-1", "tool_input": {"x": [1, {}]}}',
        ],
        ids=["mark", "digits", "depth"],
    )
    def test_what_is_unusual_is_read(self, careful: Office, stdin: str) -> None:
        assert self.denied(careful, stdin) == "careful: it is not marked"
        Session(careful.home, "s-1").mark("careful")
        assert self.denied(careful, stdin) == ""

    @pytest.mark.parametrize("stdin", ["", '{"session_id": "s-1"', DEEP[:-1], "\ufeff\ufeff{}"])
    def test_what_cannot_be_read_does_not_pass(self, careful: Office, stdin: str) -> None:
        why = "careful: it cannot be looked at: what the host has written to stdin is not JSON"
        assert self.denied(careful, stdin) == why
        assert self.denied(careful, stdin, "PostToolUse") == ""
        (careful.home / "gates.json").write_text('[{"name": "careful", "hook": "PreToolUse"}]')
        assert self.denied(careful, stdin) == "", "that one fails open"

    def test_nor_does_a_host_that_names_no_session(self, careful: Office) -> None:
        assert self.denied(careful, "{}") == "careful: it cannot be looked at: the host has named no session"


class TestSurroundings:
    def gone(self, office: Office, stdin: bytes, **environ: str) -> Ended:
        """Run a hook in a folder that is not there any more."""
        script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
        env = {**os.environ, **office.environ, "GATEPOST_AGENT": "analyst", **environ}
        ended = subprocess.run(
            ["sh", "-c", script, "sh", *PROGRAM, "hook", "SessionStart"],
            input=stdin,
            capture_output=True,
            env={name: value for name, value in env.items() if value},
            cwd=office.here,
            check=True,
        )
        return Ended(0, ended.stdout.decode(), ended.stderr.decode())

    def test_a_working_directory_that_is_gone(self, office: Office, tmp_path: Path) -> None:
        office.done("inbox", "push", "--to", "analyst", "tea")
        project = tmp_path / "project"
        project.mkdir()
        (project / ".gatepost").symlink_to(office.home)
        found = self.gone(office, told(cwd=str(project)), GATEPOST_HOME="")
        assert "tea" in found.out
        office.done("inbox", "push", "--to", "analyst", "cake")
        assert "cake" in self.gone(office, told(), GATEPOST_HOME=str(office.home)).out
        nowhere = self.gone(office, told(), GATEPOST_HOME="")
        said = "gatepost: the working directory is gone, and the host has named no other\n"
        assert (nowhere.code, nowhere.out, nowhere.err) == (0, "", said)

    def test_a_variable_that_is_no_text(self, office: Office) -> None:
        office.done("inbox", "push", "--to", "analyst", "tea")
        ended = hook(office, "SessionStart", GATEPOST_AUTH__JWT_SECRET="open-sesame-open-sesame-open-sesame-\udcff")
        assert "tea" in ended.out
        assert ended.err == ""


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
        hook(office, "PostToolUse", GATEPOST_AUTH__JWT_SECRET="open-sesame-open-sesame-open-sesame")
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


@pytest.mark.parametrize("office", ROADS, indirect=True)
def test_so_does_what_is_planned_there(office: Office) -> None:
    office.done("inbox", "push", "--to", "analyst", "tea")
    assert "tea" in hook(office, "SessionStart").out
    words = ("plan", "set", "--owner", "analyst", "--name", "later", "--after", "3m", "--json")
    inside = office.done(*words, CLAUDE_CODE_SESSION_ID="s-1")
    assert (inside.json["hops"], office.done(*words).json["hops"]) == (1, 0)
    change = ("plan", "set", "--id", office.done(*words).json["id"], "--after", "4m", "--json")
    assert office.done(*change, CLAUDE_CODE_SESSION_ID="s-1").json["hops"] == 1


@pytest.mark.parametrize("office", ROADS, indirect=True)
def test_a_plan_and_a_message_from_there_are_its_agents(office: Office) -> None:
    hook(office, "SessionStart")
    office.done("space", "create", "Tea", "--id", "tea", "--member", "analyst")
    planned = office.done("plan", "set", "--name", "p", "--after", "1h", "--json", CLAUDE_CODE_SESSION_ID="s-1")
    posted = office.done("space", "post", "tea", "hello", "--json", CLAUDE_CODE_SESSION_ID="s-1")
    assert (planned.json["owner"], posted.json["sender"]) == ("analyst", "analyst")


@pytest.mark.parametrize("office", ROADS, indirect=True)
@pytest.mark.parametrize(
    "words", [("--agent", "quinn"), ("--agent=quinn", "--host", "claude"), ("--host=claude", "--agent", "quinn")]
)
def test_the_agent_in_the_command_wins_over_the_environment(office: Office, words: tuple[str, ...]) -> None:
    ended = office.process("hook", "SessionStart", *words, stdin=told(source="startup"), GATEPOST_AGENT="analyst")
    assert ended == Ended(0, "", "")
    assert Session(office.home, "s-1").read().agent == "quinn"


@pytest.mark.parametrize("words", [("--agent",), ("--agent", ""), ("--agent=",), ("--agent", "a", "--agent", "b")])
def test_an_agent_that_is_not_named_is_wrong_use(office: Office, words: tuple[str, ...]) -> None:
    ended = office.process("hook", "Stop", *words, stdin=told())
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("gatepost: wrong use of a hook: use gatepost hook EVENT ")
