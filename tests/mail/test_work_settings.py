"""The settings of work items: who gets their events, and whether they are added by themselves."""

from pathlib import Path

import pytest

from gatepost import settings
from gatepost.cli.home_commands import build_template
from gatepost.errors import Invalid
from gatepost.settings import Configuration


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def load(home: Path, toml: str = "", **environ: str) -> Configuration:
    (home / "gatepost.toml").write_text(toml)
    return settings.load({"GATEPOST_HOME": str(home), **environ})


def test_rules_of_work_events(home: Path) -> None:
    rules = (("task.blocked", ("mindy", "team:web"), 0), ("phase.*", ("engine", "@maker"), 2))
    table = '[work.notify]\n"task.blocked" = {to = ["mindy", "team:web"], priority = "critical"}\n'
    loaded_settings = load(home, table + '"phase.*" = {to = ["engine", "@maker"]}').settings
    assert loaded_settings.work.notify == loaded_settings.build_policy().work_notify == rules
    text = (
        '{"task.blocked" = {to = ["mindy", "team:web"], priority = 0}, '
        '"phase.*" = {to = ["engine", "@maker"], priority = 2}}'
    )
    loaded = load(home, GATEPOST_WORK__NOTIFY=text)
    assert loaded.settings.work.notify == rules
    assert str(loaded.values["work.notify"]) == text


def test_the_file_that_init_writes_has_the_rules_of_a_team(home: Path) -> None:
    lines = [line.removeprefix("#   ") for line in build_template().splitlines() if line.startswith("#   ")]
    example = "\n".join(lines[lines.index("[work.notify]") :])
    assert load(home, example).settings.work.notify == (
        ("task.blocked", ("mindy", "justin"), 0),
        ("task.complete", ("engine",), 2),
        ("phase.complete", ("engine", "mindy"), 1),
    )


def test_every_line_of_that_file_about_work_can_be_used_at_once(home: Path) -> None:
    lines = build_template().splitlines()
    section = lines[lines.index("[work]") + 1 : lines.index("[ledger]")]
    chosen = [line for line in section if line.startswith(("# auto_add = ", "#   "))]
    used = [line.removeprefix("#   ").removeprefix("# ").replace('"..."', "false") for line in chosen]
    used.remove("the rules of a team with the planner mindy, the person justin and the agent engine:")
    loaded = load(home, "\n".join(["[work]", *used])).settings.work
    assert (loaded.auto_add, len(loaded.notify)) == (False, 3)


@pytest.mark.parametrize(
    ("toml", "is_on"),
    [
        ("", True),
        ('ledger = "off"', True),
        ('ledger = "hedera:testnet"', False),
        ('ledger = "hedera:testnet"\n[work]\nauto_add = true', True),
        ("[work]\nauto_add = false", False),
    ],
)
def test_work_items_are_added_by_themselves_unless_a_topic_costs_money(home: Path, toml: str, is_on: bool) -> None:
    assert load(home, toml).settings.build_policy().work_auto_add is is_on


@pytest.mark.parametrize(
    "rule",
    [
        "'task' = {to = ['a']}",
        "'task.blocked' = {to = ['@owner']}",
        "'task.*.x' = {to = ['a']}",
        "'job.done' = {to = ['a']}",
        "'*.note' = {to = ['a']}",
        "'task.blocked' = ['a']",
        "'task.blocked' = {to = 'a'}",
        "'task.blocked' = {to = ['*']}",
        "'task.blocked' = {to = ['A b']}",
        "'task.blocked' = {to = ['a'], priority = 7}",
        "'task.blocked' = {to = ['a'], urgency = 1}",
        "'task.blocked' = {priority = 1}",
    ],
)
def test_a_wrong_rule_of_work_events_is_refused(home: Path, rule: str) -> None:
    with pytest.raises(Invalid, match=r"work\.notify in"):
        load(home, f"[work.notify]\n{rule}")
