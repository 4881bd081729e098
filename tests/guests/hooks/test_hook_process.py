"""`gatepost hook` as a process: what it imports, and how it fails."""

import json
import os
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gatepost.gateway import hook_socket
from gatepost.guests import hook_commands as hook_command, hook_entry
from gatepost.guests.hooks.session_state import Session
from gatepost.settings import fields_and_defaults
from tests.guests.hooks.hook_calls import build_payload, run_hook
from tests.support.command_line import ACCESS_MODES, GATEPOST_COMMAND, CommandLine, CommandResult
from tests.support.processes import fork_server

#: all that a hook imports beside what every Python has, where a gateway answers it
ALLOWED_MODULES = {
    *("gatepost", "gatepost.cli", "gatepost.cli.main", "gatepost.guests", "gatepost.guests.hook_commands"),
    *("gatepost.guests.hooks", "gatepost.guests.hooks.host_process"),
    *("gatepost.paths", "gatepost.core", "gatepost.core.light_json", "_json", "_socket"),
}
#: what takes long to import, and a hook with nothing to do does without
HEAVY_MODULES = {
    *("asyncio", "concurrent.futures", "logging", "socket", "subprocess", "tomllib", "importlib.metadata", "random"),
    *("click", "rich", "pydantic", "msgspec", "structlog", "fastapi", "psycopg", "hashlib", "decimal"),
    *("dataclasses", "inspect", "json", "pathlib", "queue", "urllib", "gatepost.core.signals"),
    *("gatepost.app", "gatepost.settings", "gatepost.inbox.event", "gatepost.directory.entity_actions"),
    "gatepost.guests.hooks.drain",
}
PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
CONTRACTS = {contract["id"]: contract for contract in PROJECT["tool"]["importlinter"]["contracts"]}
#: our own modules that such a hook may import; the contract says that they import no msgspec
QUIET_MODULES = set(CONTRACTS["quiet-hook"]["source_modules"])
IMPORT_LISTING_SCRIPT = """
import os, sys
from gatepost.cli.main import run
before = set(os.environ["KNOWN"].split())
sys.argv = ["gatepost", "hook", os.environ["EVENT"]]
code = run(sys.argv[1:])
sys.stderr.write(" ".join(sorted(set(sys.modules) - before)))
sys.exit(code)
"""


def list_imports(cli: CommandLine, event: str) -> tuple[CommandResult, set[str]]:
    """What a hook says, and what it imports."""

    def run_script(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
        # not `json`: it would be among what is known
        env = os.environ | cli.environ | {"GATEPOST_AGENT": "analyst", "EVENT": event} | environ
        words = [sys.executable, "-c", program]
        return subprocess.run(
            words, input=build_payload().decode(), capture_output=True, text=True, env=env, cwd=cli.cwd, check=False
        )

    base_modules = run_script("import sys; print(*sys.modules)").stdout.split()
    result = run_script(IMPORT_LISTING_SCRIPT, KNOWN=" ".join({*base_modules} - ALLOWED_MODULES))
    return CommandResult(result.returncode, result.stdout, ""), set(result.stderr.split())


@contextmanager
def run_fake_gateway(cli: CommandLine, *answers: bytes) -> Iterator[list[Any]]:
    """A gateway that says what the test says; what it was told is yielded."""
    messages: list[Any] = []
    path = cli.home / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o600)
        listener.listen()
        (cli.home / "gateway.json").write_text(json.dumps({"socket": str(path)}))

        def serve() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as file:
                    messages.append(json.loads(file.readline()))
                    connection.sendall(answer)
                    if b'"claim": true' in answer:
                        messages.append(json.loads(file.readline()))

        thread = threading.Thread(target=serve)
        thread.start()
        yield messages
        thread.join()


def test_with_a_gateway_it_imports_a_handful(cli: CommandLine) -> None:
    answer = {"stdout": '{"systemMessage": "tea"}', "stderr": "", "exit": 0, "claim": True}
    with run_fake_gateway(cli, b"\n\n" + json.dumps(answer).encode() + b"\n") as messages:
        result, imported = list_imports(cli, "Stop")
    assert result == CommandResult(0, '{"systemMessage": "tea"}', "")
    assert imported <= ALLOWED_MODULES
    question, confirmation = messages
    assert question["argv"] == ["Stop", "--host", "claude"]
    assert question["stdin"] == build_payload().decode()
    assert question["env"]["GATEPOST_AGENT"] == "analyst"
    assert not [name for name in question["env"] if not name.startswith("GATEPOST_")]
    assert confirmation == {"printed": True}


@pytest.mark.parametrize("event", ["Stop", "PostToolUse", "UserPromptSubmit"])
def test_without_one_it_imports_nothing_heavy(cli: CommandLine, event: str) -> None:
    for before in ("SessionStart", "UserPromptSubmit", event):
        run_hook(cli, before)
    result, imported = list_imports(cli, event)
    assert (result.code, result.out) == (0, "")
    assert imported & HEAVY_MODULES == set()
    assert {name for name in imported if name.partition(".")[0] == "gatepost"} <= QUIET_MODULES
    if event == "PostToolUse":  # one statement tells it that there is nothing: it opens no store
        assert imported & {"gatepost.core.ports", "gatepost.stores.row_mapping", "gatepost.stores.sqlite"} == set()


def test_settings_that_a_hook_keeps_are_read_again_after_an_upgrade(tmp_path: Path) -> None:
    defaults = fields_and_defaults.__file__
    assert [defaults, Path(defaults).stat().st_mtime_ns] in [
        stamp[:2] for stamp in hook_entry._build_cache_key(str(tmp_path), {}) if isinstance(stamp, list)
    ]


def test_a_wrong_setting_is_told_the_person_as_such_and_not_as_a_missing_agent(cli: CommandLine) -> None:
    (cli.home / "gatepost.toml").write_text('[stop_decision]\nwait = "soon"\n')
    message = json.loads(run_hook(cli, "SessionStart").out)["systemMessage"]
    assert message.startswith("Gatepost does nothing in this session, because of its settings: ")
    assert "'soon'" in message
    assert "which agent" not in message
    assert run_hook(cli, "UserPromptSubmit").out == "", "it is told once a session"
    (cli.home / "gatepost.toml").unlink()
    assert run_hook(cli, "SessionStart").out == ""


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
def test_what_only_the_store_has_is_found_and_delivered_when_it_is_answered(cli: CommandLine) -> None:
    """The push of an agent to itself goes to no spool; the hooks of its session look into the store."""

    def states() -> list[str]:
        return [item["state"] for item in cli.run_ok("inbox", "list", "--to", "analyst", "--all", "--json").json]

    run_hook(cli, "SessionStart")
    run_hook(cli, "UserPromptSubmit")
    cli.run_ok("inbox", "push", "--to", "analyst", "--as", "analyst", "tea")
    assert [file.read_text() for file in cli.home.glob("spool/*.jsonl")] == [""]
    assert "tea" in run_hook(cli, "PostToolUse").out
    assert states() == ["claimed"]
    assert "tea" not in run_hook(cli, "PostToolUse").out
    run_hook(cli, "Stop")
    assert states() == ["delivered"]


@pytest.mark.parametrize(
    "answer", [b"", b"\n", b"nonsense\n", b"[]\n", b'{"error": "not here"}\n', b'{"stdout": "half', b'{"stdout": ""}\n']
)
def test_a_gateway_that_makes_no_sense_is_done_without(cli: CommandLine, answer: bytes) -> None:
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    with run_fake_gateway(cli, answer):
        result = run_hook(cli, "SessionStart")
    assert "tea" in result.out
    assert result.err.startswith("gatepost: the gateway did not answer: ")


@pytest.mark.parametrize(
    ("event", "timeout_name"), [("SessionStart", "_ANSWER_TIMEOUT"), ("SessionEnd", "_SESSION_END_TIMEOUT")]
)
def test_a_gateway_that_hangs_is_done_without(cli: CommandLine, event: str, timeout_name: str) -> None:
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    program = (
        "import sys; from gatepost.guests.hook_commands import answer; hook = sys.modules[answer.__module__]\n"
        f"hook._ANSWER_TIMEOUT = hook._SESSION_END_TIMEOUT = 600; hook.{timeout_name} = 0.05; exit(answer(['{event}']))"
    )
    with run_fake_gateway(cli):  # nobody takes the line
        result = fork_server.run(
            [sys.executable, "-c", program],
            input=build_payload(),
            capture_output=True,
            env=os.environ | cli.environ | {"GATEPOST_AGENT": "analyst"},
            cwd=cli.cwd,
            check=True,
        )
    assert (b"tea" in result.stdout) is (event == "SessionStart")
    assert result.stderr == b"gatepost: the gateway did not answer: timed out\n"


def test_an_old_notice_is_not_minded(cli: CommandLine) -> None:
    (cli.home / "gateway.json").write_text('{"url": "http://127.0.0.1:1", "pid": 1, "store": "", "socket": "/gone"}')
    assert run_hook(cli, "SessionStart").err == ""
    (cli.home / "gateway.json").write_text("{")
    assert run_hook(cli, "SessionStart").err == ""


def test_a_gateway_has_time_for_two_signs_of_life() -> None:
    assert 2 * hook_socket._HEARTBEAT < hook_command._ANSWER_TIMEOUT < 5
    assert hook_command._SESSION_END_TIMEOUT <= 2


class TestSomebodyElses:
    """What others may have put into the home is not trusted, and not waited for."""

    def test_a_notice_that_is_no_file(self, cli: CommandLine) -> None:
        os.mkfifo(cli.home / "gateway.json")
        result = run_hook(cli, "SessionStart")
        assert "gateway.json' is not trusted: it is not a regular file" in result.err

    def test_a_notice_that_is_too_deep(self, cli: CommandLine) -> None:
        (cli.home / "gateway.json").write_text("[" * 100_000)
        assert run_hook(cli, "SessionStart").err == ""

    @pytest.mark.skipif(os.getuid() != 0, reason="giving files away takes root")
    @pytest.mark.parametrize("name", ["gateway.json", "gateway.sock"])
    def test_a_notice_or_socket_of_another_user(self, cli: CommandLine, name: str) -> None:
        cli.run_ok("inbox", "push", "--to", "analyst", "tea")
        with run_fake_gateway(cli):
            os.chown(cli.home / name, 1234, 1234)
            result = run_hook(cli, "SessionStart")
        assert "tea" in result.out
        assert "belongs to another user" in result.err
        assert "did not answer" not in result.err

    @pytest.mark.skipif(os.getuid() != 0, reason="giving files away takes root")
    def test_gates_of_another_user(self, cli: CommandLine) -> None:
        cli.run_ok("gate", "register", "tested")
        os.chown(cli.home / "gates.json", 1234, 1234)
        result = run_hook(cli, "Stop")
        assert "block" not in result.out
        assert "gates.json' cannot be read: it belongs to another user" in result.err


class TestPayloads:
    """A gate that is to hold in any case is not passed by telling what cannot be read."""

    NOT_JSON = "what the host has written to stdin is not JSON"
    TOO_DEEP = "what the host has written to stdin is nested too deeply"

    @pytest.fixture
    def gated_cli(self, cli: CommandLine) -> CommandLine:
        (cli.home / "gates.json").write_text('[{"name": "careful", "hook": "PreToolUse", "closed": true}]')
        return cli

    def run_denied(self, cli: CommandLine, stdin: str, event: str = "PreToolUse") -> str:
        result = cli.run_process("hook", event, stdin=stdin.encode(), GATEPOST_AGENT="analyst")
        assert result.code == 0
        return str(result.json["hookSpecificOutput"]["permissionDecisionReason"]) if result.out else ""

    @pytest.mark.parametrize(
        "stdin",
        [
            '\ufeff{"session_id": "s-1"}',
            '{"session_id": "s-1", "n": ' + "1" * 4_301 + "}",
        ],
        ids=["mark", "digits"],
    )
    def test_what_is_unusual_is_read(self, gated_cli: CommandLine, stdin: str) -> None:
        assert self.run_denied(gated_cli, stdin) == "careful: it is not marked"
        Session(gated_cli.home, "s-1").mark("careful")
        assert self.run_denied(gated_cli, stdin) == ""

    @pytest.mark.parametrize(
        ("stdin", "problem"),
        [
            ("", NOT_JSON),
            ('{"session_id": "s-1"', NOT_JSON),
            ("\ufeff\ufeff{}", NOT_JSON),
            ('{"session_id": "s-1", "a": ' + "[" * 100_000 + "]" * 100_000 + "}", TOO_DEEP),
        ],
        ids=["nothing", "torn", "marks", "depth"],
    )
    def test_what_cannot_be_read_does_not_pass(self, gated_cli: CommandLine, stdin: str, problem: str) -> None:
        assert self.run_denied(gated_cli, stdin) == f"careful: it cannot be looked at: {problem}"
        assert self.run_denied(gated_cli, stdin, "PostToolUse") == ""
        (gated_cli.home / "gates.json").write_text('[{"name": "careful", "hook": "PreToolUse"}]')
        assert self.run_denied(gated_cli, stdin) == "", "that one fails open"

    def test_nor_does_a_host_that_names_no_session(self, gated_cli: CommandLine) -> None:
        assert self.run_denied(gated_cli, "{}") == "careful: it cannot be looked at: the host has named no session"


class TestSurroundings:
    def run_in_removed_folder(self, cli: CommandLine, stdin: bytes, **environ: str) -> CommandResult:
        """Run a hook in a folder that is not there any more."""
        script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
        env = {**os.environ, **cli.environ, "GATEPOST_AGENT": "analyst", **environ}
        result = subprocess.run(
            ["sh", "-c", script, "sh", *GATEPOST_COMMAND, "hook", "SessionStart"],
            input=stdin,
            capture_output=True,
            env={name: value for name, value in env.items() if value},
            cwd=cli.cwd,
            check=True,
        )
        return CommandResult(0, result.stdout.decode(), result.stderr.decode())

    def test_a_working_directory_that_is_gone(self, cli: CommandLine, tmp_path: Path) -> None:
        cli.run_ok("inbox", "push", "--to", "analyst", "tea")
        project = tmp_path / "project"
        project.mkdir()
        (project / ".gatepost").symlink_to(cli.home)
        result = self.run_in_removed_folder(cli, build_payload(cwd=str(project)), GATEPOST_HOME="")
        assert "tea" in result.out
        cli.run_ok("inbox", "push", "--to", "analyst", "cake")
        assert "cake" in self.run_in_removed_folder(cli, build_payload(), GATEPOST_HOME=str(cli.home)).out
        failure = self.run_in_removed_folder(cli, build_payload(), GATEPOST_HOME="")
        message = "gatepost: the working directory is gone, and the host has named no other\n"
        assert (failure.code, failure.out, failure.err) == (0, "", message)

    def test_a_variable_that_is_no_text(self, cli: CommandLine) -> None:
        cli.run_ok("inbox", "push", "--to", "analyst", "tea")
        result = run_hook(cli, "SessionStart", GATEPOST_AUTH__JWT_SECRET="open-sesame-open-sesame-open-sesame-\udcff")
        assert "tea" in result.out
        assert result.err == ""


@pytest.mark.parametrize(
    "words", [(), ("--host", "claude"), ("Stop", "--host", "emacs"), ("Stop", "now"), ("Stop", "--hot"), ("",)]
)
def test_wrong_use_blocks_nothing(cli: CommandLine, words: tuple[str, ...]) -> None:
    result = cli.run_process("hook", *words, stdin=build_payload())
    assert result.code == 1, "2 would block"
    assert result.out == ""
    assert result.err.startswith("gatepost: wrong use of a hook: use gatepost hook EVENT")


@pytest.mark.parametrize("stdin", [b"", b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"session_id": ["x"]}'])
def test_whatever_a_host_says_it_goes_on(cli: CommandLine, stdin: bytes) -> None:
    for event in ("SessionStart", "Stop", "Whatever"):
        result = cli.run_process("hook", event, stdin=stdin)
        assert (result.code, result.out) == (0, "")
        assert "the host has named no session" in result.err


def test_where_nobody_lives_nothing_is_made(empty_cli: CommandLine) -> None:
    result = empty_cli.run_process("hook", "SessionStart", stdin=build_payload())
    assert result == CommandResult(0, "", "")
    assert not empty_cli.home.exists()


def test_its_help_says_what_it_does(cli: CommandLine) -> None:
    assert "Answer a hook" in cli.run_process("hook", "--help").out


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
@pytest.mark.parametrize(
    "words", [("--agent", "quinn"), ("--agent=quinn", "--host", "claude"), ("--host=claude", "--agent", "quinn")]
)
def test_the_agent_in_the_command_wins_over_the_environment(cli: CommandLine, words: tuple[str, ...]) -> None:
    result = cli.run_process(
        "hook", "SessionStart", *words, stdin=build_payload(source="startup"), GATEPOST_AGENT="analyst"
    )
    assert result == CommandResult(0, "", "")
    assert Session(cli.home, "s-1").read().agent == "quinn"


@pytest.mark.parametrize("words", [("--agent",), ("--agent", ""), ("--agent=",), ("--agent", "a", "--agent", "b")])
def test_an_agent_that_is_not_named_is_wrong_use(cli: CommandLine, words: tuple[str, ...]) -> None:
    result = cli.run_process("hook", "Stop", *words, stdin=build_payload())
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("gatepost: wrong use of a hook: use gatepost hook EVENT ")
