"""The page about the ledger is true: with the setting that it shows, its commands print what it says."""

import re
from pathlib import Path

from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text(encoding="utf-8")
[SETTING] = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_what_it_shows_is_so(tmp_path: Path) -> None:
    run_block(Block("command", "gatepost init"), tmp_path)
    file = tmp_path / ".gatepost" / "gatepost.toml"
    file.write_text(SETTING + file.read_text(encoding="utf-8"), encoding="utf-8")
    blocks = list(parse_blocks(PAGE))
    assert len(blocks) > 5
    for block in blocks:
        output = run_block(block, tmp_path)
        assert is_as_expected(output, block.expected), f"{block.text}\n{output}"
