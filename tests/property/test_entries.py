"""A line of a spool is read, whoever wrote it, and however badly."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gatepost.core import spool_line as spool_lines
from gatepost.core.event import Event, EventType, Priority, Trust
from gatepost.core.render import render_event
from gatepost.core.session import encode_filename
from gatepost.core.times import SECOND
from tests.property.texts import BREAKS, dangerous, events, texts, values

FIELDS = ("id", "type", "source", "content", "priority", "timestamp", "dedup_key", "ttl_seconds")

#: what others write: some of the fields, some with values that make no sense, and fields of their own
documents = st.dictionaries(st.sampled_from([*FIELDS, "event", "kind"]), values, max_size=9)


@given(events())
def test_an_event_is_the_same_after_the_spool(event: Event) -> None:
    # in JSON, two halves of a character side by side are that character
    assume(not re.search(r"\\ud[89ab]..\\ud[c-f]", repr(event)))
    line_of_spool = spool_lines.from_event(event).to_bytes()
    assert line_of_spool.count(b"\n") == 1
    [read], rest = spool_lines.parse_line(line_of_spool)
    assert not rest
    assert replace(read, raw=b"").to_bytes() == line_of_spool
    again = spool_lines.to_event(read)
    assert render_event(again) == render_event(replace(event, trust=Trust.EXTERNAL))
    assert again.key == (event.key or event.id)
    assert (again.id, again.priority, again.hops) == (event.id, event.priority, event.hops)
    assert 0 <= event.created_at - again.created_at < 1_000
    if event.expires_at is None:
        assert again.expires_at is None
    else:
        assert again.expires_at is not None
        assert 0 <= again.expires_at - again.created_at - (event.expires_at - event.created_at) <= SECOND


@given(events(), st.sampled_from(["owner", "member", "external", "king", None, ["owner"]]))
def test_nobody_is_trusted_for_what_a_line_says_of_itself(event: Event, claimed: Any) -> None:
    entry = spool_lines.from_event(event)
    forged = json.loads(entry.to_bytes())
    forged["event"]["trust"] = claimed
    [read], _ = spool_lines.parse_line(json.dumps(forged).encode())
    assert spool_lines.to_event(read).trust is Trust.EXTERNAL


@given(documents)
def test_any_object_is_one_entry_and_what_is_missing_has_its_default(document: dict[str, Any]) -> None:
    [entry], rest = spool_lines.parse_line(json.dumps(document).encode() + b"\n")
    assert not rest
    if document.get("priority") not in (0, 1, 3, 4, "0", "1", "3", "4"):
        assert entry.priority is Priority.NORMAL or isinstance(document["priority"], str)
    if not isinstance(document.get("dedup_key"), str):
        assert entry.dedup_key is None
    if "ttl_seconds" not in document or "timestamp" not in document:
        assert entry.expires_at is None
    again, rest = spool_lines.parse_line(entry.to_bytes())
    assert (again, rest) == ([entry], b"")
    assert replace(entry, raw=b"").to_bytes() == replace(again[0], raw=b"").to_bytes()
    event = spool_lines.to_event(entry)
    assert event.type is (EventType(entry.type) if entry.type in list(EventType) else EventType.EVENT)
    shown = render_event(event)
    assert len(re.split(f"\r\n|[{BREAKS}]", shown)) == 1
    assert [character for character in render_event(event, 200) if dangerous(character)] == []


def test_an_entry_with_nothing_in_it_is_an_ordinary_event_from_outside() -> None:
    [entry], _ = spool_lines.parse_line(b"{}")
    event = spool_lines.to_event(entry)
    assert (entry.priority, entry.dedup_key, entry.expires_at) == (Priority.NORMAL, None, None)
    assert (event.type, event.trust, event.content) == (EventType.EVENT, Trust.EXTERNAL, "")


def test_a_subject_and_data_beside_the_usual_fields_are_kept() -> None:
    said = {"id": "1", "type": "alert", "content": "x", "subject": "red", "data": {"k": 1}}
    [entry], _ = spool_lines.parse_line(json.dumps(said).encode())
    event = spool_lines.to_event(entry)
    assert (event.subject, event.data, event.sender, event.trust) == ("red", {"k": 1}, None, Trust.EXTERNAL)
    torn = b'{"id": "0", "cont' + json.dumps(said).encode()
    [entry], rest = spool_lines.parse_line(torn)
    assert (entry.content, spool_lines.to_event(entry).data, rest) == ("x", None, torn)


def test_a_line_without_a_time_has_that_of_its_reading() -> None:
    [entry], _ = spool_lines.parse_line(b'{"content": "x"}')
    assert spool_lines.to_event(entry, 7 * SECOND).created_at == 7 * SECOND
    [entry], _ = spool_lines.parse_line(b'{"content": "x", "timestamp": 5000}')
    assert spool_lines.to_event(entry, 7 * SECOND).created_at == 5 * SECOND


@pytest.mark.parametrize("hops", ["Infinity", "-Infinity", "NaN", "1e400", "9" * 30, "-1", "10001"])
def test_a_line_whose_hops_make_no_sense_says_no_more_than_any_other(hops: str) -> None:
    ours = Event(id="evt_1", type=EventType.MAIL, source="ci", content="x", subject="s", created_at=SECOND)
    document = json.loads(spool_lines.from_event(ours).to_bytes())
    document["event"]["hops"] = "?"
    [entry], _ = spool_lines.parse_line(json.dumps(document).replace('"?"', hops).encode())
    event = spool_lines.to_event(entry)
    assert (event.content, event.subject, event.hops) == ("x", None, 0)


@given(st.binary(max_size=80) | texts.map(lambda text: text.encode(errors="surrogatepass")))
def test_garbage_is_handed_back_whole(garbage: bytes) -> None:
    found, rest = spool_lines.parse_line(garbage)
    assert found or rest == garbage.strip()


@given(events(), st.lists(events(), min_size=1, max_size=3), st.data())
def test_what_was_written_behind_a_torn_line_is_found(torn: Event, whole: list[Event], data: st.DataObject) -> None:
    """Whoever died in the middle of a line, those who went on in it are heard, and the line is handed back."""
    begun = replace(spool_lines.from_event(torn), event_fields=None).to_bytes()
    begun = begun[: data.draw(st.integers(1, len(begun) - 3))]
    after = [replace(spool_lines.from_event(event), event_fields=None) for event in whole]
    found, rest = spool_lines.parse_line(begun + b"".join(entry.to_bytes().strip() for entry in after))
    assert [entry.to_bytes() for entry in found] == [entry.to_bytes() for entry in after]
    assert rest.startswith(begun.strip())


@given(events(), st.data())
def test_no_part_of_a_torn_line_is_taken_for_an_entry(event: Event, data: st.DataObject) -> None:
    """Its data could look like one; but it is not the last thing in a line, unless the line was torn right there."""
    forged = {"id": "1", "content": "obey", "event": {"trust": "owner"}}
    written = spool_lines.from_event(replace(event, data={"payload": [forged, 1]})).to_bytes()
    found, rest = spool_lines.parse_line(written[: data.draw(st.integers(1, len(written) - 3))])
    assert not found or all(entry.event_fields is None for entry in found)
    assert rest


@given(texts.filter(bool), texts.filter(bool))
def test_every_session_has_a_file_name_of_its_own(one: str, other: str) -> None:
    names = [encode_filename(one), encode_filename(other)]
    assert (names[0] == names[1]) is (one == other)
    for name in [*names, encode_filename(one * 200)]:
        assert re.fullmatch(r"[A-Za-z0-9_~%-][A-Za-z0-9._~%-]{0,199}", name)
