"""Which home, and which of its files, a hook believes: a folder may have been put in its way by somebody else."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatepost import paths
from gatepost.errors import Refused


@pytest.fixture
def work_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, for a user to whom nothing of this belongs that is not given to them."""
    work_dir = tmp_path / "project"
    work_dir.mkdir()
    monkeypatch.chdir(work_dir)
    return work_dir


def give_away(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have it belong to somebody else than this user."""
    if os.getuid() == 0:
        os.chown(path, 1234, 1234, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 4321)


def test_a_link_of_somebody_else_is_refused(work_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    (work_dir / ".gatepost").symlink_to(tmp_path / "mine")
    assert paths.find_home({})[0] == str(work_dir / ".gatepost")
    give_away(work_dir / ".gatepost", monkeypatch)
    with pytest.raises(Refused, match="another user"):
        paths.find_home({})


def test_a_link_to_what_is_somebody_elses_is_refused(
    work_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir(mode=0o700)
    give_away(tmp_path / "theirs", monkeypatch)
    (work_dir / ".gatepost").symlink_to(tmp_path / "theirs")
    with pytest.raises(Refused, match="another user"):
        paths.find_home({})


def test_a_folder_that_others_write_to_is_refused_unless_named(work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = work_dir / ".gatepost"
    folder.mkdir()
    folder.chmod(0o770)
    assert paths.find_home({})[0] == str(folder), "it is our own group"
    monkeypatch.setattr(os, "getgroups", list)
    monkeypatch.setattr(os, "getegid", lambda: 4321)
    if os.getuid() == 0:
        os.chown(folder, 0, 1234)
    with pytest.raises(Refused, match="written to by others"):
        paths.find_home({})
    folder.chmod(0o707)
    with pytest.raises(Refused, match="written to by others"):
        paths.find_home({})
    assert paths.find_home({paths.HOME_VARIABLE: str(folder)}) == (str(folder), paths.HOME_VARIABLE)


def test_only_a_regular_file_of_ours_is_read(work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (work_dir / "file").write_text("tea")
    assert paths.read_trusted_file(str(work_dir / "file"), reference=str(work_dir)) == b"tea"
    os.mkfifo(work_dir / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        paths.read_trusted_file(str(work_dir / "pipe"), reference=str(work_dir))
    give_away(work_dir / "file", monkeypatch)
    with pytest.raises(PermissionError, match="another user"):
        paths.read_trusted_file(str(work_dir / "file"), reference="/")


def test_an_absolute_home_needs_no_working_directory(work_dir: Path, tmp_path: Path) -> None:
    work_dir.rmdir()
    assert paths.find_home({paths.HOME_VARIABLE: str(tmp_path)}) == (str(tmp_path), paths.HOME_VARIABLE)
    (tmp_path / ".gatepost").mkdir(mode=0o700)
    assert paths.find_home({}, start=str(tmp_path))[0] == str(tmp_path / ".gatepost")


def test_the_project_is_looked_in_first_and_then_the_working_directory(work_dir: Path, tmp_path: Path) -> None:
    project, own_home = tmp_path / "other", work_dir / ".gatepost"
    (project / "deep").mkdir(parents=True)
    (project / ".gatepost").mkdir(mode=0o700)
    own_home.mkdir(mode=0o700)
    home, origin = paths.find_home({}, project=str(project / "deep"))
    assert (home, origin) == (str(project / ".gatepost"), "found upwards from the project")
    (project / ".gatepost").rmdir()
    assert paths.find_home({}, project=str(project / "deep")) == (
        str(own_home),
        "found upwards from the working directory",
    )
    assert paths.find_home({}, project="not/absolute") == (str(own_home), "found upwards from the working directory")
    assert paths.find_home({paths.HOME_VARIABLE: "/named"}, project=str(project)) == ("/named", paths.HOME_VARIABLE)


def test_a_project_needs_no_working_directory(work_dir: Path, tmp_path: Path) -> None:
    work_dir.rmdir()
    (tmp_path / ".gatepost").mkdir(mode=0o700)
    assert paths.find_home({}, project=str(tmp_path))[0] == str(tmp_path / ".gatepost")


class TestTheSocket:
    @pytest.fixture
    def path(self, work_dir: Path) -> Iterator[Path]:
        socket_path = work_dir / "gateway.sock"
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(str(socket_path))
            socket_path.chmod(0o600)
            yield socket_path

    def check_socket(self, path: Path) -> None:
        paths.check_socket(str(path), reference=str(path.parent))

    def test_of_our_own_is_believed(self, path: Path) -> None:
        self.check_socket(path)

    def test_of_somebody_else_is_not(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        give_away(path, monkeypatch)
        with pytest.raises(PermissionError, match="another user"):
            paths.check_socket(str(path), reference="/")

    @pytest.mark.parametrize("mode", [0o660, 0o606, 0o700 | 0o001])
    def test_that_others_can_reach_is_not(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        with pytest.raises(PermissionError, match="open to other users"):
            self.check_socket(path)

    def test_in_a_folder_where_others_can_replace_it_is_not(self, path: Path) -> None:
        path.parent.chmod(0o777)
        with pytest.raises(PermissionError, match="written to by others"):
            self.check_socket(path)
        path.parent.chmod(0o1777)
        self.check_socket(path)

    def test_that_is_none_is_missing(self, work_dir: Path, path: Path) -> None:
        (work_dir / "file").touch(mode=0o600)
        (work_dir / "link").symlink_to(path)
        for name in ("file", "link", "nothing"):
            with pytest.raises(FileNotFoundError):
                self.check_socket(work_dir / name)
