"""Session gates: who opens them, what a look at them changes (nothing), and what holds when nobody can look."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatepost.actions import directory, gates, push
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Push, Ref
from gatepost.core.gate import FailMode, GateSpec
from gatepost.core.times import SECOND
from gatepost.errors import Conflict, Invalid, NotFound, Unavailable
from gatepost.hooks import gates as session_gates
from gatepost.hooks.gates import SessionGate
from gatepost.hooks.git_status import find_unsaved_work
from gatepost.hooks.session import Session
from gatepost.testing import Kit
from tests.visits import Guest


@pytest.fixture
def guest(tmp_path: Path, kit: Kit) -> Guest:
    """Ann, in a session that began just now, with an administrator to own her."""
    kit.store.call(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.call(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
    guest = Guest(tmp_path, kit.store, kit.clock)
    guest.hook("SessionStart", source="startup")
    return guest


@pytest.fixture
def alone(tmp_path: Path) -> Guest:
    """A session without a store."""
    return Guest(tmp_path)


def files(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


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
        assert [one.name for one in session_gates.list_registered_gates(tmp_path)] == ["tested"]
        assert [each.name for each in tmp_path.iterdir()] == ["gates.json"], "nothing is left aside"

    def test_what_is_built_in_stays_as_it_is(self, tmp_path: Path) -> None:
        with pytest.raises(Conflict, match="'commit-push' is built in"):
            session_gates.register(tmp_path, SessionGate(name="commit-push"))
        with pytest.raises(Conflict, match="'decision' is built in"):
            session_gates.unregister(tmp_path, "decision")
        with pytest.raises(NotFound, match="no session gate 'tested'"):
            session_gates.unregister(tmp_path, "tested")

    @pytest.mark.parametrize("hook", ["PostToolUse", "stop", "", "SessionStart"])
    def test_not_at_every_event(self, tmp_path: Path, hook: str) -> None:
        with pytest.raises(Invalid, match="no event for a gate"):
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
    folder = Session(home, id).folder
    assert folder.parent == home / "sessions"
    assert os.path.normpath(folder) == str(folder)
    assert len(os.fsencode(folder.name)) <= 255
    assert "\x00" not in folder.name


class TestLooking:
    def test_a_strict_one_blocks_until_it_is_marked(self, alone: Guest) -> None:
        session_gates.register(alone.home, SessionGate(name="tested", hint="run the tests"))
        reason = "tested: it is not marked (run the tests). When it is done, run: "
        block = alone.stop().block or ""
        assert block.startswith(reason)
        assert block.endswith(f"gatepost gate mark tested --session {alone.session.id}")
        alone.session.mark("tested")
        assert alone.stop().is_silent
        assert alone.session.clear_mark("tested")
        assert alone.stop().block is not None
        assert Guest(alone.home, id="another").stop().block is not None

    def test_a_soft_one_warns_once_each_session(self, alone: Guest) -> None:
        session_gates.register(alone.home, SessionGate(name="said", soft=True))
        assert alone.stop(printed=False).warnings == ("said: it is not marked",)
        assert alone.stop().warnings == ("said: it is not marked",), "nobody has seen the first"
        assert alone.stop().is_silent
        assert not alone.session.is_marked("said"), "that it warned is no mark"
        assert Guest(alone.home, id="another").stop().warnings
        alone.session.clear_mark("said")
        assert alone.stop().warnings

    def test_elsewhere_than_at_its_event_it_says_nothing(self, alone: Guest) -> None:
        session_gates.register(alone.home, SessionGate(name="careful", hook="PreToolUse"))
        assert alone.stop().is_silent
        assert alone.hook("UserPromptSubmit").is_silent
        assert alone.hook("PreToolUse", tool="Bash").block == "careful: it is not marked"

    def test_to_look_changes_nothing(self, guest: Guest) -> None:
        session_gates.register(guest.home, SessionGate(name="tested"))
        repository = _repository(guest.home / "project")
        (repository / "new.txt").touch()
        before = files(guest.home)
        desk = guest.desk()
        standing = {
            gate.name: session_gates.check_gate(desk, gate, str(repository)).shut_reason
            for gate in session_gates.list_gates(guest.home)
        }
        assert standing == {
            "decision": None,
            "commit-push": "1 file is not committed",
            "work-update": None,
            "tested": "it is not marked",
        }
        assert session_gates.list_blocking_gates(desk, "ann") == []
        assert files(guest.home) == before

    def test_work_is_noted_by_a_note_or_an_event_about_a_work_item(self, guest: Guest) -> None:
        assert guest.store is not None
        guest.rules = guest.rules._replace(has_work_items=True)
        guest.clock.advance("1 minute")

        def shut() -> str | None:
            return session_gates.check_gate(guest.desk(), session_gates.BUILT_IN[2], "").shut_reason

        for wish in (
            Push(to="admin", source="x", content="by nobody", type=EventType.NOTE),
            Push(to="ann", source="x", content="by another", type=EventType.NOTE, sender="admin"),
            Push(to="admin", source="x", content="no note", sender="ann"),
            Push(to="admin", source="x", content="no work item", sender="ann", ref=Ref("space", "q4")),
        ):
            guest.store.call(push.push_event, wish)
            assert shut() is not None
        wish = Push(to="admin", source="x", content="done", sender="ann", ref=Ref("task", "7"))
        guest.store.call(push.push_event, wish)
        assert shut() is None
        assert not guest.session.is_marked("work-update")
        later = Guest(guest.home, guest.store, guest.clock, guest.rules, id="later")
        guest.clock.advance("1 minute")
        later.hook("SessionStart", source="startup")
        assert session_gates.check_gate(later.desk(), session_gates.BUILT_IN[2], "").shut_reason is not None

    def test_without_work_items_nobody_is_asked_to_note_anything(self, guest: Guest) -> None:
        assert guest.stop().is_silent
        assert not guest.session.has_warned("work-update")
        guest.session.mark("work-update")
        assert guest.session.is_marked("work-update"), "it is there, and can be marked"


class TestRepository:
    def test_what_is_not_saved(self, tmp_path: Path) -> None:
        assert find_unsaved_work(str(tmp_path)) is None, "no repository"
        here = _repository(tmp_path / "here")
        assert find_unsaved_work(str(here)) is None, "nothing in it"
        (here / "a.txt").write_text("a")
        (here / "sub").mkdir()
        (here / "sub" / "b.txt").write_text("b")
        assert find_unsaved_work(str(here / "sub")) == "2 files are not committed"
        _git(here, "add", ".")
        _git(here, "commit", "-m", "one")
        assert find_unsaved_work(str(here)) is None, "there is nowhere to push to"
        _git(tmp_path, "init", "--bare", "there.git")
        _git(here, "remote", "add", "origin", str(tmp_path / "there.git"))
        assert find_unsaved_work(str(here)) == "1 commit is not pushed"
        _git(here, "push", "-u", "origin", "HEAD")
        assert find_unsaved_work(str(here)) is None
        (here / "a.txt").write_text("more")
        assert find_unsaved_work(str(here)) == "1 file is not committed"
        _git(here, "commit", "-am", "two")
        assert find_unsaved_work(str(here)) == "1 commit is not pushed"
        assert find_unsaved_work("/nowhere/at/all") is None

    def test_what_a_repository_wants_to_run_is_not_run(self, tmp_path: Path) -> None:
        here = _repository(tmp_path / "here")
        _git(here, "config", "core.fsmonitor", f"touch {tmp_path}/ran; false")
        (here / "a.txt").touch()
        assert find_unsaved_work(str(here)) == "1 file is not committed"
        assert not (tmp_path / "ran").exists()


class TestClosed:
    """What is to hold although nobody can look."""

    def test_one_of_the_store_while_that_is_out_of_reach(self, guest: Guest) -> None:
        store = guest.store
        assert store is not None
        gate = store.call(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        store.call(gates.add, GateSpec(name="Tea", owner="ann"), by="admin")
        reason = guest.stop().block or ""
        assert "Sign-off" in reason
        assert "Tea" in reason
        guest.store = None
        held = guest.stop()
        assert held.is_fail_closed
        assert "Sign-off" in (held.block or "")
        assert "Tea" not in (held.block or ""), "that one fails open"
        assert guest.notes == ["the store is out of reach"]
        guest.store = store
        store.call(gates.resolve, gate.id, by="admin")
        assert "Sign-off" not in (guest.stop().block or "")
        guest.store = None
        guest.clock.advance("5 minutes")
        assert guest.stop().block is None, "it was seen open"

    @pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
    def test_one_of_the_store_at_the_first_stop(self, guest: Guest, event: str) -> None:
        assert guest.store is not None
        guest.store.call(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        guest.hook(event, source="startup")
        guest.store = None
        assert "Sign-off" in (guest.stop().block or "")

    def test_that_it_was_forgotten_is_told(self, guest: Guest) -> None:
        path = guest.session.folder / "state.json"
        path.write_bytes(path.read_bytes()[:-9])
        guest.store = None
        assert guest.stop().is_silent
        assert any("damaged" in note for note in guest.notes)

    @pytest.mark.parametrize("damage", ['"hint": []', '"closed": "yes"', '"name": 7', '"hook": "Never"', '"tea": 1'])
    def test_one_of_the_session_that_is_damaged_in_the_list(self, alone: Guest, damage: str) -> None:
        session_gates.register(alone.home, SessionGate(name="signed", closed=True))
        alone.stop()
        damaged = '{"name": "signed", "closed": true, ' + damage + "}"
        (alone.home / "gates.json").write_text(f'[{damaged}, {{"name": "tested"}}, 7]')
        for _ in range(2):
            assert alone.stop().block == "tested: it is not marked\nsigned: it is not marked"
            assert sum("is passed over" in note for note in alone.notes) == 2
        another = Guest(alone.home, id="another")
        assert another.stop().block == "tested: it is not marked"
        assert set(another.notes) == set(alone.notes)
        before = (alone.home / "gates.json").read_bytes()
        with pytest.raises(Unavailable, match="cannot be read"):
            session_gates.register(alone.home, SessionGate(name="said"))
        assert (alone.home / "gates.json").read_bytes() == before

    def test_one_that_is_kept_when_looking_fails_altogether(
        self, guest: Guest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert guest.store is not None
        guest.store.call(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        for name in ("signed", "marked"):
            session_gates.register(guest.home, SessionGate(name=name, closed=True))
        guest.session.mark("marked")
        guest.stop()

        def broken(_: Path) -> None:
            raise AttributeError("a fault of ours")

        monkeypatch.setattr(session_gates, "read_registered_gates", broken)
        held = guest.stop()
        assert "Sign-off" in (held.block or "")
        assert "signed: it is not marked" in (held.block or "")
        assert "marked: " not in (held.block or "").replace("not marked", "")
        assert held.is_fail_closed
        assert "the gates cannot be looked at: a fault of ours" in guest.notes

    def test_one_of_the_session_while_the_list_cannot_be_read(self, alone: Guest) -> None:
        session_gates.register(alone.home, SessionGate(name="signed", closed=True))
        session_gates.register(alone.home, SessionGate(name="tested"))
        alone.stop()
        (alone.home / "gates.json").write_text('[{"name": "sig')
        with pytest.raises(Unavailable, match="cannot be read"):
            session_gates.list_registered_gates(alone.home)
        assert alone.stop().block == "signed: it is not marked"
        assert any("cannot be read" in note for note in alone.notes)
        alone.session.mark("signed")
        assert alone.stop().block is None

    def test_one_whose_mark_cannot_be_looked_at(self, alone: Guest) -> None:
        session_gates.register(alone.home, SessionGate(name="signed", closed=True))
        session_gates.register(alone.home, SessionGate(name="tested"))
        alone.session.folder.mkdir(parents=True)
        (alone.session.folder / "marks").symlink_to("marks")
        assert (alone.stop().block or "").startswith("signed: it cannot be looked at")

    def test_the_loop_detector_lets_also_these_go(self, guest: Guest) -> None:
        assert guest.store is not None
        guest.store.call(gates.add, GateSpec(name="Sign-off", owner="ann", fail=FailMode.CLOSED), by="admin")
        assert [guest.stop().block is not None for _ in range(5)] == [True, True, True, False, True]


@pytest.mark.parametrize("event", ["Stop", "PreToolUse"])
def test_a_list_that_cannot_be_read_is_told_of_each_time(alone: Guest, event: str) -> None:
    os.mkfifo(alone.home / "gates.json")
    for _ in range(2):
        alone.hook(event)
        assert any("gates.json' cannot be read: it is not a regular file" in note for note in alone.notes)


class TestLongAgo:
    """What is left of sessions that are over."""

    def test_an_empty_spool_is_cleared_away_with_its_session_in_two_rounds(self, alone: Guest) -> None:
        old = self.over(alone)
        old.spooled("tea")
        assert old.hook("UserPromptSubmit").context
        old.stop()
        spool = alone.home / "spool"
        with (spool / "old.jsonl").open("a") as slow:  # somebody is about to write
            self.later(alone)
            assert (old.session.folder.exists(), old.spool.is_empty("old")) == (True, True)
            assert not (spool / "old.jsonl").exists()
            slow.write('{"id": "1", "content": "cake"}\n')
        self.later(alone)
        assert not old.session.folder.exists()
        assert [entry.content for entry in old.spool.peek("old")] == ["cake"], "as long as it has a line it stays"
        assert "cake" in (old.hook("UserPromptSubmit").context or "")
        old.stop()
        for _ in range(2):
            assert old.session.folder.exists()
            self.later(alone)
        assert not old.session.folder.exists()
        assert [each.name for each in spool.iterdir() if each.name.startswith("old")] == []

    def test_two_rounds_at_once_are_one(self, alone: Guest) -> None:
        old = self.over(alone)
        old.spooled("tea")
        old.hook("UserPromptSubmit")
        old.stop()
        assert [old.spool.clear("old", before=alone.clock.now()) for _ in range(3)] == [False] * 3

    def test_what_no_model_has_answered_stays_if_only_the_spool_has_it(self, alone: Guest) -> None:
        old = self.over(alone)
        old.spooled("tea")
        old.hook("UserPromptSubmit")
        self.later(alone)
        self.later(alone)
        assert [batch.event for batch in old.spool.read_unproved("old")] == ["UserPromptSubmit"]

    @pytest.mark.parametrize("ending", ["", ".draining", ".aside", ".shown"])
    def test_what_somebody_has_still_to_read_stays(self, alone: Guest, ending: str) -> None:
        old = self.over(alone)
        (alone.home / "spool").mkdir(exist_ok=True)
        kept = alone.home / "spool" / f"old.jsonl{ending}"
        kept.write_text('["k", false, 1]\n')
        self.later(alone)
        self.later(alone)
        assert (old.session.folder.exists(), kept.exists()) == (False, True)

    def over(self, alone: Guest) -> Guest:
        old = replace(alone, id="old")
        old.hook("SessionStart", source="startup")
        old.hook("SessionEnd")
        return old

    def later(self, alone: Guest) -> None:
        """A month passes, for the disk too, and somebody comes."""
        before = alone.clock.now() // SECOND - 31 * 86_400
        for each in (*(alone.home / "sessions").iterdir(), *(alone.home / "spool").iterdir()):
            os.utime(each, (before, before))
        alone.hook("SessionStart", source="startup")


class TestLinks:
    """A session's folder that is somewhere else is not ours."""

    def test_they_are_not_followed(self, alone: Guest, tmp_path: Path) -> None:
        session_gates.register(alone.home, SessionGate(name="signed", closed=True))
        elsewhere = tmp_path / "elsewhere"
        (elsewhere / "marks").mkdir(parents=True)
        (elsewhere / "marks" / "signed").touch()
        alone.session.folder.parent.mkdir()
        alone.session.folder.symlink_to(elsewhere)
        assert (alone.stop().block or "").startswith("signed: it cannot be looked at")
        assert any("is a link" in note for note in alone.notes)
        assert [each.name for each in elsewhere.iterdir()] == ["marks"], "nothing was written there"

    def test_they_do_not_keep_old_sessions_from_being_removed(self, alone: Guest, tmp_path: Path) -> None:
        Session.sweep(alone.home, 0, 1)  # there is nothing yet
        alone.hook("SessionStart", source="startup")
        folder = alone.session.folder.parent
        (folder / "dangling").symlink_to(tmp_path / "nowhere")
        (folder / "linked").symlink_to(tmp_path)
        Session.sweep(alone.home, 2**62, 1)
        assert sorted(each.name for each in folder.iterdir()) == ["dangling", "linked"]


def test_what_was_written_by_nobody_we_know_counts_as_nothing(alone: Guest) -> None:
    alone.hook("SessionStart", source="startup")
    for garbage in (b"", b"[]", b'{"stops": 7}', b'{"closed": [{"nom": 1}]}', b"\xff", json.dumps([1]).encode()):
        (alone.session.folder / "state.json").write_bytes(garbage)
        assert alone.stop().is_silent


def _repository(folder: Path) -> Path:
    folder.mkdir()
    _git(folder, "init", "-b", "main")
    return folder


def _git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)
