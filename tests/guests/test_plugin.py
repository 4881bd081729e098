"""The plugin for Claude Code: its hooks, its MCP server and its commands are those of this release."""

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from gatepost.guests.host_settings import hook_entries, mcp_entries
from tools import reference

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "claude-code"
SLASH_COMMANDS = sorted((PLUGIN / "commands").glob("*.md"))
COMMANDS = dict(reference.list_commands())


def read_json(*names: str) -> Any:
    return json.loads(PLUGIN.joinpath(*names).read_text())


def split_page(page: Path) -> tuple[dict[str, str], str]:
    """Return the fields at the head of a slash command, and the text after them."""
    _, head, text = page.read_text().split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    return {name: value.strip('"') for name, value in fields.items()}, text


def test_the_hooks_and_the_server_are_those_that_would_be_installed() -> None:
    entries = hook_entries.build_entries("claude", "gatepost")
    assert read_json("hooks", "hooks.json")["hooks"] == {event: [group] for event, group in entries.items()}
    assert read_json(".mcp.json") == {"mcpServers": mcp_entries.build_entries("claude", "gatepost")}


def test_it_says_of_itself_what_the_package_says() -> None:
    manifest = read_json(".claude-plugin", "plugin.json")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert {name: manifest[name] for name in ("name", "version", "description", "license")} == {
        name: project["project"][name] for name in ("name", "version", "description", "license")
    }
    [marketplace_entry] = json.loads((ROOT / "plugins" / ".claude-plugin" / "marketplace.json").read_text())["plugins"]
    assert (ROOT / "plugins" / marketplace_entry["source"]).samefile(PLUGIN)
    assert marketplace_entry["description"] == manifest["description"]


def test_it_has_the_two_slash_commands_and_its_page_explains_them() -> None:
    assert [page.stem for page in SLASH_COMMANDS] == ["ask", "inbox"]
    page = (PLUGIN / "README.md").read_text()
    assert all(f"`/gatepost:{command.stem}`" in page for command in SLASH_COMMANDS)


@pytest.mark.parametrize("page", SLASH_COMMANDS, ids=lambda page: page.stem)
def test_a_slash_command_runs_commands_that_there_are_and_that_it_may_run(page: Path) -> None:
    fields, text = split_page(page)
    assert fields.keys() == {"description", "argument-hint", "allowed-tools"}
    assert "$ARGUMENTS" in text
    allowed = re.findall(r"Bash\((gatepost \w+ \w+):\*\)", fields["allowed-tools"])
    assert len(allowed) == len(fields["allowed-tools"].split(", "))
    lines = [*re.findall(r"`(gatepost .*?)`", text), *re.findall(r"^    (gatepost .*)$", text, re.MULTILINE)]
    used = []
    for noun, verb, *arguments in (shlex.split(line)[1:] for line in lines):
        path = f"gatepost {noun} {verb}"
        used.append(path)
        options = {name for parameter in COMMANDS[path].params for name in parameter.opts}
        assert {word for word in arguments if word.startswith("-")} <= options
    assert sorted(set(used)) == sorted(allowed)
