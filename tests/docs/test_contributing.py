"""What CONTRIBUTING names is there: folders, files, targets of make, and the verbs of its examples."""

import importlib
import re
from pathlib import Path

from gatepost import ports

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "gatepost"
TEXT = (ROOT / "CONTRIBUTING.md").read_text()


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
