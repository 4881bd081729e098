"""The first view is small: the JavaScript that a browser loads until the home view is there."""

import re
from pathlib import Path
from typing import Final

import pytest

from gatepost.gateway.page_files import PAGE_FOLDER

ASSETS: Final = PAGE_FOLDER / "assets"
#: bytes, compressed by gzip
LIMIT: Final = 60_000
#: with what it may load later
ALL_LIMIT: Final = 80_000

#: as Vite writes them: `import{a}from"./x.js"`, `import"./x.js"`, and `import("./x.js")` for what is loaded later
STATIC_IMPORT: Final = re.compile(r'(?:from|import)\s*["`]\./([\w.-]+\.js)["`]')
DYNAMIC_IMPORT: Final = re.compile(r'import\(\s*["`]\./([\w.-]+\.js)["`]')


@pytest.fixture(scope="module")
def entry() -> str:
    """The module that index.html names."""
    index = PAGE_FOLDER / "index.html"
    if not index.exists():
        pytest.skip("NOT CHECKED: the page is not built; `make test` builds it")
    [name] = re.findall(r'<script type="module"[^>]* src="/assets/([\w.-]+\.js)"', index.read_text())
    return str(name)


def find_modules(*names: str, imports: re.Pattern[str] = STATIC_IMPORT) -> set[str]:
    """Return these modules and all that they import, directly or not."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += imports.findall((ASSETS / name).read_text())
    return found


def measure(modules: set[str]) -> int:
    return sum(Path(ASSETS / f"{name}.gz").stat().st_size for name in modules)


def find_home_view(entry: str) -> str:
    names: list[str] = DYNAMIC_IMPORT.findall((ASSETS / entry).read_text())
    [home] = {name for name in names if name.startswith("home-")}
    return home


def test_the_first_view_is_small(entry: str) -> None:
    size = measure(find_modules(entry, find_home_view(entry)))
    assert 5_000 < size < LIMIT, f"{size:,} bytes"


def test_what_the_first_view_may_load_later_is_small_as_well(entry: str) -> None:
    """Such as the module for Markdown, when there is a text to show."""
    first = find_modules(entry, find_home_view(entry))
    later = [name for module in first - {entry} for name in DYNAMIC_IMPORT.findall((ASSETS / module).read_text())]
    size = measure(find_modules(*first, *later))
    assert size < ALL_LIMIT, f"{size:,} bytes"


def test_every_other_view_is_loaded_when_it_is_shown(entry: str) -> None:
    views = set(DYNAMIC_IMPORT.findall((ASSETS / entry).read_text()))
    assert len(views) > 5
    assert not find_modules(entry) & views
