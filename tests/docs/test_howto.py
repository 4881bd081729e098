"""The how-tos are true: what they show is done, in their order, in a home of its own, and comes out as they say."""

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block

FOLDER = Path(__file__).parents[2] / "docs" / "howto"
#: those that show what a command prints; others show only what runs for as long as one likes
PAGES = [
    page
    for page in (*sorted(FOLDER.glob("*.md")), FOLDER.parent / "mcp.md")
    if "```console" in page.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_it_shows_is_so(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user, here = tmp_path / "user", tmp_path / "here"
    user.mkdir()
    here.mkdir()
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    run_block(Block("command", "gatepost init"), here)
    page_blocks = list(parse_blocks(page.read_text(encoding="utf-8")))
    assert page_blocks
    for block in page_blocks:
        assert is_as_expected(output := run_block(block, here), block.expected), f"{block.text}\n{output}"


@pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3")
def test_what_is_left_of_a_store_is_rescued_whichever_sqlite3_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first way, where it can be gone, or else exports nothing; and the second, after the first."""
    monkeypatch.setenv("HOME", str(tmp_path))
    text = (FOLDER / "damaged-store.md").read_text(encoding="utf-8")
    scripts = [textwrap.dedent(script) for script in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]
    recover, dump = (script for script in scripts if "rescued.db" in script)
    run_block(
        Block("command", "gatepost init && gatepost agent add ann && gatepost inbox push --to ann 'kept me'"), tmp_path
    )
    [store] = tmp_path.rglob("gatepost.db")
    saved = store.with_name("saved.jsonl")
    run_block(Block("command", recover), store.parent)
    assert not saved.exists() or "kept me" in saved.read_text(encoding="utf-8")
    for _ in range(2):
        saved.write_text("what another try has left", encoding="utf-8")
        run_block(Block("command", dump), store.parent)
        assert "kept me" in saved.read_text(encoding="utf-8")
