"""What is shipped: a wheel and a source distribution contain the page, and whoever installs them needs no Node.js."""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx2
import pytest

from gatepost.gateway.page_files import PAGE_FOLDER
from tests.support.waits import LAST_RESORT
from tools import page

ROOT: Final = Path(__file__).parents[2]


def build(source: Path, folder: Path, *targets: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Build distributions of what is in `source`, as pip does."""
    options = [option for target in targets for option in ("-t", target)]
    return subprocess.run(
        [sys.executable, "-m", "hatchling", "build", *options, "-d", str(folder)],
        cwd=source,
        env=os.environ | environ,
        capture_output=True,
        text=True,
        timeout=LAST_RESORT,
        check=False,
    )


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and a source distribution of this project."""
    if not page.is_built():
        pytest.skip("NOT CHECKED: the page is not built from its present sources; `make test` builds it")
    folder = tmp_path_factory.mktemp("distributions")
    result = build(ROOT, folder, "sdist", "wheel")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="module")
def wheel_names(distributions: Path) -> list[str]:
    [wheel] = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


@pytest.fixture(scope="module")
def source(distributions: Path) -> Path:
    """The source distribution, unpacked."""
    [sdist] = distributions.glob("*.tar.gz")
    (distributions / "source").mkdir()
    subprocess.run(["tar", "-xf", sdist, "-C", distributions / "source"], check=True)
    [folder] = (distributions / "source").iterdir()
    return folder


@pytest.fixture
def no_node(tmp_path: Path) -> Mapping[str, str]:
    """The variables of a machine without Node.js. What came from PyPI is in the clone, and not in a distribution."""
    return {"PATH": str(tmp_path)}


def list_files(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_the_wheel_contains_the_page_and_the_licences_of_its_packages(wheel_names: list[str]) -> None:
    files = [f"gatepost/page/{name}" for name in list_files(PAGE_FOLDER)]
    assert len(files) > 30
    assert set(files) <= set(wheel_names)
    licenses = (PAGE_FOLDER / "licenses.txt").read_text()
    for name in ("preact", "@preact/signals", "dompurify", "marked"):
        assert f"\n{name} " in f"\n{licenses}"
    assert licenses.count("Permission is hereby granted") > 3


def test_the_wheel_contains_nothing_of_what_the_page_is_built_from(wheel_names: list[str]) -> None:
    assert not [name for name in wheel_names if name.endswith((".ts", ".tsx")) or "node_modules" in name]


def test_the_source_distribution_contains_the_page_and_what_it_is_built_from(source: Path) -> None:
    files = set(list_files(source))
    assert {f"src/gatepost/page/{name}" for name in list_files(PAGE_FOLDER)} <= files
    assert {path.relative_to(ROOT).as_posix() for path in page.list_sources()} <= files
    assert {"tools/page.py", "tools/page_hook.py", "tools/up.py", "requirements/run.txt", "Makefile"} <= files
    assert not [name for name in files if "node_modules" in name or name.startswith(".node")]


def test_the_plugin_for_claude_code_is_shipped(wheel_names: list[str], source: Path) -> None:
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "plugins").rglob("*") if path.is_file()]
    assert len(files) == 7
    for file in files:
        assert any(name.endswith(f".data/data/share/gatepost/{file}") for name in wheel_names)
        assert (source / file).is_file()


def test_a_wheel_from_the_source_distribution_needs_no_node(
    source: Path, wheel_names: list[str], no_node: Mapping[str, str], tmp_path: Path
) -> None:
    result = build(source, tmp_path, "wheel", **no_node)
    assert result.returncode == 0, result.stderr
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert sorted(archive.namelist()) == sorted(wheel_names)


def test_without_the_page_and_node_only_an_editable_install_is_built(
    source: Path, no_node: Mapping[str, str], tmp_path: Path
) -> None:
    with without_page(source, tmp_path):
        refusal = build(source, tmp_path, "wheel", **no_node)
        assert refusal.returncode == 1
        assert "the page was not built: there is no Node.js 20.19 or newer" in refusal.stderr
        assert "run `make page`" in refusal.stderr + refusal.stdout
        assert not list(tmp_path.glob("*.whl"))
        editable = build(source, tmp_path, "wheel:editable", **no_node)
        assert editable.returncode == 0, editable.stderr
        assert list(tmp_path.glob("*.whl"))


@contextmanager
def without_page(source: Path, folder: Path) -> Iterator[None]:
    shutil.move(source / "src/gatepost/page", folder / "page")
    try:
        yield
    finally:
        shutil.move(folder / "page", source / "src/gatepost/page")


def test_an_installed_wheel_serves_the_page(distributions: Path, tmp_path: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    packages, home = tmp_path / "packages", tmp_path / "home"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", packages, wheel], check=True, capture_output=True, timeout=LAST_RESORT)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GATEPOST_")}
    gateway = subprocess.Popen(
        [sys.executable, "-m", "gatepost.cli.main", "up", "--no-open", "--port", "0"],
        cwd=tmp_path,
        env=environ | {"PYTHONPATH": str(packages), "GATEPOST_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with gateway:
        try:
            assert gateway.stdout is not None
            url = gateway.stdout.readline().strip()
            response = httpx2.get(f"{url}/", timeout=LAST_RESORT)
            assert (response.status_code, response.content) == (200, (PAGE_FOLDER / "index.html").read_bytes())
            assert (
                httpx2.get(f"{url}/licenses.txt", timeout=LAST_RESORT).text
                == (PAGE_FOLDER / "licenses.txt").read_text()
            )
        finally:
            gateway.terminate()
