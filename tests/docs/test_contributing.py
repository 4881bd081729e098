"""What CONTRIBUTING and the page about the architecture name is there: folders, files, layers, targets, verbs."""

import importlib
import re
import tomllib
from pathlib import Path

from gatepost import ports

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gatepost"
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()


def test_every_folder_and_file_is_there() -> None:
    rows = [line for line in TEXT.partition("## Where a change belongs")[2].splitlines() if line.startswith("| ")]
    paths = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[2]) if not name.startswith(".")]
    assert len(paths) > 10
    assert [name for name in paths if not (SOURCE / name).exists()] == []


def test_every_target_of_make_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", TEXT)) <= targets


def test_every_verb_is_there() -> None:
    """Also in the docstring that explains verbs."""
    verbs = re.findall(r"`(\w+)\.(\w+)\(tx", TEXT) + re.findall(r"`(\w+)\.(\w+)\(tx", ports.__doc__ or "")
    assert len(verbs) == 2
    for module, verb in verbs:
        assert callable(getattr(importlib.import_module(f"gatepost.actions.{module}"), verb))


def test_the_architecture_names_files_that_are_there() -> None:
    named = re.findall(r"\b((?:core|tables|actions|runtime|hooks|adapters|gateway)/[\w/]+\.py)", ARCHITECTURE)
    named += re.findall(r"`(\w+\.py)`", ARCHITECTURE)
    assert len(named) > 20
    files = {path.name for path in SOURCE.rglob("*.py")}
    assert [name for name in named if not (SOURCE / name).exists() and name not in files] == []


def test_the_architecture_shows_the_layers_that_are_checked() -> None:
    """The import contract is exhaustive; what it allows and is not built yet is left out of the page."""
    [contract] = [
        contract
        for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if contract["id"] == "layers"
    ]
    built = {path.stem for path in SOURCE.iterdir()}
    checked = [sorted(name for name in re.findall(r"\w+", layer) if name in built) for layer in contract["layers"]]
    [picture] = re.findall(r"## Layers.*?```\n(.*?)```", ARCHITECTURE, re.DOTALL)
    shown = [sorted(re.findall(r"\w+", re.split(r"  +", line)[0])) for line in picture.splitlines()]
    assert shown == checked
