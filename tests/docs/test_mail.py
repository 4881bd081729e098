"""The page about mail is true: its commands print what it says, with the settings that it shows from there on."""

import re
import tomllib
from pathlib import Path

from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "mail.md").read_text(encoding="utf-8")
[RULES] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def mask_ages(text: str) -> str:
    """The text without the ages in tables: they depend on how long the commands take."""
    return re.sub(r' \d+[sm] +(?=[\["])', " AGE ", text)


def run_blocks(text: str, folder: Path, *, least: int) -> None:
    blocks = list(parse_blocks(text))
    assert len(blocks) >= least
    for block in blocks:
        output = run_block(block, folder)
        assert is_as_expected(mask_ages(output), mask_ages(block.expected)), f"{block.text}\n{output}"


def test_what_it_shows_is_so(tmp_path: Path) -> None:
    run_block(Block("command", "gatepost init"), tmp_path)
    before, _, after = PAGE.partition(RULES)
    run_blocks(before, tmp_path, least=10)
    with (tmp_path / ".gatepost" / "gatepost.toml").open("a", encoding="utf-8") as file:
        file.write(f"\n{RULES}")
    run_blocks(after.partition("```\n")[2], tmp_path, least=2)
    assert "ok     notify" in run_block(Block("command", "gatepost doctor"), tmp_path)


def test_its_table_has_the_rules_of_its_settings() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (.+) \| (\d), \w+ \|$", PAGE, re.MULTILINE)
    table = {event: {"to": re.findall(r"`(\w+)`", names), "priority": int(number)} for event, names, number in rows}
    assert table == tomllib.loads(RULES)["work"]["notify"]
