"""`gatepost agent` for those who live here: adding, changing, pausing, and looking at what they did."""

import json
import re
from pathlib import Path

import pytest

from gatepost import app, settings
from tests.residents import resident_runs
from tests.residents.resident_runs import WaitingRun
from tests.support.command_line import CommandLine

EITHER_WAY = True

CONFIG_TOML = """
model = { provider = "openai", name = "gpt-5", temperature = 0.2 }
instructions = "From the file"

[[tools]]
name = "crm"
timeout = "5s"
execution = { url = "https://crm.example.com/{id}", headers = { Authorization = "Bearer sk_crm" } }
"""


def create_finished_run(cli: CommandLine) -> WaitingRun:
    """Let the thinker have thought once, in the store of the office."""
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(cli.home)})) as store:
        resident_runs.create_resident(store)
        waiting_run = resident_runs.begin_run(store)
        resident_runs.finish_run(store, waiting_run)
    return waiting_run


def test_add_show_set(cli: CommandLine) -> None:
    add_result = cli.run_ok("agent", "add", "cleo", "--model", "demo", "--instructions", "Be brief")
    assert (add_result.out, add_result.err) == ("cleo\n", "registered 'cleo', a resident with the model demo\n")
    agent_details = cli.run_ok("agent", "show", "cleo", "--json").json
    assert (agent_details["resident"], agent_details["paused"], agent_details["cycles"], agent_details["version"]) == (
        True,
        False,
        0,
        1,
    )
    assert agent_details["config"]["instructions"] == "Be brief"
    assert agent_details["inbox"]["accepted"] == 0

    set_result = cli.run_ok("agent", "set", "cleo", "--instructions", "-", "--team", "web", stdin=b"Be kind\n")
    assert set_result.err == "changed 'cleo'; its configuration has version 2\n"
    text = cli.run_ok("agent", "show", "cleo").out
    assert text.endswith("instructions\n  Be kind\n")
    assert "model      demo\n" in text
    assert "team       web\n" in text


def test_a_guest_stays_one_until_it_is_given_a_model(cli: CommandLine) -> None:
    assert cli.run_ok("agent", "add", "guest").err == "registered 'guest'\n"
    assert cli.run_ok("agent", "show", "guest", "--json").json["resident"] is False
    agent = cli.run_ok("agent", "set", "guest", "--display", "A guest", "--json").json
    assert (agent["displayName"], agent["resident"]) == ("A guest", False)
    for verb in ("pause", "resume", "mind"):
        assert "'guest' is a guest" in cli("agent", verb, "guest").error
    assert cli.run_ok("agent", "set", "guest", "--model", "ollama:llama3", "--json").json["resident"] is True


def test_capabilities_are_codes_or_names(cli: CommandLine) -> None:
    words = ("--capability", "workflow-automation", "--capability", "4")
    cli.run_ok("agent", "add", "cleo", "--model", "demo", *words)
    assert "capabilities  code-generation (4), workflow-automation (18)\n" in cli.run_ok("agent", "show", "cleo").out
    agent = cli.run_ok("agent", "set", "cleo", "--capability", "16", "--json").json
    assert (agent["version"], agent["config"]["capabilities"]) == (2, [16])
    assert cli.run_ok("agent", "set", "cleo", "--no-capability", "--json").json["config"]["capabilities"] == []
    for verb, name in (("add", "newcomer"), ("set", "analyst")):
        result = cli("agent", verb, name, *words)
        assert (result.code, result.error) == (2, "--capability: a guest has none of its own")
        assert "give it a --model M too" in result.err
    assert "there is no entity 'newcomer'" in cli("agent", "show", "newcomer").error


def test_a_key_that_is_missing_is_said_at_once(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    warning = (
        "warning: OPENAI_API_KEY is not set, so the demo replaces openai:gpt-5\n"
        "hint: set OPENAI_API_KEY where the gateway runs, and start it again\n"
    )
    assert cli.run_ok("agent", "add", "cleo", "--model", "openai:gpt-5").err.endswith(f"openai:gpt-5\n{warning}")
    assert cli.run_ok("agent", "show", "cleo", "--json").json["config"]["model"]["name"] == "gpt-5"
    assert cli.run_ok("agent", "set", "cleo", "--model", "openai:gpt-5", "--json").err == warning
    assert warning not in cli.run_ok("agent", "set", "cleo", "--instructions", "Be brief").err
    assert warning not in cli.run_ok("agent", "set", "cleo", "--model", "openai:gpt-5", OPENAI_API_KEY="sk-1").err
    for model in ("ollama:llama3", "demo"):
        assert "is not set" not in cli.run_ok("agent", "set", "cleo", "--model", model).err


def test_from_a_file_and_back(cli: CommandLine) -> None:
    file = Path("cleo.toml")
    file.write_text(CONFIG_TOML)
    Path("cleo.md").write_text("From the other file\n")
    cli.run_ok("agent", "add", "cleo", "--config", str(file), "--instructions", "@cleo.md")
    show_result = cli.run_ok("agent", "show", "cleo", "--json")
    assert "sk_crm" not in show_result.out
    config = show_result.json["config"]
    assert config["instructions"] == "From the other file"
    assert config["model"]["temperature"] == 0.2
    assert config["tools"][0]["execution"]["headers"] == {"Authorization": "Bearer ***"}

    config["tools"][0]["timeout"] = "7s"
    changed_agent = cli.run_ok(
        "agent", "set", "cleo", "--config", "-", "--json", stdin=json.dumps(config).encode()
    ).json
    assert (changed_agent["version"], changed_agent["config"]["tools"][0]["timeout"]) == (2, "7s")
    document = cli.run_ok("agent", "show", "cleo", "--json").out.encode()
    assert cli.run_ok("agent", "set", "cleo", "--config", "-", "--json", stdin=document).json["version"] == 2
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(cli.home)})) as store:
        assert "Bearer sk_crm" in str(
            store.read_sync(lambda tx: tx.fetch_all("residents/agents/read", entity=_find_number(tx)))
        )


def _find_number(reader: object) -> int:
    from gatepost.directory import entity_actions as directory

    return directory.find(reader, "cleo").number  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--model", "gpt-5"], "--model: 'gpt-5' is not a model"),
        (["--model", ""], "--model is empty"),
        (["--capability", "code-generatoin"], "--capability: 'code-generatoin' is not a capability"),
        (["--config", "bad.json"], "--config: 'bad.json' is not JSON"),
        (["--config", "list.json"], "--config: 'list.json' is not a JSON object"),
        (["--config", "bad.toml"], "--config: 'bad.toml' is not TOML"),
        (["--config", "typo.json"], "--config: 'tmeout' is not a field of tools[0]"),
        (["--config", "missing.json"], "--config: 'missing.json' cannot be read"),
        (["--config", "-", "--instructions", "-"], "stdin can be read only once"),
    ],
)
def test_what_is_wrong_is_said_and_nobody_is_added(cli: CommandLine, words: list[str], error: str) -> None:
    Path("bad.json").write_text("{")
    Path("list.json").write_text("[]")
    Path("bad.toml").write_text("a = ")
    Path("typo.json").write_text('{"tools": [{"name": "x", "tmeout": 1}]}')
    for verb, name in (("add", "cleo"), ("set", "analyst")):
        result = cli("agent", verb, name, *words)
        assert result.code == 2
        assert result.error.startswith(error)
    assert "there is no entity 'cleo'" in cli("agent", "show", "cleo").error
    assert cli.run_ok("agent", "show", "analyst", "--json").json["resident"] is False


def test_pause_and_resume(cli: CommandLine) -> None:
    cli.run_ok("agent", "add", "cleo", "--model", "demo")
    for _ in range(2):
        assert cli.run_ok("agent", "pause", "cleo").err.startswith("paused 'cleo'")
    assert "paused since 2" in cli.run_ok("agent", "show", "cleo").out
    assert cli.run_ok("agent", "resume", "cleo", "--json").json["paused"] is False
    assert cli("agent", "pause", "husam").error == "'husam' is a person, not an agent"
    assert "nothing to change" in cli("agent", "set", "cleo").error


def test_runs_and_mind(cli: CommandLine) -> None:
    assert cli.run_ok("agent", "runs", "analyst").err == "'analyst' has no runs\n"
    waiting_run = create_finished_run(cli)
    [run] = cli.run_ok("agent", "runs", "thinker", "--json").json
    fields = ("id", "status", "cycleNumber", "cause", "steps", "promptTokens", "completionTokens")
    assert [run[field] for field in fields] == [waiting_run.run_id, "waiting_tool", 1, "event", 2, 270, 17]
    heading, row = cli.run_ok("agent", "runs", "thinker").out.splitlines()
    assert heading.split()[:3] == ["RUN", "CYCLE", "STATUS"]
    assert row.endswith('"Asked the warehouse about order 7."')
    assert cli.run_ok("agent", "runs", "thinker", "--status", "failed").err == "'thinker' has no runs that are failed\n"
    assert cli("agent", "runs", "thinker", "--status", "x").code == 2

    mind = cli.run_ok("agent", "mind", "thinker", "--json").json
    assert [turn["kind"] for turn in mind["turns"]] == ["prompt", "reply", "result", "reply"]
    assert "of the adapter" not in str(mind)
    result = cli.run_ok("agent", "mind", "thinker")
    assert 'reply\n  I ask the warehouse\n  ship {"order": 7}\nship returned\n' in result.out
    assert result.err.startswith("4 turns, about ")


def test_replay(cli: CommandLine) -> None:
    waiting_run = create_finished_run(cli)
    replay = cli.run_ok("agent", "replay", waiting_run.run_id, "--model", "demo", "--json").json
    assert (replay["run"], replay["same"]) == (waiting_run.run_id, False)
    assert [step["kind"] for step in replay["original"]] == ["prompt", "reply", "result", "reply"]
    assert replay["replayed"]
    result = cli.run_ok("agent", "replay", waiting_run.run_id)
    heading, *rows, verdict = result.out.splitlines()
    assert heading.split() == ["THEN", "NOW"]
    assert rows[0].startswith("!  I ask the warehouse")
    assert verdict == "different"
    assert len(cli.run_ok("agent", "runs", "thinker", "--json").json) == 1
    assert cli("agent", "replay", "evt_1").code == 2
    assert cli("agent", "replay", "run_" + "0" * 32).code == 1
    assert "is not a model" in cli("agent", "replay", waiting_run.run_id, "--model", "nonsense").error


def test_a_guest_has_skills_and_stays_a_guest(cli: CommandLine, tmp_path: Path) -> None:
    agent = cli.run_ok("agent", "add", "router", "--skill", "routing", "--json").json
    assert (agent["skills"], agent["resident"]) == (["routing"], False)
    assert "skills  routing" in re.sub(" +", "  ", cli.run_ok("agent", "show", "router").out)
    emptied = cli.run_ok("agent", "set", "router", "--no-skill", "--json").json
    assert (emptied["skills"], emptied["resident"]) == ([], False)
    file = tmp_path / "router.json"
    file.write_text('{"skills": ["routing"]}')
    again = cli.run_ok("agent", "set", "router", "--config", str(file), "--json").json
    assert (again["skills"], again["resident"]) == (["routing"], False)
    assert cli("agent", "set", "router", "--skill", "juggling").error == "--skill: 'juggling' is not one of routing"


def test_a_template_makes_a_team_that_gets_what_people_write(empty_cli: CommandLine) -> None:
    made = empty_cli.run_ok("init", "--template", "viable-system", "--json").json
    names = [*(f"root-system{number}" for number in range(1, 6)), "user-agent"]
    assert [(step["where"], step["made"]) for step in made if step["what"] == "agent"] == [
        (name, True) for name in names
    ]
    again = empty_cli.run_ok("init", "--template", "viable-system", "--json").json
    assert not any(step["made"] for step in again)
    assert "nobody gets it" not in empty_cli.run_ok("chat", "hello").err
    assert empty_cli.run_ok("trigger", "add", "shop", "--json").json["owner"] == "team:root/system3"
    assert empty_cli("init", "--template", "odd").error == "--template: 'odd' is not one of viable-system"


def test_a_prompt_that_nobody_gets_names_the_template(empty_cli: CommandLine) -> None:
    empty_cli.run_ok("init")
    assert "gatepost init --template viable-system" in empty_cli.run_ok("chat", "hello").err
