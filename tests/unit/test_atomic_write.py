"""A file is replaced as a whole or not at all, and nothing is left beside it."""

import os
from pathlib import Path

import pytest

from gatepost.paths import AtomicFile, is_running, write_atomically


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "notes.json"


def list_names(file: Path) -> list[str]:
    return sorted(path.name for path in file.parent.iterdir())


def test_a_text_is_written_for_this_user_alone(file: Path) -> None:
    write_atomically(str(file), "é\n")
    assert file.read_bytes() == "é\n".encode()
    assert file.stat().st_mode & 0o777 == 0o600
    assert list_names(file) == ["notes.json"]


def test_whoever_reads_meanwhile_finds_what_was_there(file: Path) -> None:
    file.write_text("old")
    with AtomicFile(str(file)) as stream:
        stream.write(b"ne")
        stream.flush()
        assert file.read_text() == "old"
        stream.write(b"w")
    assert file.read_text() == "new"


@pytest.mark.parametrize("error", [OSError("full"), ValueError("odd"), KeyboardInterrupt()])
def test_what_fails_leaves_the_file_as_it_was_and_nothing_beside_it(file: Path, error: BaseException) -> None:
    file.write_text("old")

    def fail() -> None:
        with AtomicFile(str(file)) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert file.read_text() == "old"
    assert list_names(file) == ["notes.json"]


def test_a_text_that_is_no_unicode_leaves_nothing(file: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(str(file), "\ud800")
    assert list_names(file) == []


def test_where_a_folder_is_in_the_way_nothing_is_left(file: Path) -> None:
    file.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(str(file), "new")
    assert list_names(file) == ["notes.json"]


def test_what_cannot_be_flushed_is_not_put_in_place(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError("the disk is gone")

    file.write_text("old")
    monkeypatch.setattr(os, "fsync", refuse)

    def write_durably() -> None:
        with AtomicFile(str(file), is_durable=True) as stream:
            stream.write(b"new")

    with pytest.raises(OSError, match="the disk is gone"):
        write_durably()
    assert file.read_text() == "old"
    assert list_names(file) == ["notes.json"]
    write_atomically(str(file), "new")
    assert file.read_text() == "new", "it was not asked to be durable"


def test_a_file_that_must_be_new_is_not_replaced(file: Path) -> None:
    def create() -> None:
        with AtomicFile(str(file), must_be_new=True) as stream:
            stream.write(b"mine")
            file.write_text("theirs")

    with pytest.raises(FileExistsError):
        create()
    assert file.read_text() == "theirs"
    assert list_names(file) == ["notes.json"]


def test_where_there_are_no_links_a_new_file_is_still_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    with AtomicFile(str(file), must_be_new=True) as stream:
        stream.write(b"mine")
    assert file.read_bytes() == b"mine"
    assert list_names(file) == ["notes.json"]


def test_the_mode_is_what_was_asked_for_less_the_umask(file: Path) -> None:
    old = os.umask(0o022)
    try:
        with AtomicFile(str(file), mode=0o666) as stream:
            stream.write(b"new")
    finally:
        os.umask(old)
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_relative_path_will_do(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    write_atomically("notes.json", "new")
    assert list_names(file) == ["notes.json"]


def test_a_process_that_runs_is_running_and_one_that_ended_is_not() -> None:
    assert is_running(os.getpid())
    assert is_running(1), "it is another user's, or ours"
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert not is_running(child)
    assert is_running(10**30), "who knows"
