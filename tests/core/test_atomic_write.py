"""A file is replaced as a whole or not at all, and nothing is left beside it."""

import os
from pathlib import Path

import pytest

from gatepost import paths
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


def write_locked(file: Path, content: bytes) -> None:
    with AtomicFile(str(file), is_locked=True) as stream:
        stream.write(content)


class TestLockedFiles:
    """The temporary files of writers that were killed are removed, and no others."""

    def test_what_nobody_writes_is_removed(self, file: Path) -> None:
        (file.parent / ".notes.json.00c0ffee.part").write_text("torn")
        write_locked(file, b"new")
        assert file.read_bytes() == b"new"
        assert list_names(file) == ["notes.json"]

    @pytest.mark.parametrize(
        "name", [".notes.json.00c0ffee", ".notes.json.part", ".notes.jsonl.00c0ffee.part", "notes.json.00c0ffee.part"]
    )
    def test_files_with_other_names_are_kept(self, file: Path, name: str) -> None:
        (file.parent / name).write_text("mine")
        write_locked(file, b"new")
        assert list_names(file) == sorted([name, "notes.json"])

    def test_folders_links_and_pipes_are_kept(self, file: Path) -> None:
        names = [f".notes.json.0000000{number}.part" for number in range(3)]
        (file.parent / names[0]).mkdir()
        (file.parent / names[1]).symlink_to(file)
        os.mkfifo(file.parent / names[2])
        write_locked(file, b"new")
        assert list_names(file) == [*names, "notes.json"]

    def test_what_another_writes_is_kept_until_it_is_in_place(self, file: Path) -> None:
        with AtomicFile(str(file), is_locked=True) as first:
            first.write(b"first")
            write_locked(file, b"second")
            assert len(list_names(file)) == 2
        assert file.read_bytes() == b"first"
        assert list_names(file) == ["notes.json"]

    def test_a_complete_file_is_locked_until_it_has_its_name(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        replace = os.replace

        def sweep_first(source: str, target: str) -> None:
            monkeypatch.setattr(os, "replace", replace)
            paths._remove_unlocked(str(file.parent), f".{file.name}.")
            replace(source, target)

        monkeypatch.setattr(os, "replace", sweep_first)
        write_locked(file, b"new")
        assert file.read_bytes() == b"new"

    def test_one_that_is_removed_before_it_is_locked_is_made_again(
        self, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock = paths._try_lock

        def lose_race(descriptor: int, *, wait: bool) -> bool:
            monkeypatch.setattr(paths, "_try_lock", lock)
            paths._remove_unlocked(str(file.parent), f".{file.name}.")
            return lock(descriptor, wait=wait)

        monkeypatch.setattr(paths, "_try_lock", lose_race)
        write_locked(file, b"new")
        assert file.read_bytes() == b"new"
        assert list_names(file) == ["notes.json"]

    def test_where_there_are_no_locks_nothing_is_removed(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(paths, "_try_lock", lambda *_, **__: False)
        (file.parent / ".notes.json.00c0ffee.part").write_text("torn")
        write_locked(file, b"new")
        assert list_names(file) == [".notes.json.00c0ffee.part", "notes.json"]

    def test_no_descriptor_stays_open(self, file: Path) -> None:
        before = [*Path("/dev/fd").iterdir()]
        write_locked(file, b"new")
        assert [*Path("/dev/fd").iterdir()] == before


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
