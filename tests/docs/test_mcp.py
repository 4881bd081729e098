"""The page about MCP lists every tool, resource and prompt, in the words that models and hosts get."""

import re
from pathlib import Path

from gatepost.mcp.resources import KINDS
from gatepost.mcp.server import PROMPTS
from gatepost.operations.operation_tool import load_tools

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text(encoding="utf-8")


def read_table(heading: str) -> dict[str, str]:
    """The rows of the first table under a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(.+?)` \| (.+) \|$", section, re.MULTILINE))


def test_every_tool_is_listed() -> None:
    assert read_table("Tools") == {tool.name: tool.description for tool in load_tools().values()}


def test_every_resource_is_listed() -> None:
    assert read_table("Resources") == {kind.template: kind.description for kind in KINDS}


def test_every_prompt_is_listed() -> None:
    assert read_table("Prompts") == {name: prompt.description for name, prompt in PROMPTS.items()}
