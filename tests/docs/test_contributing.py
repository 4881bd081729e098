"""What CONTRIBUTING and the page about the architecture name is there: rooms, files, layers, targets, verbs."""

import importlib
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from gatepost.core import ports

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gatepost"
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def read_contract(id: str) -> dict[str, Any]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [contract] = [contract for contract in contracts if contract["id"] == id]
    return dict(contract)


def list_places(title: str) -> list[str]:
    """Return the names in the second column of the table of a section."""
    rows = [line for line in TEXT.partition(title)[2].partition("\n## ")[0].splitlines() if line.startswith("| ")]
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[2]) if not name.startswith(".")]


def test_every_folder_and_file_is_there() -> None:
    paths = list_places("## Where a change belongs")
    assert len(paths) > 10
    assert [name for name in paths if not (SOURCE / name).exists()] == []


def test_every_folder_of_tests_is_a_room_or_is_listed() -> None:
    rooms = {folder.name for folder in SOURCE.iterdir() if folder.is_dir()}
    folders = {file.relative_to(ROOT / "tests").parts[0] for file in (ROOT / "tests").glob("*/**/*.py")}
    listed = list_places("## Where a test belongs")
    assert folders - rooms == set(listed) - rooms
    assert [name for name in listed if not (ROOT / "tests" / name).is_dir()] == []


def test_no_folder_of_tests_is_a_long_list() -> None:
    files = [file for ending in ("py", "txt", "json", "mjs") for file in (ROOT / "tests").rglob(f"*.{ending}")]
    sizes = Counter(file.parent for file in files if "node_modules" not in file.parts)
    assert [folder for folder, size in sizes.items() if size > 26] == []


def test_every_target_of_make_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", TEXT)) <= targets


def test_every_verb_is_there() -> None:
    """Also in the docstring that explains verbs."""
    verbs = re.findall(r"`(\w+\.\w+)\.(\w+)\(tx", TEXT) + re.findall(r"`(\w+\.\w+)\.(\w+)\(tx", ports.__doc__ or "")
    assert len(verbs) == 2
    for module, verb in verbs:
        assert callable(getattr(importlib.import_module(f"gatepost.{module}"), verb))


def test_the_architecture_names_files_that_are_there() -> None:
    named = re.findall(r"\b((?:\w+/)+\w+\.py)\b", ARCHITECTURE)
    assert len(named) > 30
    assert [name for name in named if not (SOURCE / name).exists() and not (ROOT / name).exists()] == []


def test_the_architecture_lists_the_rooms_in_the_order_that_is_checked() -> None:
    [picture] = re.findall(r"## Rooms.*?```\n(.*?)```", ARCHITECTURE, re.DOTALL)
    heads = [re.split(r"  +", line)[0].replace("/", "") for line in picture.splitlines()]
    checked = [re.findall(r"\w+", line) for line in read_contract("rooms")["rooms"]]
    assert [name for head in heads for name in head.split()] == [name for names in checked for name in names]


def test_the_architecture_lists_the_folders_in_each_room() -> None:
    """Below a room: not what runs in the background, statements, what is built, or what a checkout left empty."""
    [picture] = re.findall(r"## Rooms.*?```\n(.*?)```", ARCHITECTURE, re.DOTALL)
    shown = {
        (head.strip("/"), folder)
        for head, text in (re.split(r"  +", line, maxsplit=1) for line in picture.splitlines())
        for folder in re.findall(r"(\w+)/", text)
    }
    folders = {
        (path.parent.name, path.name)
        for path in SOURCE.glob("*/*")
        if path.name not in ("background", "conformance") and any((*path.glob("*.py"), *path.glob("*/*.sql")))
    }
    assert shown == folders
