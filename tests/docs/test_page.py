"""The page about the page is true: it has every view and its keys, and shows every screenshot that is kept for it."""

import re
from pathlib import Path
from typing import Final

from tools import screenshots

ROOT: Final = Path(__file__).parents[2]
DOC: Final = ROOT / "docs" / "page.md"
TEXT: Final = DOC.read_text(encoding="utf-8")
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")


def test_it_lists_every_view_with_its_keys() -> None:
    views = re.findall(r'\{ name: "([\w-]*)",([^}]*)', (ROOT / "web/src/views.ts").read_text(encoding="utf-8"))
    assert len(views) > 10
    keys = {name: match[1] for name, rest in views if (match := re.search(r'keys: "([^"]+)"', rest))}
    rows = re.findall(r"^\| `/([\w-]*)` \| (?:`([^`]*)`)? *\|", TEXT, re.MULTILINE)
    assert sorted(rows) == sorted((name, keys.get(name, "")) for name, _ in views)


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", TEXT) + re.findall(r'src="([^"]+)"', TEXT)
    assert len(links) > 8
    assert [link for link in links if not (DOC.parent / link).exists()] == []


def test_the_screenshots_are_those_that_are_shown_and_small() -> None:
    shown = set(re.findall(r"screenshots/([\w-]+)\.webp", TEXT + README))
    files = {path.stem: path.stat().st_size for path in (ROOT / "docs/screenshots").iterdir()}
    assert shown == files.keys() == set(screenshots.SHOWN)
    assert max(files.values()) <= screenshots.MAX_SIZE


def test_every_view_has_a_screenshot() -> None:
    """In build/screenshots, so that each can be looked at."""
    views = set(re.findall(r"^\| `/([\w-]*)` \|", TEXT, re.MULTILINE))
    source = (ROOT / "tools/screenshots.py").read_text(encoding="utf-8")
    addresses = {address.strip("/").split("/")[0] for address in re.findall(r'"[\w-]+": f?"(/[^"?{]*)', source)}
    assert views == addresses
