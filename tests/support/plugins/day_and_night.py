"""
A pytest plugin that decides which tests run by day (`make test`) and which only by night (`make nightly`).

What is proved twice is proved once by day:

- `@pytest.mark.nightly`: the test runs by night only.
- `POSTGRES_BY_NIGHT = True` in a module: what it does on both databases it does on SQLite alone by day.
- `@pytest.mark.nightly_unless_changed("web/src", ...)`: the test is about these files and folders of the project. It
  runs by night, and by day if one of them has changed since it last ran here, or if it failed then. A clone in which it
  never ran does not know what has changed, and leaves it to the night.

The record of such runs is `build/passed.json`: for each test the digest of its files when it passed.
"""

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Final

import pytest

#: where the record is, from the root of the project
RECORD: Final = Path("build", "passed.json")
#: the name of the property of a report that has the digest of what the test is about
PROPERTY: Final = "digest"
#: folders that are made from the sources beside them
_BUILT_FOLDERS: Final = {"node_modules", "__pycache__"}


@cache
def compute_digest(root: Path, *sources: str) -> str:
    """Return a digest of the names and the content of files below a root, and of the files in folders."""
    digest = hashlib.sha256()
    for source in sources:
        path = root / source
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in files:
            name = file.relative_to(root)
            if not _BUILT_FOLDERS.intersection(name.parts):
                content = file.read_bytes()
                digest.update(f"{name.as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def read_record(record: Path) -> dict[str, str]:
    """Return for each test the digest of its files when it last passed, or an empty text if it failed."""
    try:
        digests: dict[str, str] = json.loads(record.read_text())
    except (OSError, ValueError):
        return {}
    return digests


class PassRecorder:
    """Records the digest of what a test is about, when it has passed."""

    def __init__(self, record: Path) -> None:
        self._record = record
        self._digests: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if PROPERTY in properties and report.failed:
            self._digests[report.nodeid] = ""
        elif PROPERTY in properties and report.passed:
            self._digests.setdefault(report.nodeid, str(properties[PROPERTY]))

    def pytest_sessionfinish(self) -> None:
        if self._digests:
            self._record.parent.mkdir(exist_ok=True)
            digests = read_record(self._record) | self._digests
            self._record.write_text(json.dumps(digests, indent=0, sort_keys=True) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(PassRecorder(config.rootpath / RECORD), "pass-recorder")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as nightly what a module or a test leaves to the night; pytest is told to leave out what is marked so."""
    record = read_record(config.rootpath / RECORD)
    for item in items:
        mark = item.get_closest_marker("nightly_unless_changed")
        if mark is not None:
            digest = compute_digest(config.rootpath, *mark.args)
            item.user_properties.append((PROPERTY, digest))
            if record.get(item.nodeid, digest) == digest:
                item.add_marker(pytest.mark.nightly)
        is_both = isinstance(item, pytest.Function) and getattr(item.module, "POSTGRES_BY_NIGHT", False)
        if is_both and "postgres" in item.name.partition("[")[2].strip("]").split("-"):
            item.add_marker(pytest.mark.nightly)
