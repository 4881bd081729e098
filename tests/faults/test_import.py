"""An import that is killed leaves an empty store; of a damaged store everything is exported that can be read."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid
from gatepost.export import export_actions as export
from gatepost.export.export_actions import Summary
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.testing import FakeClock, Kit
from tests.export.exports import check_health, dump, export_lines, import_lines
from tests.support.command_line import GATEPOST_COMMAND
from tests.support.processes.fork_server import ForkedProcess

PAGE = 4_096
EVENTS = 2_000


@pytest.fixture(scope="module")
def lines() -> Sequence[bytes]:
    """The export of a store with more rows than a pipe holds."""
    with Kit() as kit:
        fill_inbox(kit)
        return tuple(export_lines(kit.store))


def fill_inbox(kit: Kit) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
    pushes = [
        Push(to="ana", source="test", content=f"content {number:05} {'x' * 200}", dedup_key=f"key {number:05}")
        for number in range(EVENTS)
    ]
    for start in range(0, EVENTS, 500):
        kit.store.run_sync(push.push_all, pushes[start : start + 500])


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_an_import_is_killed(migrated_url: str, tmp_path: Path, lines: Sequence[bytes], share: float) -> None:
    """In the middle of its input, when rows are inserted that are not committed."""
    with Kit(migrated_url) as kit:
        assert kit.store.migrate()
        before = dump(migrated_url)
    text = b"".join(lines)
    environ = os.environ | {"GATEPOST_HOME": str(tmp_path / "home"), "GATEPOST_STORE": migrated_url}
    process = ForkedProcess(
        [*GATEPOST_COMMAND, "import", "-"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
    )
    assert process.stdin is not None
    process.stdin.write(text[: int(len(text) * share)])  # returns when all but what a pipe holds was read
    process.stdin.flush()
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert dump(migrated_url) == before
    with Kit(migrated_url) as kit:
        assert import_lines(kit.store, lines).rows.total() == len(lines) - 2
        check_health(kit.store)


class TestADamagedStore:
    @pytest.fixture(scope="class")
    @classmethod
    def file(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A store on SQLite, in one file."""
        file = tmp_path_factory.mktemp("whole") / "gatepost.db"
        with Kit(f"sqlite:///{file}") as kit:
            fill_inbox(kit)
        with closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return file

    def damage(self, file: Path, tmp_path: Path, *, where: bytes, kinds: bytes, count: int = 1) -> Kit:
        """A copy in which the first pages of these kinds that hold a text cannot be read."""
        copy = bytearray(file.read_bytes())
        pages = [start for start in range(PAGE, len(copy), PAGE) if copy[start] in kinds]
        chosen = [start for start in pages if where in copy[start : start + PAGE]][:count]
        assert len(chosen) == count
        for start in chosen:
            copy[start : start + PAGE] = b"\xff" * PAGE
        (tmp_path / "damaged.db").write_bytes(copy)
        return Kit(f"sqlite:///{tmp_path}/damaged.db")

    def export(self, kit: Kit) -> tuple[list[bytes], Summary]:
        lines: list[bytes] = []
        return lines, kit.open().read_sync(export.export_store, lines.append)

    def test_in_an_index_nothing_is_lost(self, file: Path, tmp_path: Path, lines: Sequence[bytes]) -> None:
        with self.damage(file, tmp_path, where=b"evt_", kinds=b"\x0a", count=3) as kit:
            assert kit.open().check() != []
            exported, summary = self.export(kit)
        assert summary.omissions == []
        assert exported[-1] == lines[-1]

    @pytest.mark.parametrize("count", [1, 3])
    def test_in_a_table_the_rows_before_and_behind_are_saved(self, file: Path, tmp_path: Path, count: int) -> None:
        with self.damage(file, tmp_path, where=b"content 01", kinds=b"\x0d", count=count) as kit:
            exported, summary = self.export(kit)
        [omission] = summary.omissions
        assert omission.startswith("events: rows after (")
        assert json.loads(exported[-1])["unreadable"] == [omission]
        assert EVENTS - 40 * count < summary.rows["events"] < EVENTS
        assert summary.rows["pending"] == EVENTS
        with Kit(clock=FakeClock(seed=1)) as other:
            with pytest.raises(Invalid, match="'events' has no such row"):
                import_lines(other.store, exported)
            imported = import_lines(other.store, exported, repair=True)
            assert imported.rows["pending"] == imported.rows["events"] == summary.rows["events"]
            assert len(imported.omissions) == EVENTS - imported.rows["pending"]
            check_health(other.store)
            assert other.store.run_sync(push.push_event, Push(to="ana", source="test", content="new")).event

    @pytest.mark.parametrize("where", [b"content 00000", b"content 01999"])
    def test_at_an_end_of_a_table_the_rest_is_saved(self, file: Path, tmp_path: Path, where: bytes) -> None:
        with self.damage(file, tmp_path, where=where, kinds=b"\x0d") as kit:
            _, summary = self.export(kit)
        assert len(summary.omissions) == 1
        assert EVENTS - 40 < summary.rows["events"] < EVENTS

    def test_without_a_table_the_others_are_saved(self, file: Path, tmp_path: Path) -> None:
        shutil.copy(file, tmp_path / "torn.db")
        with closing(sqlite3.connect(tmp_path / "torn.db")) as database:
            database.execute("DROP TABLE steps")
            database.execute("DELETE FROM counters")
            database.commit()
        with Kit(f"sqlite:///{tmp_path}/torn.db") as kit, Kit(clock=FakeClock(seed=1)) as other:
            exported, summary = self.export(kit)
            assert summary.omissions == ["steps: there is no such table"]
            import_lines(other.store, exported)
            assert other.store.run_sync(push.push_event, Push(to="ana", source="test", content="new")).event

    def test_text_that_is_not_text_is_damage(self, file: Path, tmp_path: Path) -> None:
        shutil.copy(file, tmp_path / "garbled.db")
        with closing(sqlite3.connect(tmp_path / "garbled.db")) as database:
            database.execute("UPDATE events SET content = CAST(x'ff' AS TEXT) WHERE arrival = 1000")
            database.commit()
        with Kit(f"sqlite:///{tmp_path}/garbled.db") as kit:
            _, summary = self.export(kit)
        assert summary.omissions == ["events: rows after (999,) before (1001,) cannot be read"]
        assert summary.rows["events"] == EVENTS - 1
