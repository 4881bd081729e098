"""`gatepost init`, `config show`, `doctor`, `completion`."""

import json
import os
import re
import sqlite3
from pathlib import Path

import pytest

from gatepost.settings import list_settings
from tests.support.command_line import CommandLine


def corrupt_store(cli: CommandLine, *statements: str) -> None:
    """Change the database behind everybody's back."""
    with sqlite3.connect(cli.database) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def run_checks(cli: CommandLine) -> dict[str, bool]:
    return {finding["check"]: finding["ok"] for finding in cli("doctor", "--json").json}


class TestInit:
    @pytest.fixture(autouse=True)
    def no_home(self, empty_cli: CommandLine) -> None:
        del empty_cli.environ["GATEPOST_HOME"]

    def test_makes_a_home_here(self, empty_cli: CommandLine) -> None:
        first = empty_cli.run_ok("init")
        home = empty_cli.cwd / ".gatepost"
        assert [line.split()[:2] for line in first.out.splitlines()[1:]] == [
            ["made", "home"],
            ["made", "settings"],
            ["made", "store"],
            ["made", "key"],
        ]
        assert (home / "admin.key").stat().st_mode & 0o777 == 0o600
        assert [key["kind"] for key in empty_cli.run_ok("key", "list", "--json").json] == ["admin"]
        assert home.stat().st_mode & 0o777 == 0o700
        assert (home / ".gitignore").read_text() == "*\n"
        assert "# remember = " in (home / "gatepost.toml").read_text()
        assert "admin" in empty_cli.run_ok("person", "list").out
        assert empty_cli.run_ok("config", "show", "--json").json["home"] == {
            "value": str(home),
            "origin": "found upwards from the working directory",
        }

    def test_can_be_run_again(self, empty_cli: CommandLine) -> None:
        empty_cli.run_ok("init")
        settings = empty_cli.cwd / ".gatepost" / "gatepost.toml"
        settings.write_text('agent = "analyst"\n')
        steps = empty_cli.run_ok("init", "--json").json
        assert [step["made"] for step in steps] == [False] * 4
        assert settings.read_text() == 'agent = "analyst"\n'

    def test_leaves_a_settings_file_beside_it_in_charge(self, empty_cli: CommandLine) -> None:
        (empty_cli.cwd / "gatepost.toml").write_text('store = "sqlite:///mine.db"\n')
        steps = {step["what"]: step for step in empty_cli.run_ok("init", "--json").json}
        assert steps["settings"] == {"what": "settings", "where": f"{empty_cli.cwd}/gatepost.toml", "made": False}
        assert (empty_cli.cwd / "mine.db").exists()
        assert not (empty_cli.cwd / ".gatepost" / "gatepost.toml").exists()

    def test_in_the_home_that_is_named(self, empty_cli: CommandLine, tmp_path: Path) -> None:
        empty_cli.run_ok("init", GATEPOST_HOME=str(tmp_path / "named"))
        assert (tmp_path / "named" / "gatepost.db").exists()
        assert not (empty_cli.cwd / ".gatepost").exists()

    def test_where_a_file_is_in_the_way(self, empty_cli: CommandLine) -> None:
        (empty_cli.cwd / ".gatepost").touch()
        result = empty_cli("init")
        assert (result.code, result.error) == (3, f"the folder '{empty_cli.cwd}/.gatepost' cannot be made: File exists")


class TestConfig:
    def test_shows_every_setting_and_where_it_came_from(self, empty_cli: CommandLine) -> None:
        empty_cli.home.mkdir()
        (empty_cli.home / "gatepost.toml").write_text('[inbox]\nhold = "5m"\n')
        document = empty_cli.run_ok("config", "show", "--json", GATEPOST_LIMITS__HOPS="3").json
        assert set(document) == {"home", *(name for name, _ in list_settings())}
        assert document["inbox.hold"] == {"value": "5m", "origin": str(empty_cli.home / "gatepost.toml")}
        assert document["limits.hops"] == {"value": "3", "origin": "GATEPOST_LIMITS__HOPS"}
        assert document["agent"] == {"value": None, "origin": "default"}
        table = empty_cli.run_ok("config", "show").out
        assert table.splitlines()[0].split() == ["SETTING", "VALUE", "FROM"]
        assert re.search(r"spool/<session>\.jsonl +default\n", table)
        assert not empty_cli.database.exists()

    def test_of_settings_that_are_wrong(self, empty_cli: CommandLine) -> None:
        result = empty_cli("config", "show", GATEPOST_INBOX__HOLD="long")
        assert (result.code, result.error) == (2, "GATEPOST_INBOX__HOLD is wrong: 'long' is not a duration")


class TestDoctor:
    def test_finds_nothing(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "hello")
        cli.push("--broadcast", "all")
        result = cli.run_ok("doctor")
        assert {line.split()[0] for line in result.out.splitlines()} == {"ok"}
        names = "home settings key gateway store schema disk room integrity accounts orphans clock notify"
        assert list(run_checks(cli)) == names.split()
        assert set(cli.run_ok("doctor", "--json").json[0]) == {"check", "ok", "detail", "hint"}

    def test_finds_what_other_users_can_reach(self, cli: CommandLine) -> None:
        cli.run_ok("init")
        key = cli.home / "admin.key"
        key.chmod(0o644)
        cli.home.chmod(0o777)
        result = cli("doctor")
        assert result.code == 1
        assert f"wrong  home       {cli.home} (GATEPOST_HOME): other users can write to it\n" in result.out
        assert f"hint: chmod go-w {cli.home}\n" in result.out
        assert f"wrong  key        {key}: other users can read it\n" in result.out
        assert f"hint: chmod 600 {key}\n" in result.out
        cli.home.chmod(0o755)
        key.chmod(0o600)
        assert cli("doctor").code == 0

    def test_finds_a_home_that_is_a_file(self, empty_cli: CommandLine) -> None:
        empty_cli.home.write_text("not a folder")
        result = empty_cli("doctor")
        assert result.code == 1
        assert f"wrong  home       {empty_cli.home} is not a folder\n" in result.out
        assert "hint: remove it, or name another home in GATEPOST_HOME\n" in result.out

    def test_finds_a_key_that_is_not_a_file(self, cli: CommandLine) -> None:
        os.mkfifo(cli.home / "admin.key")
        result = cli("doctor")
        assert (result.code, run_checks(cli)["key"]) == (1, False)
        assert "admin.key': it is not a regular file\n" in result.out

    def test_finds_rules_that_name_nobody(self, cli: CommandLine) -> None:
        rules = (
            '{"task.blocked" = {to = ["mindy", "husam"], priority = 0}, "phase.*" = {to = ["team:ops"], priority = 1}}'
        )
        result = cli("doctor", GATEPOST_WORK__NOTIFY=rules)
        assert result.code == 1
        assert "wrong  notify     no such entity: 'mindy' (for task.blocked), 'team:ops' (for phase.*)\n" in result.out
        assert "hint: register them with `gatepost agent add NAME`" in result.out
        cli.run_ok("person", "add", "mindy", "--team", "ops")
        assert cli("doctor", GATEPOST_WORK__NOTIFY=rules).code == 0

    def test_names_what_transcribes_and_finds_what_is_missing(self, cli: CommandLine) -> None:
        result = cli.run_ok(
            "doctor", GATEPOST_SPEECH__URL="http://127.0.0.1:1/v1", GATEPOST_SPEECH__KEY_VARIABLE="NO_KEY"
        )
        assert "ok     speech     http://127.0.0.1:1/v1, without a key: NO_KEY is not set\n" in result.out
        cli.monkeypatch.setattr("gatepost.channels.speech.local_transcriber.find_spec", lambda _: None)
        result = cli("doctor", GATEPOST_SPEECH__URL="local:")
        assert result.code == 1
        assert "wrong  speech     the speech service 'local:' needs its driver\n" in result.out
        assert "hint: pip install 'gatepost[speech]'\n" in result.out
        assert "hint: such as https://HOST/v1, or local:\n" in cli("doctor", GATEPOST_SPEECH__URL="ftp://x").out

    @pytest.mark.parametrize(
        ("statement", "check", "detail"),
        [
            ("UPDATE accounts SET accepted = 7", "accounts", "'analyst' accepted 7 but has 1"),
            (
                "INSERT INTO past SELECT recipient, arrival, priority, is_from_machine, source, NULL, wakes, 0, size,"
                " times, NULL, 'taken', NULL, NULL FROM pending",
                "orphans",
                "items claimed by nobody: 1, the first is for 'analyst'",
            ),
            ("DELETE FROM pending", "orphans", "events in no inbox: 1, the first is 'evt_"),
            (
                "DELETE FROM inboxes WHERE recipient = 2",
                "orphans",
                "entities without name or inbox: 1, the first is 'analyst'",
            ),
            ("UPDATE pending SET arrival = 99", "integrity", "a row of pending refers to one of events that is gone"),
        ],
    )
    def test_finds_what_is_wrong(self, cli: CommandLine, statement: str, check: str, detail: str) -> None:
        cli.push("--to", "analyst", "hello")
        corrupt_store(cli, statement)
        result = cli("doctor")
        assert result.code == 1
        assert detail in result.out
        assert "hint: " in result.out
        assert not run_checks(cli)[check]

    def test_settings_that_are_wrong(self, empty_cli: CommandLine) -> None:
        result = empty_cli("doctor", GATEPOST_INBOX__HOLD="long")
        assert result.code == 1
        assert result.out.startswith("wrong  settings   GATEPOST_INBOX__HOLD is wrong")


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
    def test_script(self, empty_cli: CommandLine, shell: str) -> None:
        assert "_GATEPOST_COMPLETE" in empty_cli.run_ok("completion", shell).out

    def test_completes(self, empty_cli: CommandLine) -> None:
        result = empty_cli.run_process(
            _GATEPOST_COMPLETE="bash_complete", COMP_WORDS="gatepost inbox p", COMP_CWORD="2"
        )
        assert result.out.split() == ["plain,push", "plain,peek"]

    @pytest.mark.parametrize(
        ("words", "position", "completions"),
        [
            ('gatepost\n"inb', 1, ["plain,inbox"]),
            ('gatepost\nhooks\ninstall\n--host\n"ge', 4, ["plain,gemini"]),
            ('gatepost\ninbox\npush\n"it\'s\nthere"\n--prio', 4, ["plain,--priority"]),
            ("gatepost\nhooks\ninstall\n--host\n=\nge", 5, ["plain,gemini"]),
        ],
        ids=["quoted verb", "quoted value", "quoted lines", "value behind ="],
    )
    def test_completes_words_as_bash_splits_them(
        self, empty_cli: CommandLine, words: str, position: int, completions: list[str]
    ) -> None:
        result = empty_cli(_GATEPOST_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(position))
        assert result.out.split() == completions


def test_json_is_json_everywhere(cli: CommandLine) -> None:
    event = cli.push("--to", "analyst", "hello")
    for words in (
        ["inbox", "push", "--to", "husam", "x"],
        ["inbox", "list", "--to", "analyst"],
        ["inbox", "peek", "--to", "analyst"],
        ["inbox", "show", event],
        ["inbox", "discard", event],
        ["inbox", "replay", event],
        ["inbox", "drain", "--to", "analyst"],
        ["agent", "add", "zoe"],
        ["agent", "list"],
        ["agent", "show", "zoe"],
        ["agent", "retire", "zoe"],
        ["person", "list"],
        ["config", "show"],
        ["init"],
        ["doctor"],
        ["export", "out.jsonl"],
    ):
        json.loads(cli.run_ok(*words, "--json").out)
    json.loads(cli.run_ok("import", "out.jsonl", "--json", GATEPOST_STORE="sqlite:///other.db").out)
