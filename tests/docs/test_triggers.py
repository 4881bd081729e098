"""The page about triggers is true: its commands print what it says, and its lists are complete."""

import re
from pathlib import Path

from gatepost import app, settings
from gatepost.channels.triggers import actions as triggers, gatepost_toml_actions as file_triggers
from gatepost.channels.triggers.trigger import BUILT_IN_PROVIDERS
from gatepost.channels.wording.github import CASES, EVENTS
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.executor import load_operations
from gatepost.mail.work_item import CLOSING_EVENTS
from gatepost.residents.tools import list_tools
from gatepost.settings.trigger_tables import TriggerTable
from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "triggers.md").read_text(encoding="utf-8")
[TEMPLATES] = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_it_shows_is_so(tmp_path: Path) -> None:
    run_block(Block("command", "gatepost init"), tmp_path)
    (tmp_path / "templates.json").write_text(TEMPLATES, encoding="utf-8")
    blocks = list(parse_blocks(PAGE))
    assert len(blocks) > 10
    for block in blocks:
        assert is_as_expected(output := run_block(block, tmp_path), block.expected), f"{block.text}\n{output}"


def test_the_file_that_it_shows_makes_its_triggers(tmp_path: Path) -> None:
    [text] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "gatepost.toml").write_text(text, encoding="utf-8")
    cron = '"0 9 * * 1-5" --zone Europe/Berlin --to analyst --prompt "Write the report"'
    assert cron in PAGE
    configuration = settings.load({"GATEPOST_HOME": str(tmp_path)})
    with app.prepare_store(configuration) as store:
        store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT, team="web"))
        environ = {"ISSUES_SECRET": "a-secret-of-16-characters"}
        for trigger, secret in app.build_file_triggers(configuration, environ):
            assert store.run_sync(file_triggers.apply, trigger, secret)
        rows = {row.name: row for row in store.read_sync(triggers.list_page)}
    assert {name: row.active for name, row in rows.items()} == {
        "report": True,
        "heartbeat": True,
        "issues": True,
        "desk": False,
    }


def test_it_has_every_field_of_the_file() -> None:
    part = PAGE.partition("## Triggers in gatepost.toml")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+`) \| .+ \|$", part, re.MULTILINE)
    fields = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert fields == set(TriggerTable.__struct_fields__)


def test_it_has_every_event_that_closes_a_work_item_in_sight() -> None:
    assert {*re.findall(r"an event such as `(\w+)`, `(\w+)` or `(\w+)`", PAGE)[0]} <= {*CLOSING_EVENTS}


def test_it_has_every_built_in_provider() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| .+ \|$", PAGE.partition("## ")[0], re.MULTILINE)) == {*BUILT_IN_PROVIDERS}


def test_it_has_every_tool_of_the_skill_and_every_route() -> None:
    part = PAGE.partition("## Agents that route")[2]
    for tool in list_tools(["routing"]).keys() - list_tools(()).keys():
        assert f"`{tool}`" in part
    paths = {operation.path for operation in load_operations() if operation.tag in ("triggers", "routes")}
    for path in paths - {"/hooks/{trigger}"}:
        written_path = path.replace("{name}", "NAME").replace("{id}", "ID")
        assert written_path.removesuffix("/NAME").replace("/routes/ID", "/routes") in part


def test_the_events_of_github_with_words_of_their_own_are_listed() -> None:
    [text] = re.findall(r"Of GitHub these events have words of their own:(.*?)Of its other events", PAGE, re.DOTALL)
    assert sorted(re.findall(r"`(\w+)`", text)) == sorted(EVENTS)
    assert CASES.keys() <= EVENTS.keys()
    assert len(EVENTS) == 15
