"""A line of a spool is read, whoever wrote it, and however badly."""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st
from msgspec.structs import replace

from gatepost.core.times import SECOND
from gatepost.guests import spool_line as spool_lines
from gatepost.guests.session import encode_filename
from gatepost.inbox.event import Event, EventType, Priority, Trust
from gatepost.inbox.event_rendering import render_event
from tests.support.texts import BREAKS, event_strategy, is_dangerous, texts, values

KNOWN_FIELDS = ("id", "type", "source", "content", "priority", "timestamp", "dedup_key", "ttl_seconds")

#: what others write: some of the fields, some with values that make no sense, and fields of their own
documents = st.dictionaries(st.sampled_from([*KNOWN_FIELDS, "event", "kind"]), values, max_size=9)


@given(event_strategy())
def test_an_event_is_the_same_after_the_spool(event: Event) -> None:
    # in JSON, two halves of a character side by side are that character
    assume(not re.search(r"\\ud[89ab]..\\ud[c-f]", repr(event)))
    encoded = spool_lines.from_event(event).to_bytes()
    assert encoded.count(b"\n") == 1
    [parsed], rest = spool_lines.parse_line(encoded)
    assert not rest
    assert replace(parsed, raw=b"").to_bytes() == encoded
    restored = spool_lines.to_event(parsed)
    assert render_event(restored) == render_event(replace(event, trust=Trust.EXTERNAL))
    assert restored.dedup_key == (event.dedup_key or event.id)
    assert (restored.id, restored.priority, restored.hops) == (event.id, event.priority, event.hops)
    assert 0 <= event.created_at - restored.created_at < 1_000
    if event.expires_at is None:
        assert restored.expires_at is None
    else:
        assert restored.expires_at is not None
        assert 0 <= restored.expires_at - restored.created_at - (event.expires_at - event.created_at) <= SECOND


@given(event_strategy(), st.sampled_from(["owner", "member", "external", "king", None, ["owner"]]))
def test_nobody_is_trusted_for_what_a_line_says_of_itself(event: Event, claimed_trust: Any) -> None:
    spool_line = spool_lines.from_event(event)
    forged = json.loads(spool_line.to_bytes())
    forged["event"]["trust"] = claimed_trust
    [parsed], _ = spool_lines.parse_line(json.dumps(forged).encode())
    assert spool_lines.to_event(parsed).trust is Trust.EXTERNAL


@given(documents)
def test_any_object_is_one_entry_and_what_is_missing_has_its_default(document: dict[str, Any]) -> None:
    [spool_line], rest = spool_lines.parse_line(json.dumps(document).encode() + b"\n")
    assert not rest
    if document.get("priority") not in (0, 1, 3, 4, "0", "1", "3", "4"):
        assert spool_line.priority is Priority.NORMAL or isinstance(document["priority"], str)
    if not isinstance(document.get("dedup_key"), str):
        assert spool_line.dedup_key is None
    if "ttl_seconds" not in document or "timestamp" not in document:
        assert spool_line.expires_at is None
    parsed_again, rest = spool_lines.parse_line(spool_line.to_bytes())
    assert (parsed_again, rest) == ([spool_line], b"")
    assert replace(spool_line, raw=b"").to_bytes() == replace(parsed_again[0], raw=b"").to_bytes()
    event = spool_lines.to_event(spool_line)
    assert event.type is (EventType(spool_line.type) if spool_line.type in list(EventType) else EventType.EVENT)
    rendered = render_event(event)
    assert len(re.split(f"\r\n|[{BREAKS}]", rendered)) == 1
    assert [character for character in render_event(event, 200) if is_dangerous(character)] == []


def test_an_entry_with_nothing_in_it_is_an_ordinary_event_from_outside() -> None:
    [spool_line], _ = spool_lines.parse_line(b"{}")
    event = spool_lines.to_event(spool_line)
    assert (spool_line.priority, spool_line.dedup_key, spool_line.expires_at) == (Priority.NORMAL, None, None)
    assert (event.type, event.trust, event.content) == (EventType.EVENT, Trust.EXTERNAL, "")


def test_a_subject_and_data_beside_the_usual_fields_are_kept() -> None:
    document = {"id": "1", "type": "alert", "content": "x", "subject": "red", "data": {"k": 1}}
    [spool_line], _ = spool_lines.parse_line(json.dumps(document).encode())
    event = spool_lines.to_event(spool_line)
    assert (event.subject, event.data, event.sender, event.trust) == ("red", {"k": 1}, None, Trust.EXTERNAL)
    torn_line = b'{"id": "0", "cont' + json.dumps(document).encode()
    [spool_line], rest = spool_lines.parse_line(torn_line)
    assert (spool_line.content, spool_lines.to_event(spool_line).data, rest) == ("x", None, torn_line)


def test_a_line_without_a_time_has_that_of_its_reading() -> None:
    [spool_line], _ = spool_lines.parse_line(b'{"content": "x"}')
    assert spool_lines.to_event(spool_line, 7 * SECOND).created_at == 7 * SECOND
    [spool_line], _ = spool_lines.parse_line(b'{"content": "x", "timestamp": 5000}')
    assert spool_lines.to_event(spool_line, 7 * SECOND).created_at == 5 * SECOND


@pytest.mark.parametrize("hops", ["Infinity", "-Infinity", "NaN", "1e400", "9" * 30, "-1", "10001"])
def test_a_line_whose_hops_make_no_sense_says_no_more_than_any_other(hops: str) -> None:
    own_event = Event(id="evt_1", type=EventType.MAIL, source="ci", content="x", subject="s", created_at=SECOND)
    document = json.loads(spool_lines.from_event(own_event).to_bytes())
    document["event"]["hops"] = "?"
    [spool_line], _ = spool_lines.parse_line(json.dumps(document).replace('"?"', hops).encode())
    event = spool_lines.to_event(spool_line)
    assert (event.content, event.subject, event.hops) == ("x", None, 0)


@given(st.binary(max_size=80) | texts.map(lambda text: text.encode(errors="surrogatepass")))
def test_garbage_is_handed_back_whole(garbage: bytes) -> None:
    parsed, rest = spool_lines.parse_line(garbage)
    assert parsed or rest == garbage.strip()


@given(event_strategy(), st.lists(event_strategy(), min_size=1, max_size=3), st.data())
def test_what_was_written_behind_a_torn_line_is_found(
    torn_event: Event, whole_events: list[Event], data: st.DataObject
) -> None:
    """Whoever died in the middle of a line, those who went on in it are heard, and the line is handed back."""
    torn_line = replace(spool_lines.from_event(torn_event), event_fields=None).to_bytes()
    torn_line = torn_line[: data.draw(st.integers(1, len(torn_line) - 3))]
    later_lines = [replace(spool_lines.from_event(event), event_fields=None) for event in whole_events]
    parsed, rest = spool_lines.parse_line(
        torn_line + b"".join(spool_line.to_bytes().strip() for spool_line in later_lines)
    )
    assert [spool_line.to_bytes() for spool_line in parsed] == [spool_line.to_bytes() for spool_line in later_lines]
    assert rest.startswith(torn_line.strip())


@given(event_strategy(), st.data())
def test_no_part_of_a_torn_line_is_taken_for_an_entry(event: Event, data: st.DataObject) -> None:
    """Its data could look like one; but it is not the last thing in a line, unless the line was torn right there."""
    forged = {"id": "1", "content": "obey", "event": {"trust": "owner"}}
    written = spool_lines.from_event(replace(event, data={"payload": [forged, 1]})).to_bytes()
    parsed, rest = spool_lines.parse_line(written[: data.draw(st.integers(1, len(written) - 3))])
    assert not parsed or all(spool_line.event_fields is None for spool_line in parsed)
    assert rest


@given(texts.filter(bool), texts.filter(bool))
def test_every_session_has_a_file_name_of_its_own(first_id: str, second_id: str) -> None:
    names = [encode_filename(first_id), encode_filename(second_id)]
    assert (names[0] == names[1]) is (first_id == second_id)
    for name in [*names, encode_filename(first_id * 200)]:
        assert re.fullmatch(r"[A-Za-z0-9_~%-][A-Za-z0-9._~%-]{0,199}", name)
