"""What `make up` and `make test` install into .venv, and what they do with an environment that is not whole."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tools import install
from tools.pypi import Installer, InstallError
from tools.steps import Steps

ROOT: Final = Path(__file__).parents[2]
SECONDS: Final = r"\d+\.\d s"


class FakeInstaller(Installer):
    """Records what it is to install, and fails if it is told so."""

    def __init__(self) -> None:
        self.locks: list[str] = []
        self.error: Exception | None = None

    def install_lock(self, lock: Path, *options: str, python: Path) -> None:
        assert install.UNFINISHED.exists()
        self.locks.append(lock.name)
        if self.error is not None:
            raise self.error

    def install(self, *arguments: str, python: Path) -> None:
        assert arguments[-2:] == ("--editable", str(install.ROOT))


def add_environment(folder: Path, package: Path) -> None:
    """Add the two programs of an environment that imports the package from a file."""
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin/gatepost").touch()
    check = f'[ "$1" = -I ] && {{ [ "$4" = {package} ]; exit; }}'
    (folder / "bin/python").write_text(f'#!/bin/sh\n{check}\nexec {sys.executable} "$@"\n')
    (folder / "bin/python").chmod(0o755)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with an environment in which nothing is installed."""
    (tmp_path / "run.txt").write_text("click==8 ; sys_platform != 'win32'\npywin32==312 ; sys_platform == 'win32'\n")
    (tmp_path / "dev.txt").write_text(
        "click==8 \\\n    --hash=sha256:00\npytest==9 \\\n    --hash=sha256:00\nruff==1\n"
    )
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".venv/lib").mkdir(parents=True)
    (tmp_path / "src/gatepost").mkdir(parents=True)
    (tmp_path / "src/module.py").touch()
    (tmp_path / ".venv/lib/library.py").touch()
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "ENVIRONMENT", tmp_path / ".venv")
    monkeypatch.setattr(install, "UNFINISHED", tmp_path / ".venv/.unfinished")
    monkeypatch.setattr(install, "PROJECT", tmp_path / "pyproject.toml")
    monkeypatch.setattr(install, "PYTHON", tmp_path / ".venv/bin/python")
    monkeypatch.setattr(install, "GATEPOST", tmp_path / ".venv/bin/gatepost")
    add_environment(tmp_path / ".venv", tmp_path / "src/gatepost/__init__.py")
    monkeypatch.setattr(install, "RUN", install.PackageSet(tmp_path / "run.txt", tmp_path / ".venv/.run"))
    monkeypatch.setattr(install, "DEV", install.PackageSet(tmp_path / "dev.txt", tmp_path / ".venv/.installed"))
    return tmp_path


def list_compiled(project: Path) -> list[str]:
    return sorted(path.name.partition(".")[0] for path in project.rglob("*.pyc"))


def test_tests_complete_what_a_gateway_needs(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    installer, steps = FakeInstaller(), Steps(4)
    assert not install.can_run()
    install.install(install.RUN, steps, installer)
    assert install.can_run()
    assert not install.DEV.is_installed()
    assert list_compiled(project) == ["module"]
    install.install(install.DEV, steps, installer)
    assert install.DEV.is_installed()
    assert list_compiled(project) == ["library", "module"]
    assert installer.locks == ["run.txt", "dev.txt"]
    lines = rf"\[1/4\] installing 1 packages \.\.\. {SECONDS}\n\[2/4\] installing 2 packages \.\.\. {SECONDS}\n"
    assert re.fullmatch(lines, capsys.readouterr().err)
    assert not install.UNFINISHED.exists()


def test_what_tests_need_contains_what_a_gateway_needs(project: Path) -> None:
    install.install(install.DEV, Steps(1), FakeInstaller())
    assert install.can_run()
    (project / ".venv/.run").unlink()  # as in an environment of an earlier version
    assert install.can_run()


@pytest.mark.parametrize("name", ["run.txt", "pyproject.toml"])
def test_it_is_installed_again_after_a_change_whatever_the_time_of_the_file(project: Path, name: str) -> None:
    install.install(install.RUN, Steps(1), FakeInstaller())
    (project / name).touch()
    assert install.can_run()
    (project / name).write_text("# changed")
    os.utime(project / name, (0, 0))
    assert not install.can_run()


def test_a_failure_leaves_a_whole_environment_as_it_was(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    installer = FakeInstaller()
    install.install(install.RUN, Steps(1), installer)
    installer.error = InstallError("no network")
    with pytest.raises(InstallError):
        install.install(install.DEV, Steps(1), installer)
    assert capsys.readouterr().err.endswith("[1/1] installing 2 packages ... failed\n")
    assert install.can_run()
    assert not install.DEV.is_installed()
    assert not install.UNFINISHED.exists()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("error", [InstallError("no network"), KeyboardInterrupt()])
def test_a_new_environment_stays_marked_if_the_first_installation_does_not_end(error: Exception) -> None:
    install.UNFINISHED.touch()  # as `prepare` does
    installer = FakeInstaller()
    installer.error = error
    with pytest.raises(type(error)):
        install.install(install.RUN, Steps(1), installer)
    assert install.UNFINISHED.exists()


def delete_command(project: Path) -> None:
    (project / ".venv/bin/gatepost").unlink()


def delete_python(project: Path) -> None:
    (project / ".venv/bin/python").unlink()
    (project / ".venv/bin/python").symlink_to(project / "removed")


def copy_from_another_clone(project: Path) -> None:
    add_environment(project / ".venv", project.parent / "other/src/gatepost/__init__.py")


def leave_unfinished(project: Path) -> None:
    (project / ".venv/.unfinished").touch()


def put_a_file_there(project: Path) -> None:
    shutil.rmtree(project / ".venv")
    (project / ".venv").touch()


def put_a_link_there(project: Path) -> None:
    (project / ".venv").rename(project / "elsewhere")
    (project / ".venv").symlink_to(project / "elsewhere")
    delete_command(project)


@pytest.mark.parametrize(
    "damage",
    [delete_command, delete_python, copy_from_another_clone, leave_unfinished, put_a_file_there, put_a_link_there],
)
def test_an_environment_that_cannot_be_used_is_made_anew(
    project: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Path], None]
) -> None:
    install.install(install.RUN, Steps(1), FakeInstaller())
    assert install.can_run()
    damage(project)
    monkeypatch.setattr(install, "open_installer", lambda _: ExitStack())
    assert not install.can_run()
    with ExitStack() as stack:
        install.prepare(Steps(1), stack)
    assert not (project / ".venv/.run").exists()
    assert (project / ".venv/.unfinished").exists()
    python = project / ".venv/bin/python"
    result = subprocess.run([python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True)
    assert result.stdout == f"{project / '.venv'}\n"


def test_an_environment_that_is_whole_stays(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "open_installer", lambda _: ExitStack())
    (project / ".venv/lib/kept").touch()
    with ExitStack() as stack:
        install.prepare(Steps(1), stack)
    assert (project / ".venv/lib/kept").exists()


def test_an_environment_is_checked_by_its_own_python(tmp_path: Path) -> None:
    """With a real one: it imports the package from where it was installed, also if the clone was copied."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    [packages] = (tmp_path / ".venv/lib").glob("python*/site-packages")
    for clone in ("one", "two"):
        (tmp_path / clone / "gatepost").mkdir(parents=True)
        (tmp_path / clone / "gatepost/__init__.py").touch()
    python = tmp_path / ".venv/bin/python"

    def check(clone: str) -> int:
        package = tmp_path / clone / "gatepost/__init__.py"
        return subprocess.run([python, "-I", "-c", install.CHECK, package], check=False).returncode

    assert check("one") == 1, "not installed"
    (packages / "gatepost.pth").write_text(f"{tmp_path / 'one'}\n")
    assert (check("one"), check("two")) == (0, 1)


@pytest.mark.usefixtures("project")
def test_a_folder_in_which_no_command_starts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "ROOT", Path("/srv/my $HOME"))
    with pytest.raises(InstallError, match=r"^/srv/my \$HOME: .* with \$ in its path"), ExitStack() as stack:
        install.prepare(Steps(1), stack)


@pytest.mark.parametrize(
    ("reason", "hint"),
    [("No module named venv", "; on Debian and Ubuntu: apt install python3-venv"), ("Permission denied", "")],
)
def test_a_python_without_venv_says_what_to_install(
    project: Path, monkeypatch: pytest.MonkeyPatch, reason: str, hint: str
) -> None:
    python = project / "python"
    python.write_text(f"#!/bin/sh\necho {reason} >&2\nexit 1\n")
    python.chmod(0o755)
    delete_command(project)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(InstallError) as error, ExitStack() as stack:
        install.prepare(Steps(1), stack)
    assert str(error.value) == f"{python} cannot make an environment{hint}\n{reason}"


@pytest.fixture
def makefile(tmp_path: Path) -> Path:
    """A folder with the Makefile, and a Python outside and one in .venv which print who they are."""
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    for name in ("python-outside", ".venv/bin/python"):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f'#!/bin/sh\n[ "$1" = -c ] || echo {name} "$@"\n')
        program.chmod(0o755)
    return tmp_path


def make(folder: Path, target: str) -> tuple[str, str]:
    command = ["make", "--no-print-directory", target, "PYTHON=./python-outside"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return result.stdout, result.stderr


def test_the_python_in_an_environment_that_is_whole_is_used(makefile: Path) -> None:
    assert make(makefile, "up") == (".venv/bin/python -m tools.up\n", "")
    (makefile / "python-outside").unlink()
    assert make(makefile, "up") == (".venv/bin/python -m tools.up\n", "")


def test_an_environment_that_is_not_whole_is_not_used(makefile: Path) -> None:
    (makefile / ".venv/.unfinished").touch()
    assert make(makefile, "up") == ("python-outside -m tools.up\n", "")
    (makefile / ".venv/.unfinished").unlink()
    (makefile / ".venv/bin/python").unlink()
    assert make(makefile, "page") == ("python-outside -m tools.page\n", "")


def test_an_environment_of_an_old_python_is_not_used(makefile: Path) -> None:
    """It runs, and only its version is wrong."""
    (makefile / ".venv/bin/python").write_text('#!/bin/sh\n[ -z "$2" ]\n')
    assert make(makefile, "up") == ("python-outside -m tools.up\n", "")


def test_an_old_python_is_refused_in_one_sentence(makefile: Path) -> None:
    (makefile / ".venv/bin/python").unlink()
    (makefile / "python-outside").write_text("#!/bin/sh\nexit 1\n")
    output, errors = make(makefile, "up")
    assert output == ""
    sentence = "Gatepost needs Python 3.11 or newer, and ./python-outside is not; try: make PYTHON=python3.11"
    assert errors.splitlines()[0] == sentence


def read_lock(name: str) -> dict[str, tuple[str, list[str]]]:
    """Return the version and the hashes of each package of a lock."""
    text = re.sub(r"\n *#.*", "", (ROOT / "requirements" / f"{name}.txt").read_text())
    entries = re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n)*.*)", text, re.MULTILINE)
    return {package: (version, re.findall(r"--hash=sha256:\w{64}", rest)) for package, version, rest in entries}


def test_a_gateway_runs_with_the_versions_that_the_tests_test() -> None:
    run, dev = read_lock("run"), read_lock("dev")
    assert len(run) > 50
    assert {name: dev.get(name) for name in run} == run


@pytest.mark.parametrize("name", ["run", "dev", "uv", "node", "compiler"])
def test_a_lock_names_no_address_and_has_a_hash_for_every_package(name: str) -> None:
    packages = read_lock(name)
    assert packages
    assert [package for package, (_, hashes) in packages.items() if not hashes] == []
    assert "://" not in (ROOT / "requirements" / f"{name}.txt").read_text()
