"""Session gates: who opens them, what a look at them changes (nothing), and what holds when nobody can look."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gatepost.core.times import SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, NotFound, Unavailable
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import FailMode, GateSpec
from gatepost.guests.hooks import session_gates
from gatepost.guests.hooks.session_gates import SessionGate, find_unsaved_work
from gatepost.guests.hooks.session_state import Session
from gatepost.inbox.event import EventType, Push, Ref
from gatepost.inbox.push import actions as push
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.testing import Kit
from tests.guests.hook_guest import HookGuest


@pytest.fixture
def guest(tmp_path: Path, kit: Kit) -> HookGuest:
    """Ann, in a session that began just now, with an administrator to own her."""
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
    guest = HookGuest(tmp_path, kit.store, kit.clock)
    guest.run_hook("SessionStart", source="startup")
    return guest


@pytest.fixture
def offline_guest(tmp_path: Path) -> HookGuest:
    """A session without a store."""
    return HookGuest(tmp_path)


def read_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestRegistering:
    def test_it_stays_and_can_be_changed(self, tmp_path: Path) -> None:
        session_gates.register(tmp_path, SessionGate(name="tested", hint="run the tests"))
        session_gates.register(tmp_path, SessionGate(name="said", hook="PreToolUse", soft=True))
        session_gates.register(tmp_path, SessionGate(name="tested", closed=True))
        assert session_gates.list_registered_gates(tmp_path) == (
            SessionGate(name="said", hook="PreToolUse", soft=True),
            SessionGate(name="tested", closed=True),
        )
        assert (tmp_path / "gates.json").stat().st_mode & 0o777 == 0o600
        session_gates.unregister(tmp_path, "said")
        assert [gate.name for gate in session_gates.list_registered_gates(tmp_path)] == ["tested"]
        assert [path.name for path in tmp_path.iterdir()] == ["gates.json"], "nothing is left aside"

    def test_what_is_built_in_stays_as_it_is(self, tmp_path: Path) -> None:
        with pytest.raises(Conflict, match="'commit-push' is built in"):
            session_gates.register(tmp_path, SessionGate(name="commit-push"))
        with pytest.raises(Conflict, match="'decision' is built in"):
            session_gates.unregister(tmp_path, "decision")
        with pytest.raises(NotFound, match="no session gate 'tested'"):
            session_gates.unregister(tmp_path, "tested")

    @pytest.mark.parametrize("hook", ["PostToolUse", "stop", "", "SessionStart"])
    def test_not_at_every_event(self, tmp_path: Path, hook: str) -> None:
        with pytest.raises(Invalid, match="is not an event of a gate"):
            session_gates.register(tmp_path, SessionGate(name="tested", hook=hook))

    @given(st.text(max_size=80) | st.sampled_from(["..", "../x", "/etc/x", ".x", "a/b", "a\x00", "A", "x" * 64, ""]))
    def test_a_name_is_no_path(self, name: str) -> None:
        try:
            assert session_gates.check_name(name) == name
        except Invalid:
            return
        assert Path(name).name == name
        assert not name.startswith(".")
        assert name.isascii()


@given(st.text(min_size=1, max_size=300) | st.sampled_from(["..", ".", "../../x", "/etc", "a/../../b", "\x00", "%2E"]))
def test_a_session_has_a_folder_of_its_own_whatever_it_is_called(id: str) -> None:
    home = Path("/home/somebody/.gatepost")
    folder = Path(Session(home, id).folder)
    assert folder.parent == home / "sessions"
    assert os.path.normpath(folder) == str(folder)
    assert len(os.fsencode(folder.name)) <= 255
    assert "\x00" not in folder.name


class TestLooking:
    def test_a_strict_one_blocks_until_it_is_marked(self, offline_guest: HookGuest) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="tested", hint="run the tests"))
        reason = "tested: it is not marked (run the tests). When it is done, run: "
        block = offline_guest.run_stop().block or ""
        assert block.startswith(reason)
        assert block.endswith(f"gatepost gate mark tested --session {offline_guest.session.id}")
        offline_guest.session.mark("tested")
        assert offline_guest.run_stop().is_silent
        assert offline_guest.session.clear_mark("tested")
        assert offline_guest.run_stop().block is not None
        assert HookGuest(offline_guest.home, session_id="another").run_stop().block is not None

    def test_a_soft_one_warns_once_each_session(self, offline_guest: HookGuest) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="said", soft=True))
        assert offline_guest.run_stop(printed=False).warnings == ("said: it is not marked",)
        assert offline_guest.run_stop().warnings == ("said: it is not marked",), "nobody has seen the first"
        assert offline_guest.run_stop().is_silent
        assert not offline_guest.session.is_marked("said"), "that it warned is no mark"
        assert HookGuest(offline_guest.home, session_id="another").run_stop().warnings
        offline_guest.session.clear_mark("said")
        assert offline_guest.run_stop().warnings

    def test_elsewhere_than_at_its_event_it_says_nothing(self, offline_guest: HookGuest) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="careful", hook="PreToolUse"))
        assert offline_guest.run_stop().is_silent
        assert offline_guest.run_hook("UserPromptSubmit").is_silent
        assert offline_guest.run_hook("PreToolUse", tool="Bash").block == "careful: it is not marked"

    def test_to_look_changes_nothing(self, guest: HookGuest) -> None:
        session_gates.register(guest.home, SessionGate(name="tested"))
        repository = _create_repository(guest.home / "project")
        (repository / "new.txt").touch()
        before = read_files(guest.home)
        ctx = guest.create_context()
        reasons = {
            gate.name: session_gates.check_gate(ctx, gate, str(repository)).shut_reason
            for gate in session_gates.list_gates(guest.home)
        }
        assert reasons == {
            "decision": None,
            "commit-push": "1 file is not committed",
            "work-update": None,
            "tested": "it is not marked",
        }
        assert session_gates.list_blocking_gates(ctx, "ann") == []
        assert read_files(guest.home) == before

    @pytest.mark.parametrize("is_note", [True, False])
    def test_work_is_noted_by_a_note_or_an_event_of_a_work_item(self, guest: HookGuest, is_note: bool) -> None:
        assert guest.store is not None
        store, clock = guest.store, guest.clock
        store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="admin")
        clock.advance("1 minute")

        def read_reason() -> str | None:
            return session_gates.check_gate(guest.create_context(), session_gates.BUILT_IN[2], "").shut_reason

        task = Ref("task", "7")
        for new_push in (
            Push(to="admin", source="x", content="only said", type=EventType.NOTE, sender="ann"),
            Push(to="admin", source="x", content="only said", sender="ann", ref=task),
        ):
            store.run_sync(push.push_event, new_push)
            assert read_reason() is not None
        store.run_sync(work.post_note, task, "by another", by="admin", notify=["ann"])
        assert read_reason() is not None
        if is_note:
            store.run_sync(work.post_note, task, "done", by="ann")
        else:
            store.run_sync(work.post_event, task, "complete", by="ann")
        assert read_reason() is None
        assert not guest.session.is_marked("work-update")
        later_guest = HookGuest(guest.home, guest.store, guest.clock, guest.options, session_id="later")
        guest.clock.advance("1 minute")
        later_guest.run_hook("SessionStart", source="startup")
        assert (
            session_gates.check_gate(later_guest.create_context(), session_gates.BUILT_IN[2], "").shut_reason
            is not None
        )

    def test_without_work_items_nobody_is_asked_to_note_anything(self, guest: HookGuest) -> None:
        assert guest.run_stop().is_silent
        assert not guest.session.has_warned("work-update")
        guest.session.mark("work-update")
        assert guest.session.is_marked("work-update"), "it is there, and can be marked"


class TestRepository:
    def test_what_is_not_saved(self, tmp_path: Path) -> None:
        assert find_unsaved_work(str(tmp_path)) is None, "no repository"
        repository = _create_repository(tmp_path / "here")
        assert find_unsaved_work(str(repository)) is None, "nothing in it"
        (repository / "a.txt").write_text("a")
        (repository / "sub").mkdir()
        (repository / "sub" / "b.txt").write_text("b")
        assert find_unsaved_work(str(repository / "sub")) == "2 files are not committed"
        _run_git(repository, "add", ".")
        _run_git(repository, "commit", "-m", "one")
        assert find_unsaved_work(str(repository)) is None, "there is nowhere to push to"
        _run_git(tmp_path, "init", "--bare", "there.git")
        _run_git(repository, "remote", "add", "origin", str(tmp_path / "there.git"))
        assert find_unsaved_work(str(repository)) == "1 commit is not pushed"
        _run_git(repository, "push", "-u", "origin", "HEAD")
        assert find_unsaved_work(str(repository)) is None
        (repository / "a.txt").write_text("more")
        assert find_unsaved_work(str(repository)) == "1 file is not committed"
        _run_git(repository, "commit", "-am", "two")
        assert find_unsaved_work(str(repository)) == "1 commit is not pushed"
        assert find_unsaved_work("/nowhere/at/all") is None

    def test_what_a_repository_wants_to_run_is_not_run(self, tmp_path: Path) -> None:
        repository = _create_repository(tmp_path / "here")
        _run_git(repository, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
        (repository / "a.txt").touch()
        assert find_unsaved_work(str(repository)) == "1 file is not committed"
        assert not (tmp_path / "ran").exists()


class TestClosed:
    """What is to hold although nobody can look."""

    def test_one_of_the_store_while_that_is_out_of_reach(self, guest: HookGuest) -> None:
        store = guest.store
        assert store is not None
        gate = store.run_sync(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        store.run_sync(gates.add, GateSpec(name="Tea", owner="ann"), by="admin")
        reason = guest.run_stop().block or ""
        assert "Sign-off" in reason
        assert "Tea" in reason
        guest.store = None
        verdict = guest.run_stop()
        assert verdict.is_fail_closed
        assert "Sign-off" in (verdict.block or "")
        assert "Tea" not in (verdict.block or ""), "that one fails open"
        assert guest.notes == ["the store is out of reach"]
        guest.store = store
        store.run_sync(gates.resolve, gate.id, by="admin")
        assert "Sign-off" not in (guest.run_stop().block or "")
        guest.store = None
        guest.clock.advance("5 minutes")
        assert guest.run_stop().block is None, "it was seen open"

    @pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
    def test_one_of_the_store_at_the_first_stop(self, guest: HookGuest, event: str) -> None:
        assert guest.store is not None
        guest.store.run_sync(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        guest.run_hook(event, source="startup")
        guest.store = None
        assert "Sign-off" in (guest.run_stop().block or "")

    def test_that_it_was_forgotten_is_told(self, guest: HookGuest) -> None:
        path = Path(guest.session.folder) / "state.json"
        path.write_bytes(path.read_bytes()[:-9])
        guest.store = None
        assert guest.run_stop().is_silent
        assert any("damaged" in note for note in guest.notes)

    @pytest.mark.parametrize("damage", ['"hint": []', '"closed": "yes"', '"name": 7', '"hook": "Never"', '"tea": 1'])
    def test_one_of_the_session_that_is_damaged_in_the_list(self, offline_guest: HookGuest, damage: str) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="signed", closed=True))
        offline_guest.run_stop()
        entry = '{"name": "signed", "closed": true, ' + damage + "}"
        (offline_guest.home / "gates.json").write_text(f'[{entry}, {{"name": "tested"}}, 7]')
        for _ in range(2):
            assert offline_guest.run_stop().block == "tested: it is not marked\nsigned: it is not marked"
            assert sum("is passed over" in note for note in offline_guest.notes) == 2
        other_guest = HookGuest(offline_guest.home, session_id="another")
        assert other_guest.run_stop().block == "tested: it is not marked"
        assert set(other_guest.notes) == set(offline_guest.notes)
        before = (offline_guest.home / "gates.json").read_bytes()
        with pytest.raises(Unavailable, match="cannot be read"):
            session_gates.register(offline_guest.home, SessionGate(name="said"))
        assert (offline_guest.home / "gates.json").read_bytes() == before

    def test_one_that_is_kept_when_looking_fails_altogether(
        self, guest: HookGuest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert guest.store is not None
        guest.store.run_sync(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        for name in ("signed", "marked"):
            session_gates.register(guest.home, SessionGate(name=name, closed=True))
        guest.session.mark("marked")
        guest.run_stop()

        def fail(_: Path) -> None:
            raise AttributeError("a fault of ours")

        monkeypatch.setattr(session_gates, "read_registered_gates", fail)
        verdict = guest.run_stop()
        assert "Sign-off" in (verdict.block or "")
        assert "signed: it is not marked" in (verdict.block or "")
        assert "marked: " not in (verdict.block or "").replace("not marked", "")
        assert verdict.is_fail_closed
        assert "the gates cannot be looked at: a fault of ours" in guest.notes

    def test_one_of_the_session_while_the_list_cannot_be_read(self, offline_guest: HookGuest) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="signed", closed=True))
        session_gates.register(offline_guest.home, SessionGate(name="tested"))
        offline_guest.run_stop()
        (offline_guest.home / "gates.json").write_text('[{"name": "sig')
        with pytest.raises(Unavailable, match="cannot be read"):
            session_gates.list_registered_gates(offline_guest.home)
        assert offline_guest.run_stop().block == "signed: it is not marked"
        assert any("cannot be read" in note for note in offline_guest.notes)
        offline_guest.session.mark("signed")
        assert offline_guest.run_stop().block is None

    def test_one_whose_mark_cannot_be_looked_at(self, offline_guest: HookGuest) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="signed", closed=True))
        session_gates.register(offline_guest.home, SessionGate(name="tested"))
        Path(offline_guest.session.folder).mkdir(parents=True)
        (Path(offline_guest.session.folder) / "marks").symlink_to("marks")
        assert (offline_guest.run_stop().block or "").startswith("signed: it cannot be looked at")

    def test_the_loop_detector_lets_also_these_go(self, guest: HookGuest) -> None:
        assert guest.store is not None
        guest.store.run_sync(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        assert [guest.run_stop().block is not None for _ in range(5)] == [True, True, True, False, True]


@pytest.mark.parametrize("event", ["Stop", "PreToolUse"])
def test_a_list_that_cannot_be_read_is_told_of_each_time(offline_guest: HookGuest, event: str) -> None:
    os.mkfifo(offline_guest.home / "gates.json")
    for _ in range(2):
        offline_guest.run_hook(event)
        assert any("gates.json' cannot be read: it is not a regular file" in note for note in offline_guest.notes)


class TestLongAgo:
    """What is left of sessions that are over."""

    def test_an_empty_spool_is_cleared_away_with_its_session_in_two_rounds(self, offline_guest: HookGuest) -> None:
        old = self.end_session(offline_guest)
        old.append_lines("tea")
        assert old.run_hook("UserPromptSubmit").context
        old.run_stop()
        spool = offline_guest.home / "spool"
        with (spool / "old.jsonl").open("a") as file:  # somebody is about to write
            self.age_and_sweep(offline_guest)
            assert (Path(old.session.folder).exists(), old.spool.is_empty("old")) == (True, True)
            assert not (spool / "old.jsonl").exists()
            file.write('{"id": "1", "content": "cake"}\n')
        self.age_and_sweep(offline_guest)
        assert not Path(old.session.folder).exists()
        assert [entry.content for entry in old.spool.peek("old")] == ["cake"], "as long as it has a line it stays"
        assert "cake" in (old.run_hook("UserPromptSubmit").context or "")
        old.run_stop()
        for _ in range(2):
            assert Path(old.session.folder).exists()
            self.age_and_sweep(offline_guest)
        assert not Path(old.session.folder).exists()
        assert [path.name for path in spool.iterdir() if path.name.startswith("old")] == []

    def test_two_rounds_at_once_are_one(self, offline_guest: HookGuest) -> None:
        old = self.end_session(offline_guest)
        old.append_lines("tea")
        old.run_hook("UserPromptSubmit")
        old.run_stop()
        assert [old.spool.clear("old", before=offline_guest.clock.now()) for _ in range(3)] == [False] * 3

    def test_what_no_model_has_answered_stays_if_only_the_spool_has_it(self, offline_guest: HookGuest) -> None:
        old = self.end_session(offline_guest)
        old.append_lines("tea")
        old.run_hook("UserPromptSubmit")
        self.age_and_sweep(offline_guest)
        self.age_and_sweep(offline_guest)
        assert [batch.event for batch in old.spool.read_unproved("old")] == ["UserPromptSubmit"]

    @pytest.mark.parametrize("ending", ["", ".draining", ".aside", ".shown"])
    def test_what_somebody_has_still_to_read_stays(self, offline_guest: HookGuest, ending: str) -> None:
        old = self.end_session(offline_guest)
        (offline_guest.home / "spool").mkdir(exist_ok=True)
        spool_file = offline_guest.home / "spool" / f"old.jsonl{ending}"
        spool_file.write_text('["k", false, 1]\n')
        self.age_and_sweep(offline_guest)
        self.age_and_sweep(offline_guest)
        assert (Path(old.session.folder).exists(), spool_file.exists()) == (False, True)

    def end_session(self, offline_guest: HookGuest) -> HookGuest:
        old = replace(offline_guest, session_id="old")
        old.run_hook("SessionStart", source="startup")
        old.run_hook("SessionEnd")
        return old

    def age_and_sweep(self, offline_guest: HookGuest) -> None:
        """A month passes, for the disk too, and somebody comes."""
        old_time = offline_guest.clock.now() // SECOND - 31 * 86_400
        for path in (*(offline_guest.home / "sessions").iterdir(), *(offline_guest.home / "spool").iterdir()):
            os.utime(path, (old_time, old_time))
        offline_guest.run_hook("SessionStart", source="startup")


class TestLinks:
    """A session's folder that is somewhere else is not ours."""

    def test_they_are_not_followed(self, offline_guest: HookGuest, tmp_path: Path) -> None:
        session_gates.register(offline_guest.home, SessionGate(name="signed", closed=True))
        elsewhere = tmp_path / "elsewhere"
        (elsewhere / "marks").mkdir(parents=True)
        (elsewhere / "marks" / "signed").touch()
        Path(offline_guest.session.folder).parent.mkdir()
        Path(offline_guest.session.folder).symlink_to(elsewhere)
        assert (offline_guest.run_stop().block or "").startswith("signed: it cannot be looked at")
        assert any("is a link" in note for note in offline_guest.notes)
        assert [path.name for path in elsewhere.iterdir()] == ["marks"], "nothing was written there"

    def test_they_do_not_keep_old_sessions_from_being_removed(self, offline_guest: HookGuest, tmp_path: Path) -> None:
        Session.sweep(offline_guest.home, 0, 1)  # there is nothing yet
        offline_guest.run_hook("SessionStart", source="startup")
        folder = Path(offline_guest.session.folder).parent
        (folder / "dangling").symlink_to(tmp_path / "nowhere")
        (folder / "linked").symlink_to(tmp_path)
        Session.sweep(offline_guest.home, 2**62, 1)
        assert sorted(path.name for path in folder.iterdir()) == ["dangling", "linked"]


def test_what_was_written_by_nobody_we_know_counts_as_nothing(offline_guest: HookGuest) -> None:
    offline_guest.run_hook("SessionStart", source="startup")
    for content in (b"", b"[]", b'{"stops": 7}', b'{"closed": [{"nom": 1}]}', b"\xff", json.dumps([1]).encode()):
        (Path(offline_guest.session.folder) / "state.json").write_bytes(content)
        assert offline_guest.run_stop().is_silent


def _create_repository(folder: Path) -> Path:
    folder.mkdir()
    _run_git(folder, "init", "-b", "main")
    return folder


def _run_git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)
