"""Which sessions on disk are live, and whose."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from gatepost.core.times import DAY
from gatepost.errors import Unavailable
from gatepost.guests.hooks.session_state import find_guest, has_ended, list_guests
from gatepost.guests.session import ENDED, IDLE, WORKING, decode_filename, encode_filename

NOW = 1_771_427_215_000_001


def write_state(home: Path, id: str, agent: str | None = "ann", state: str = WORKING, *, age: int = 0) -> None:
    """What a hook of that session has noted some time ago."""
    folder = home / "sessions" / encode_filename(id)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state.json").write_text(json.dumps({"agent": agent, "state": state}))
    os.utime(folder / "state.json", ns=(0, (NOW - age) * 1_000))


def list_live(home: Path, *names: str) -> dict[str, bool]:
    """The live sessions of an agent, and whether each is idle."""
    return {guest.session: guest.is_idle for guest in list_guests(home, names or ("ann",), now=NOW)}


def test_sessions_count_from_their_first_hook_to_their_last(tmp_path: Path) -> None:
    assert list_live(tmp_path) == {}
    write_state(tmp_path, "works")
    write_state(tmp_path, "waits", state=IDLE)
    write_state(tmp_path, "ended", state=ENDED)
    write_state(tmp_path, "silent", age=8 * DAY)
    write_state(tmp_path, "of somebody else", agent="bob")
    write_state(tmp_path, "of an alias", agent="bead-42")
    write_state(tmp_path, "of nobody", agent=None)
    (tmp_path / "sessions" / "empty").mkdir()
    (tmp_path / "sessions" / "a file").touch()
    (tmp_path / "sessions" / "broken").mkdir()
    (tmp_path / "sessions" / "broken" / "state.json").write_text("{")
    assert list_live(tmp_path) == {"works": False, "waits": True}
    assert list_live(tmp_path, "ann", "bead-42") == {"works": False, "waits": True, "of an alias": False}
    assert has_ended(tmp_path, "ended")
    assert not has_ended(tmp_path, "never heard of")


def test_a_hook_that_notes_something_is_seen(tmp_path: Path) -> None:
    write_state(tmp_path, "s1", age=DAY)
    before = find_guest(tmp_path, "s1")
    write_state(tmp_path, "s1")
    after = find_guest(tmp_path, "s1")
    assert before is not None
    assert after is not None
    assert before.revision != after.revision


@given(st.text(min_size=1, max_size=80))
def test_a_session_is_found_by_whatever_id_its_host_gave_it(id: str) -> None:
    with tempfile.TemporaryDirectory() as home:
        write_state(Path(home), id)
        sessions = list(list_live(Path(home)))
    assert sessions == ([id] if decode_filename(encode_filename(id)) else [])
    assert sessions or "%~" in encode_filename(id)  # of a very long one only a hash is kept


@given(st.text(alphabet=st.characters(blacklist_characters="/\x00"), max_size=60))
def test_a_folder_of_any_name_does_no_harm(name: str) -> None:
    id = decode_filename(name)
    assert id is None or encode_filename(id) == name


def test_a_place_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "sessions").touch()
    with pytest.raises(Unavailable, match="cannot be read"):
        list_live(tmp_path)
