"""The build of the page: when it is done again, what a person reads if it cannot be done, and what it is made from."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tools import node, page

ROOT: Final = Path(__file__).parents[2]
LOCKS: Final = ("web", "clients/typescript", "tests/page", "tests/programs", "tests/programs/ledger")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of a page, and the page as it was built from them."""
    for name in ("web/src/main.tsx", "web/src/old.ts", "client/index.ts", "page/index.html"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    for constant, path in {"ROOT": ".", "WEB": "web", "CLIENT": "client", "PAGE": "page"}.items():
        monkeypatch.setattr(page, constant, tmp_path / path)
    monkeypatch.setattr(page, "DIGEST", tmp_path / "page/sources.sha256")
    page.DIGEST.write_text(f"{page.compute_digest()}\n")
    return tmp_path


def test_it_is_built_once(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "web/node_modules").mkdir()
    (project / "web/node_modules/package.js").touch()
    os.utime(project / "web/src/main.tsx", (0, 0))
    assert page.main([]) == 0
    assert capsys.readouterr().err == ""


def change_content(project: Path) -> None:
    (project / "client/index.ts").write_text("changed")


def delete_source(project: Path) -> None:
    (project / "web/src/old.ts").unlink()


def rename_source(project: Path) -> None:
    (project / "web/src/old.ts").rename(project / "web/src/new.ts")


def delete_page(project: Path) -> None:
    (project / "page/index.html").unlink()


@pytest.mark.parametrize("change", [change_content, delete_source, rename_source, delete_page])
def test_it_is_built_again_after_a_change(project: Path, change: Callable[[Path], None]) -> None:
    assert page.is_built()
    change(project)
    assert not page.is_built()


def test_a_build_that_fails_leaves_the_page_as_it_was(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = iter(["half", "new"])

    def run_node(_node: Path, program: Path, *arguments: Path | str, folder: Path) -> None:
        if program.name == "vite.js":
            output = Path(arguments[-1])
            output.mkdir(parents=True)
            content = next(contents)
            (output / "index.html").write_text(content)
            if content == "half":
                raise node.BuildError("vite.js failed")

    monkeypatch.setattr(page, "ensure_packages", lambda _folder, _node: None)
    monkeypatch.setattr(page, "run_node", run_node)
    change_content(project)
    with pytest.raises(node.BuildError):
        page.build(Path("node"))
    assert (project / "page/index.html").read_text() == "page/index.html"
    assert not page.is_built()
    page.build(Path("node"))
    assert (project / "page/index.html").read_text() == "new"
    assert page.is_built()
    assert not list((project / "build").iterdir())


@pytest.mark.usefixtures("project")
def test_without_npm_it_says_so_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a Node.js whose npm reaches no registry."""
    program = tmp_path / "bin" / "node"
    program.parent.mkdir()
    errors = "npm error code ENOTFOUND\nnpm error network request to https://npm.example/vite failed\nnpm error A log"
    program.write_text(f"#!/bin/sh\n[ $1 = --version ] && echo v22.1.0 && exit\necho '{errors}' >&2\nexit 1\n")
    program.chmod(0o755)
    program.with_name("npm").symlink_to(program)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.defpath}")
    node.find_node.cache_clear()
    (tmp_path / "web/package-lock.json").touch()
    page.DIGEST.unlink()
    assert page.main(["--present-node"]) == 1
    node.find_node.cache_clear()
    assert capsys.readouterr().err.splitlines() == [
        "building the page ...",
        "the page was not built: npm could not install the packages of web"
        " (network request to https://npm.example/vite failed)",
    ]


@pytest.mark.parametrize("folder", LOCKS)
def test_a_lock_names_no_registry_and_has_a_hash_for_every_package(folder: str) -> None:
    lock = json.loads((ROOT / folder / "package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name and not package.get("link")}
    assert len(packages) > 2
    assert [name for name, package in packages.items() if "resolved" in package] == []
    assert [
        name for name, package in packages.items() if "integrity" not in package and "inBundle" not in package
    ] == []
