"""The how-tos are true: what they show is done, in their order, in a home of its own, and comes out as they say."""

from pathlib import Path

import pytest

from tests.docs.test_readme import Block, agrees, blocks, ran

FOLDER = Path(__file__).parents[2] / "docs" / "howto"
#: those that show what a command prints; others show only what runs for as long as one likes
PAGES = [page for page in sorted(FOLDER.glob("*.md")) if "```console" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_it_shows_is_so(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user, here = tmp_path / "user", tmp_path / "here"
    user.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    ran(Block("command", "gatepost init"), here)
    found = list(blocks(page.read_text(encoding="utf-8")))
    assert found
    for block in found:
        assert agrees(output := ran(block, here), block.expected), f"{block.text}\n{output}"
