"""`gatepost agent` for those who live here: adding, changing, pausing, and looking at what they did."""

import json
from pathlib import Path

import pytest

from gatepost import app, settings
from tests import residents
from tests.acceptance.office import Office
from tests.residents import Thinking

EITHER_WAY = True

TOML = """
model = { provider = "openai", name = "gpt-5", temperature = 0.2 }
instructions = "From the file"

[[tools]]
name = "crm"
timeout = "5s"
execution = { url = "https://crm.example.com/{id}", headers = { Authorization = "Bearer sk_crm" } }
"""


def thought(office: Office) -> Thinking:
    """Let the thinker have thought once, in the store of the office."""
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(office.home)})) as store:
        residents.resident(store)
        thinking = residents.begun(store)
        residents.ended(store, thinking)
    return thinking


def test_add_show_set(office: Office) -> None:
    added = office.done("agent", "add", "cleo", "--model", "demo", "--instructions", "Be brief")
    assert (added.out, added.err) == ("cleo\n", "registered 'cleo'; it lives here, and thinks with demo\n")
    shown = office.done("agent", "show", "cleo", "--json").json
    assert (shown["resident"], shown["paused"], shown["cycles"], shown["version"]) == (True, False, 0, 1)
    assert shown["config"]["instructions"] == "Be brief"
    assert shown["inbox"]["accepted"] == 0

    changed = office.done("agent", "set", "cleo", "--instructions", "-", "--team", "web", stdin=b"Be kind\n")
    assert changed.err == "changed 'cleo'; its configuration is number 2\n"
    said = office.done("agent", "show", "cleo").out
    assert said.endswith("instructions\n  Be kind\n")
    assert "model       demo\n" in said
    assert "team        web\n" in said


def test_a_guest_stays_one_until_it_is_given_a_model(office: Office) -> None:
    assert office.done("agent", "add", "guest").err == "registered 'guest'\n"
    assert office.done("agent", "show", "guest", "--json").json["resident"] is False
    renamed = office.done("agent", "set", "guest", "--display", "A guest", "--json").json
    assert (renamed["displayName"], renamed["resident"]) == ("A guest", False)
    for verb in ("pause", "resume", "mind"):
        assert "'guest' is a guest" in office("agent", verb, "guest").error
    assert office.done("agent", "set", "guest", "--model", "ollama:llama3", "--json").json["resident"] is True


def test_a_key_that_is_missing_is_said_at_once(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = "OPENAI_API_KEY is not set: set it where the gateway runs, or the demo stands in for openai:gpt-5\n"
    assert office.done("agent", "add", "cleo", "--model", "openai:gpt-5").err.endswith(f"openai:gpt-5\n{said}")
    assert office.done("agent", "show", "cleo", "--json").json["config"]["model"]["name"] == "gpt-5"
    assert office.done("agent", "set", "cleo", "--model", "openai:gpt-5", "--json").err == said
    assert said not in office.done("agent", "set", "cleo", "--instructions", "Be brief").err
    assert said not in office.done("agent", "set", "cleo", "--model", "openai:gpt-5", OPENAI_API_KEY="sk-1").err
    for model in ("ollama:llama3", "demo"):
        assert "is not set" not in office.done("agent", "set", "cleo", "--model", model).err


def test_from_a_file_and_back(office: Office) -> None:
    file = Path("cleo.toml")
    file.write_text(TOML)
    Path("cleo.md").write_text("From the other file\n")
    office.done("agent", "add", "cleo", "--config", str(file), "--instructions", "@cleo.md")
    shown = office.done("agent", "show", "cleo", "--json")
    assert "sk_crm" not in shown.out
    config = shown.json["config"]
    assert config["instructions"] == "From the other file"
    assert config["model"]["temperature"] == 0.2
    assert config["tools"][0]["execution"]["headers"] == {"Authorization": "Bearer ***"}

    config["tools"][0]["timeout"] = "7s"
    again = office.done("agent", "set", "cleo", "--config", "-", "--json", stdin=json.dumps(config).encode()).json
    assert (again["version"], again["config"]["tools"][0]["timeout"]) == (2, "7s")
    whole = office.done("agent", "show", "cleo", "--json").out.encode()
    assert office.done("agent", "set", "cleo", "--config", "-", "--json", stdin=whole).json["version"] == 2
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(office.home)})) as store:
        assert "Bearer sk_crm" in str(store.query(lambda tx: tx.fetch_all("agents/read", entity=_number(tx))))


def _number(reader: object) -> int:
    from gatepost.actions import directory

    return directory.find(reader, "cleo").number  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--model", "gpt-5"], "model: 'gpt-5' is not a model"),
        (["--model", ""], "--model is empty"),
        (["--config", "bad.json"], "'bad.json' is not JSON"),
        (["--config", "list.json"], "'list.json' is not a JSON object"),
        (["--config", "bad.toml"], "'bad.toml' is not TOML"),
        (["--config", "typo.json"], "tools[0]: 'tmeout' is not a field of it"),
        (["--config", "missing.json"], "'missing.json' cannot be read"),
        (["--config", "-", "--instructions", "-"], "stdin can be read only once"),
    ],
)
def test_what_is_wrong_is_said_and_nobody_is_added(office: Office, words: list[str], error: str) -> None:
    Path("bad.json").write_text("{")
    Path("list.json").write_text("[]")
    Path("bad.toml").write_text("a = ")
    Path("typo.json").write_text('{"tools": [{"name": "x", "tmeout": 1}]}')
    for verb, name in (("add", "cleo"), ("set", "analyst")):
        ended = office("agent", verb, name, *words)
        assert ended.code in (2, 3)
        assert ended.error.startswith(error)
    assert "nobody is called 'cleo'" in office("agent", "show", "cleo").error
    assert office.done("agent", "show", "analyst", "--json").json["resident"] is False


def test_pause_and_resume(office: Office) -> None:
    office.done("agent", "add", "cleo", "--model", "demo")
    for _ in range(2):
        assert office.done("agent", "pause", "cleo").err.startswith("paused 'cleo'")
    assert "paused since 2" in office.done("agent", "show", "cleo").out
    assert office.done("agent", "resume", "cleo", "--json").json["paused"] is False
    assert office("agent", "pause", "husam").error == "'husam' is a person, not an agent"
    assert "nothing is to be changed" in office("agent", "set", "cleo").error


def test_runs_and_mind(office: Office) -> None:
    assert office.done("agent", "runs", "analyst").err == "'analyst' has no run\n"
    thinking = thought(office)
    [run] = office.done("agent", "runs", "thinker", "--json").json
    fields = ("id", "status", "cycleNumber", "cause", "steps", "promptTokens", "completionTokens")
    assert [run[field] for field in fields] == [thinking.run, "waiting_tool", 1, "event", 2, 270, 17]
    heading, row = office.done("agent", "runs", "thinker").out.splitlines()
    assert heading.split()[:3] == ["RUN", "CYCLE", "STATUS"]
    assert row.endswith('"Asked the warehouse about order 7."')
    assert office.done("agent", "runs", "thinker", "--status", "failed").err == "'thinker' has no run that is failed\n"
    assert office("agent", "runs", "thinker", "--status", "x").code == 2

    mind = office.done("agent", "mind", "thinker", "--json").json
    assert [turn["kind"] for turn in mind["turns"]] == ["prompt", "reply", "result", "reply"]
    assert "of the adapter" not in str(mind)
    said = office.done("agent", "mind", "thinker")
    assert 'said\n  I ask the warehouse\n  ship {"order": 7}\nship returned\n' in said.out
    assert said.err.startswith("4 turns, about ")


def test_replay(office: Office) -> None:
    thinking = thought(office)
    told = office.done("agent", "replay", thinking.run, "--model", "demo", "--json").json
    assert (told["run"], told["same"]) == (thinking.run, False)
    assert [step["kind"] for step in told["original"]] == ["prompt", "reply", "result", "reply"]
    assert told["replayed"]
    shown = office.done("agent", "replay", thinking.run)
    heading, *rows, verdict = shown.out.splitlines()
    assert heading.split() == ["THEN", "NOW"]
    assert rows[0].startswith("!  I ask the warehouse")
    assert verdict == "different"
    assert len(office.done("agent", "runs", "thinker", "--json").json) == 1
    assert office("agent", "replay", "evt_1").code == 2
    assert office("agent", "replay", "run_" + "0" * 32).code == 1
    assert "is not a model" in office("agent", "replay", thinking.run, "--model", "nonsense").error
