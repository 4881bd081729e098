"""The page about triggers is true: its commands print what it says, and its lists are complete."""

import re
from pathlib import Path

from gatepost.actions.tools import list_tools
from gatepost.core.trigger import BUILT_IN_PROVIDERS
from gatepost.handlers.executor import load_operations
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
