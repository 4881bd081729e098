"""`gatepost init`, `config show`, `doctor`, `completion`."""

import json
import sqlite3
from pathlib import Path

import pytest

from gatepost.settings import declared
from tests.acceptance.office import Office


def spoil(office: Office, *statements: str) -> None:
    """Change the database behind everybody's back."""
    with sqlite3.connect(office.database) as db:
        for statement in statements:
            db.execute(statement)
    db.close()


def checks(office: Office) -> dict[str, bool]:
    return {finding["check"]: finding["ok"] for finding in office("doctor", "--json").json}


class TestInit:
    @pytest.fixture(autouse=True)
    def no_home(self, gatepost: Office) -> None:
        del gatepost.environ["GATEPOST_HOME"]

    def test_makes_a_home_here(self, gatepost: Office) -> None:
        first = gatepost.done("init")
        home = gatepost.here / ".gatepost"
        assert [line.split()[:2] for line in first.out.splitlines()[1:]] == [
            ["made", "home"],
            ["made", "settings"],
            ["made", "store"],
            ["made", "key"],
        ]
        assert (home / "admin.key").stat().st_mode & 0o777 == 0o600
        assert [key["kind"] for key in gatepost.done("key", "list", "--json").json] == ["admin"]
        assert home.stat().st_mode & 0o777 == 0o700
        assert (home / ".gitignore").read_text() == "*\n"
        assert "# remember = " in (home / "gatepost.toml").read_text()
        assert "admin" in gatepost.done("person", "list").out
        assert gatepost.done("config", "show", "--json").json["home"] == {
            "value": str(home),
            "origin": "found upwards from the working directory",
        }

    def test_can_be_run_again(self, gatepost: Office) -> None:
        gatepost.done("init")
        settings = gatepost.here / ".gatepost" / "gatepost.toml"
        settings.write_text('agent = "analyst"\n')
        again = gatepost.done("init", "--json").json
        assert [step["made"] for step in again] == [False] * 4
        assert settings.read_text() == 'agent = "analyst"\n'

    def test_leaves_a_settings_file_beside_it_in_charge(self, gatepost: Office) -> None:
        (gatepost.here / "gatepost.toml").write_text('store = "sqlite:///mine.db"\n')
        steps = {step["what"]: step for step in gatepost.done("init", "--json").json}
        assert steps["settings"] == {"what": "settings", "where": f"{gatepost.here}/gatepost.toml", "made": False}
        assert (gatepost.here / "mine.db").exists()
        assert not (gatepost.here / ".gatepost" / "gatepost.toml").exists()

    def test_in_the_home_that_is_named(self, gatepost: Office, tmp_path: Path) -> None:
        gatepost.done("init", GATEPOST_HOME=str(tmp_path / "named"))
        assert (tmp_path / "named" / "gatepost.db").exists()
        assert not (gatepost.here / ".gatepost").exists()

    def test_where_a_file_is_in_the_way(self, gatepost: Office) -> None:
        (gatepost.here / ".gatepost").touch()
        ended = gatepost("init")
        assert (ended.code, ended.error) == (3, f"the folder '{gatepost.here}/.gatepost' cannot be made: File exists")


class TestConfig:
    def test_shows_every_setting_and_where_it_came_from(self, gatepost: Office) -> None:
        gatepost.home.mkdir()
        (gatepost.home / "gatepost.toml").write_text('[inbox]\nhold = "5m"\n')
        shown = gatepost.done("config", "show", "--json", GATEPOST_LIMITS__HOPS="3").json
        assert set(shown) == {"home", *(name for name, _ in declared())}
        assert shown["inbox.hold"] == {"value": "5m", "origin": str(gatepost.home / "gatepost.toml")}
        assert shown["limits.hops"] == {"value": "3", "origin": "GATEPOST_LIMITS__HOPS"}
        assert shown["agent"] == {"value": None, "origin": "default"}
        table = gatepost.done("config", "show").out
        assert table.splitlines()[0].split() == ["SETTING", "VALUE", "FROM"]
        assert not gatepost.database.exists()

    def test_of_settings_that_are_wrong(self, gatepost: Office) -> None:
        ended = gatepost("config", "show", GATEPOST_INBOX__HOLD="long")
        assert (ended.code, ended.error) == (2, "GATEPOST_INBOX__HOLD is wrong: 'long' is not a duration")


class TestDoctor:
    def test_finds_nothing(self, office: Office) -> None:
        office.push("--to", "analyst", "hello")
        office.push("--broadcast", "all")
        well = office.done("doctor")
        assert {line.split()[0] for line in well.out.splitlines()} == {"ok"}
        names = ["home", "settings", "store", "schema", "disk", "integrity", "accounts", "orphans"]
        assert list(checks(office)) == names
        assert set(office.done("doctor", "--json").json[0]) == {"check", "ok", "detail", "hint"}

    def test_of_a_new_store(self, gatepost: Office) -> None:
        assert "(made just now)" in gatepost.done("doctor").out

    @pytest.mark.parametrize(
        ("statement", "check", "detail"),
        [
            ("UPDATE tallies SET accepted = 7", "accounts", "'analyst' accepted 7 but has 1"),
            (
                "UPDATE items SET state = 'claimed'",
                "orphans",
                "items claimed by nobody: 1, the first is for 'analyst'",
            ),
            ("DELETE FROM items", "orphans", "events in no inbox: 1, the first is 'evt_"),
            (
                "DELETE FROM inboxes WHERE recipient = 2",
                "orphans",
                "entities without name or inbox: 1, the first is 'analyst'",
            ),
            ("UPDATE items SET arrival = 99", "integrity", "a row of items refers to one of events that is gone"),
        ],
    )
    def test_finds_what_is_wrong(self, office: Office, statement: str, check: str, detail: str) -> None:
        office.push("--to", "analyst", "hello")
        spoil(office, statement)
        sick = office("doctor")
        assert sick.code == 1
        assert detail in sick.out
        assert "hint: " in sick.out
        assert not checks(office)[check]

    def test_settings_that_are_wrong(self, gatepost: Office) -> None:
        sick = gatepost("doctor", GATEPOST_INBOX__HOLD="long")
        assert sick.code == 1
        assert sick.out.startswith("wrong  settings   GATEPOST_INBOX__HOLD is wrong")


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
    def test_script(self, gatepost: Office, shell: str) -> None:
        assert "_GATEPOST_COMPLETE" in gatepost.done("completion", shell).out

    def test_completes(self, gatepost: Office) -> None:
        asked = gatepost.process(_GATEPOST_COMPLETE="complete_bash", COMP_WORDS="gatepost inbox p", COMP_CWORD="2")
        assert asked.out.split() == ["push", "peek"]


def test_json_is_json_everywhere(office: Office) -> None:
    event = office.push("--to", "analyst", "hello")
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
        ["import", "out.jsonl"],
    ):
        json.loads(office.done(*words, "--json").out)
