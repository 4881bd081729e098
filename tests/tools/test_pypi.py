"""Packages are installed with uv, which is told what pip is configured for, and with pip if uv cannot do it."""

import os
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tools import pypi


class Index:
    """A folder of packages, which pip is configured for, and locks of what is in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, name: str, path: str, content: str) -> Path:
        """Add a package that has one file, which can be executed, and return a lock that names it."""
        wheel = self.folder / f"{name}-1.0-py3-none-any.whl"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(wheel, "w") as archive:
            entry = zipfile.ZipInfo(path)
            entry.external_attr = 0o100755 << 16
            archive.writestr(entry, content)
            archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", f"{path},,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
        lock = self.folder.parent / "requirements" / f"{name}.txt"
        lock.write_text(f"{name}==1.0 --hash=sha256:{sha256(wheel.read_bytes()).hexdigest()}\n")
        return lock

    def add_uv(self, script: str) -> None:
        self.add("uv", "uv-1.0.data/scripts/uv", f"#!/bin/sh\n{script}\n")


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(variable)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Index:
    for folder in ("packages", "requirements"):
        (tmp_path / folder).mkdir()
    (tmp_path / "requirements/uv.txt").write_text("uv==1.0 --hash=sha256:" + 64 * "0")
    (tmp_path / "pip.conf").write_text(f"[global]\nno-index = true\n[install]\nfind-links = {tmp_path}/packages\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setattr(pypi, "ROOT", tmp_path)
    return Index(tmp_path / "packages")


def install(lock: Path, target: Path) -> list[str]:
    """Install what a lock names into a folder, and return what is reported meanwhile."""
    reports: list[str] = []
    with pypi.open_installer(reports.append) as installer:
        installer.install_lock(lock, "--target", str(target), python=Path(sys.executable))
    return reports


def test_uv_does_it_with_the_index_of_pip(index: Index, tmp_path: Path) -> None:
    index.add_uv(f'echo "$UV_NO_INDEX $UV_FIND_LINKS $*" > {tmp_path}/calls')
    lock = index.add("greeting", "greeting.py", "")
    assert install(lock, tmp_path / "target") == []
    command = f"pip install --python {sys.executable} --require-hashes --requirement {lock} --target {tmp_path}/target"
    assert (tmp_path / "calls").read_text() == f"true {index.folder} {command}\n"
    assert not list((tmp_path / "build").iterdir())


def test_what_a_killed_installer_has_left_is_removed(index: Index, tmp_path: Path) -> None:
    (tmp_path / "build/installer-killed/uv").mkdir(parents=True)
    index.add_uv("exit 0")
    install(index.add("greeting", "greeting.py", ""), tmp_path / "target")
    assert not list((tmp_path / "build").iterdir())


def test_if_uv_fails_pip_does_it(index: Index, tmp_path: Path) -> None:
    index.add_uv("echo 'warning: slow disk' >&2; echo 'error: this platform has no wheel' >&2; exit 2")
    lock = index.add("greeting", "greeting.py", "")
    assert install(lock, tmp_path / "target") == ["uv failed (this platform has no wheel), so pip does it"]
    assert (tmp_path / "target/greeting.py").exists()


def test_if_uv_cannot_be_executed_pip_does_it_from_then_on(tmp_path: Path) -> None:
    (tmp_path / "uv").touch()
    (tmp_path / "pip").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n')
    (tmp_path / "pip").chmod(0o755)
    reports: list[str] = []
    installer = pypi.Installer([str(tmp_path / "pip")], tmp_path / "uv", reports.append)
    for name in ("one", "two"):
        installer.install(name, python=Path("python"))
    assert reports == [f"uv failed ([Errno 13] Permission denied: '{tmp_path}/uv'), so pip does it"]
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0] == "config list"
    assert [call.split()[-1] for call in calls[1:]] == ["one", "two"]
    assert all(call.startswith("--python python install ") for call in calls[1:])


def test_if_the_index_has_no_uv_pip_does_it_and_a_failure_has_its_reason(index: Index, tmp_path: Path) -> None:
    lock = index.add("greeting", "greeting.py", "")
    reports: list[str] = []
    with pypi.open_installer(reports.append) as installer:
        [report] = reports
        assert report.startswith("uv could not be installed (Could not find a version that satisfies the requirement")
        installer.install_lock(lock, "--target", str(tmp_path / "target"), python=Path(sys.executable))
        assert (tmp_path / "target/greeting.py").exists()
        (index.folder / "greeting-1.0-py3-none-any.whl").write_bytes(b"something else")
        with pytest.raises(pypi.InstallError, match="THESE PACKAGES DO NOT MATCH THE HASHES"):
            installer.install_lock(lock, "--target", str(tmp_path / "other"), python=Path(sys.executable))
    assert reports == [report]


def test_the_files_and_the_environment_configure_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://one.example/simple\ncert = /etc/one.pem\nproxy = proxy.example:3128\n"
        "extra-index-url =\n    https://two.example/simple\n    https://three.example/simple\n"
        "[install]\ncert = /etc/two.pem\n[download]\nindex-url = https://other.example/simple\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_FIND_LINKS", "/srv/one /srv/two")
    monkeypatch.setenv("PIP_PROXY", "")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "one.example")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "30")
    environ = pypi.build_uv_environ(pypi.read_pip_options([sys.executable, "-m", "pip"]))
    assert environ == {
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_DEFAULT_INDEX": "https://one.example/simple",
        "UV_INDEX": "https://two.example/simple https://three.example/simple",
        "UV_FIND_LINKS": "/srv/one,/srv/two",
        "UV_INSECURE_HOST": "one.example",
        "UV_HTTP_TIMEOUT": "30",
        "SSL_CERT_FILE": "/etc/two.pem",
    }


@pytest.mark.parametrize(
    ("output", "errors"),
    [
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<pip._vendor.urllib3"
            ".HTTPConnection object at 0x7f>: [Errno 111] Connection refused')': /simple/click/\n"
            "WARNING: Location 'file:///srv/click/' is ignored: it is neither a file nor a directory.\n"
            "ERROR: No matching distribution found for click==8.5.1\n",
            [
                "connection broken by 'NewConnectionError('[Errno 111] Connection refused')': /simple/click/",
                "No matching distribution found for click==8.5.1",
            ],
        ),
        ("error: Failed to fetch: `https://one.example/simple/`\n  Caused by: timeout\n", None),
        (
            "ERROR: Exception:\nTraceback (most recent call last):\nOSError: [Errno 30] Read-only file system\n",
            ["OSError: [Errno 30] Read-only file system"],
        ),
        ("Segmentation fault\n", ["Segmentation fault"]),
        ("", ["it gave no reason"]),
    ],
)
def test_a_failure_shows_its_reason_and_no_other_warning(output: str, errors: list[str] | None) -> None:
    assert pypi.extract_errors(output) == (errors or ["Failed to fetch: `https://one.example/simple/`"])


def run_without(*modules: str) -> Callable[[list[str]], object]:
    """Return a stand-in for the function that runs commands, on a machine whose Python lacks some modules."""

    def run(command: list[str], environ: object = None) -> object:
        is_missing = any(module in " ".join(command) for module in modules)
        return type("Result", (), {"returncode": int(is_missing), "stdout": "", "stderr": "ensurepip is not available"})

    return run


def test_a_python_without_pip_makes_an_environment_that_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypi, "ROOT", tmp_path)
    monkeypatch.setattr(pypi, "_run", run_without("import pip"))
    with pypi.open_installer() as installer:
        assert installer._pip[0].endswith("/pip/bin/python")


def test_a_python_without_pip_and_venv_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypi, "ROOT", tmp_path)
    monkeypatch.setattr(pypi, "_run", run_without("import pip", "venv"))
    with pytest.raises(pypi.InstallError, match="apt install python3-venv"), pypi.open_installer():
        pass
