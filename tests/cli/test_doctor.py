"""What `gatepost doctor` finds outside of the database: what would fail later, when it is needed."""

import json
import os
import sqlite3
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_gateway import list_answered_routes
from tests.support.command_homes import start_local_gateway
from tests.support.command_line import CommandLine


def list_faults(cli: CommandLine, **environ: str) -> list[tuple[str, str, str | None]]:
    """Run the checks; return the check, the detail and the hint of each fault."""
    result = cli("doctor", "--json", stdin=b"", **environ)
    faults = [(row["check"], row["detail"], row["hint"]) for row in result.json if not row["ok"]]
    assert [row["hint"] for row in result.json if row["ok"] and row["hint"]] == [], "what is right needs no fix"
    assert result.code == bool(faults)
    return faults


class TestModels:
    def test_without_a_key(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        message = "OPENAI_API_KEY is not set, so the demo replaces openai:gpt-5"
        fix = "set OPENAI_API_KEY where the gateway runs, and start it again"
        added = cli.run_ok("agent", "add", "helper", "--model", "openai:gpt-5")
        assert f"warning: {message}\nhint: {fix}\n" in added.err
        assert f"problem    {message}: {fix}\n" in cli.run_ok("agent", "show", "helper").out
        assert cli.run_ok("agent", "show", "helper", "--json").json["modelProblem"] == {"message": message, "fix": fix}
        assert list_faults(cli) == [("models", f"helper: {message}", fix)]
        assert list_faults(cli, OPENAI_API_KEY="sk-1") == []

    def test_without_a_library(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(
            "gatepost.residents.model_requirements.find_spec",
            lambda name: None if name == "anthropic" else find_spec(name),
        )
        added = cli.run_ok("agent", "add", "helper", "--model", "anthropic:claude-sonnet-4-5")
        message = "anthropic:claude-sonnet-4-5 needs a library that is not installed"
        assert f"warning: {message}\nhint: pip install 'gatepost[anthropic]'\n" in added.err
        assert list_faults(cli) == [("models", f"helper: {message}", "pip install 'gatepost[anthropic]'")]

    def test_of_a_fallback(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        model = {"name": "demo", "fallback": "anthropic:claude-sonnet-4-5"}
        (cli.cwd / "helper.json").write_text(json.dumps({"model": model}))
        cli.run_ok("agent", "add", "helper", "--config", "helper.json")
        [(_, detail, _)] = list_faults(cli)
        assert detail == "helper: ANTHROPIC_API_KEY is not set, so the demo replaces anthropic:claude-sonnet-4-5"

    def test_are_those_of_the_gateway(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its environment counts, not that of the shell: here they are one process, and its answer is shown."""
        monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
        with start_local_gateway(cli) as gateway:
            cli.run_ok("agent", "add", "helper", "--model", "openai:gpt-5")
            assert list_faults(cli) == []
        assert "GET /api/agents/{name}" in list_answered_routes(gateway)


class TestReach:
    def test_of_triggers(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "shop", "--secret", "x" * 20, "--to", "analyst")
        cli.run_ok("trigger", "add", "ci", "--secret", "x" * 20)
        cli.run_ok("agent", "retire", "analyst")
        target = "there is no 'user-agent' or 'team:root/system4', and no rule for it"
        assert list_faults(cli) == [
            (
                "triggers",
                "shop reaches nobody: there is no 'analyst', and no rule for it",
                "name somebody with `gatepost trigger set shop --to NAME`",
            ),
            (
                "triggers",
                f"ci reaches nobody: {target}",
                "name somebody with `gatepost trigger set ci --to NAME`",
            ),
        ]
        cli.run_ok("trigger", "set", "shop", "--to", "husam")
        cli.run_ok("agent", "add", "user-agent")
        assert list_faults(cli) == []

    def test_of_bots_without_their_token(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "desk", "--provider", "telegram", "--token", "env:BOT", "--to", "analyst")
        assert list_faults(cli) == [
            ("triggers", "the token of the bot 'desk' is not here (env:BOT)", "set it where the gateway runs")
        ]
        assert list_faults(cli, BOT="1:token") == []
        cli.run_ok("trigger", "disable", "desk")
        assert list_faults(cli) == []

    def test_of_bots_as_the_gateway_finds_them(self, cli: CommandLine) -> None:
        """Its environment has the tokens; the shell needs none."""
        cli.run_ok("trigger", "add", "desk", "--provider", "telegram", "--token", "env:BOT", "--to", "analyst")
        with start_local_gateway(cli):
            assert list_faults(cli) == []

    def test_of_rules(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "route", "add", "urgent", "--to", "analyst", "--to", "husam")
        assert list_faults(cli) == []
        cli.run_ok("agent", "retire", "analyst")
        assert list_faults(cli) == [
            (
                "routes",
                "the rule urgent names 'analyst', and nobody is there",
                "change it with `gatepost trigger route set urgent --to NAME`",
            )
        ]


def test_hooks_that_run_a_program_that_is_gone(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(cli.cwd))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    cli.run_ok("hooks", "install", "--host", "claude")
    cli.run_ok("mcp", "install", "--host", "cursor")
    assert list_faults(cli) == []
    for file in (cli.cwd / ".claude" / "settings.json", cli.cwd / ".cursor" / "mcp.json"):
        program = find_program(json.loads(file.read_text()))
        file.write_text(file.read_text().replace(program, "/nowhere/bin/gatepost"))
    faults = list_faults(cli)
    assert [(check, hint) for check, _, hint in faults] == [
        ("hooks", "gatepost hooks install --host claude --scope user"),
        ("hooks", "gatepost mcp install --host cursor --scope user"),
    ]
    detail = f"{cli.cwd}/.claude/settings.json runs /nowhere/bin/gatepost, and there is no such program"
    assert faults[0][1] == detail


def find_program(document: Any) -> str:
    """Return the first word that is the path of a gatepost in a settings file."""
    words = json.dumps(document).replace('"', " ").split()
    return next(word for word in words if word.endswith("/gatepost"))


def test_keys_for_the_ledger_that_others_can_read(cli: CommandLine) -> None:
    folder = cli.home / "ledger" / "keys" / "testnet"
    folder.mkdir(parents=True)
    key = folder / "analyst.key"
    key.write_text("secret")
    key.chmod(0o640)
    assert list_faults(cli) == [("secrets", f"{key}: other users can read it", f"chmod 600 {key}")]
    key.chmod(0o600)
    assert list_faults(cli) == []


def test_a_ledger_without_an_operator(cli: CommandLine) -> None:
    [(check, detail, hint)] = list_faults(cli, GATEPOST_LEDGER="hedera:testnet")
    assert (check, detail) == ("ledger", "the ledger 'hedera:testnet' needs the setting 'hedera.operator_id'")
    assert hint == "write operator_id and operator_key_file in [hedera], as in docs/ledger.md"


def test_a_ledger_whose_operator_has_no_key(cli: CommandLine) -> None:
    [(check, detail, _)] = list_faults(
        cli,
        GATEPOST_LEDGER="hedera:testnet",
        GATEPOST_HEDERA__OPERATOR_ID="0.0.2",
        GATEPOST_HEDERA__OPERATOR_KEY_FILE="/nowhere/operator.key",
    )
    assert check == "ledger"
    assert "/nowhere/operator.key" in detail


def test_a_transport_without_its_driver(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gatepost.transports.redis", None)
    [(check, detail, hint)] = list_faults(cli, GATEPOST_TRANSPORT="redis://127.0.0.1:1")
    assert (check, hint) == ("transport", "pip install 'gatepost[redis]'")
    assert detail == "the transport 'redis://127.0.0.1:1' needs its driver"


def test_a_clock_that_was_set_back(cli: CommandLine) -> None:
    cli.push("--to", "analyst", "hello")
    with closing(sqlite3.connect(cli.database)) as db, db:
        db.execute("INSERT INTO leases (name, holder, fence, deadline) VALUES ('clock', '', 0, ?)", (2**51,))
    [(check, detail, hint)] = list_faults(cli)
    assert (check, detail) == ("clock", "the clock was set back: times in the store are ahead of it")
    assert hint == "if the clock is right now, `gatepost up` mends them; else set it"


def test_voice_messages_that_nothing_transcribes(cli: CommandLine) -> None:
    cli.run_ok("trigger", "add", "desk", "--provider", "telegram", "--token", "env:BOT", "--to", "analyst")
    line = "speech     off: voice messages to desk are passed on without their words, until speech.url is set\n"
    assert line in cli.run_ok("doctor", BOT="1:token").out
    assert line not in cli.run_ok("doctor", BOT="1:token", GATEPOST_SPEECH__URL="http://127.0.0.1:1/v1").out


@pytest.mark.parametrize("problem", [None, "no such model"])
def test_the_model_that_transcribes_here_is_tried(cli: CommandLine, tmp_path: Path, problem: str | None) -> None:
    package = "\n".join(
        (
            "class WhisperModel:",
            "    def __init__(self, name):",
            f"        if {problem!r}: raise FileNotFoundError({problem!r})",
            "    def transcribe(self, samples):",
            "        assert len(samples) == 16_000",
            "        return iter(()), None",
        )
    )
    (tmp_path / "faster_whisper.py").write_text(package)
    (tmp_path / "numpy.py").write_text("float32 = 'f'\n\ndef frombuffer(samples, dtype):\n    return samples\n")
    cli.monkeypatch.syspath_prepend(tmp_path)
    path = f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    faults = list_faults(cli, GATEPOST_SPEECH__URL="local:", PYTHONPATH=path)
    if problem is None:
        assert faults == []
    else:
        [(check, detail, hint)] = faults
        assert (check, detail) == (
            "speech",
            "local: does not work: the model 'small' cannot be loaded: FileNotFoundError: no such model",
        )
        assert hint is not None
        assert "speech.model" in hint


class TestVariablesThatAreIgnored:
    def test_are_said_by_every_command(self, cli: CommandLine) -> None:
        near_miss = "GATEPOST_PORT is not a setting, and is ignored: did you mean GATEPOST_GATEWAY__PORT?"
        assert cli.run_ok("agent", "list", GATEPOST_PORT="5000").err == f"warning: {near_miss}\n"
        assert list_faults(cli, GATEPOST_PORT="5000") == [("settings", near_miss, "rename the variable, or unset it")]

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("GATEPOST_PORT", "tcp://10.0.0.1:4283"),
            ("GATEPOST_PORT_4283_TCP_PROTO", "tcp"),
            ("GATEPOST_SERVICE_PORT", "4283"),
            ("GATEPOST_SERVICE_HOST", "10.0.0.1"),
            ("GATEPOST_FOO", "1"),
            ("GATEPOST_NIGHTLY", "1"),
        ],
    )
    def test_are_not_said_if_nobody_meant_a_setting(self, cli: CommandLine, variable: str, value: str) -> None:
        cli.monkeypatch.setenv(variable, value)
        assert cli.run_ok("agent", "list").err == ""
        assert list_faults(cli) == []
