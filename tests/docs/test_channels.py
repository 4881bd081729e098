"""The page about channels is true, and so is the example of a viable system."""

from pathlib import Path

from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block

PROJECT = Path(__file__).parents[2]


def test_what_it_shows_is_so(tmp_path: Path) -> None:
    run_block(Block("command", "gatepost init"), tmp_path)
    blocks = list(parse_blocks((PROJECT / "docs" / "channels.md").read_text(encoding="utf-8")))
    assert len(blocks) > 8
    for block in blocks:
        assert is_as_expected(output := run_block(block, tmp_path), block.expected), f"{block.text}\n{output}"


def test_the_viable_system_does_what_its_page_shows() -> None:
    [block] = parse_blocks((PROJECT / "examples" / "viable_system" / "README.md").read_text(encoding="utf-8"))
    assert is_as_expected(output := run_block(block, PROJECT), block.expected), output
