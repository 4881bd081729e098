"""Mail, notes and events on a ledger: ours are read as written, those of the source document too, and no others."""

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import Struct

from gatepost.errors import Invalid
from gatepost.inbox.event import Priority, Ref
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.message_decoding import PostedMailData, parse_mail_data, parse_work_post
from gatepost.mail.sent_record import MailData
from gatepost.mail.work_item import EventData, NoteData, WorkType

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
REFS = st.builds(Ref, st.sampled_from(["task", "agent"]), TEXTS.filter(bool))


def build_mail(**fields: Any) -> PostedMailData:
    """Mail with the defaults of what is missing."""
    defaults: dict[str, Any] = {
        "message_type": "message",
        "subject": None,
        "payload": {},
        "context": None,
        "ledger_priority": 3,
    }
    return PostedMailData(**defaults | fields)


def build_note(**fields: Any) -> NoteData:
    defaults: dict[str, Any] = {"from_agent": "quinn", "ledger_priority": 3}
    return NoteData(**defaults | fields)


def get_fields(data: Struct) -> dict[str, Any]:
    return {name: getattr(data, name) for name in data.__struct_fields__}


def post(**fields: Any) -> NoteData | EventData:
    return parse_work_post(json.dumps(fields).encode())


@given(
    st.none() | TEXTS.filter(bool),
    st.dictionaries(TEXTS, VALUES, max_size=3),
    VALUES,
    st.none() | REFS,
    st.sampled_from(Priority),
    st.booleans(),
)
def test_mail_is_read_as_it_was_posted(
    subject: str | None, payload: dict[str, Any], context: Any, ref: Ref | None, priority: Priority, as_text: bool
) -> None:
    data = {
        "uid": "mail_1",
        "message_type": "review.request",
        "subject": subject,
        "payload": payload,
        "context": context,
        "ref_id": ref.id if ref else None,
        "ref_type": ref.type if ref else None,
        "priority": priority.value + 1,
    }
    content = hcs10.encode(data)
    stored = msgspec.json.decode(content, type=MailData)
    assert hcs10.encode(msgspec.to_builtins(stored)) == content
    assert stored.priority is priority
    posted = parse_mail_data(content.decode() if as_text else data)
    assert posted == PostedMailData(**get_fields(stored))


def test_mail_of_the_source_document() -> None:
    data: dict[str, Any] = {
        "message_type": "task.blocked",
        "subject": "No schema",
        "payload": {"table": "orders"},
        "ref_id": "0.0.7",
        "ref_type": "task",
        "priority": 1,
    }
    mail = parse_mail_data(data)
    assert mail == build_mail(
        message_type="task.blocked",
        subject="No schema",
        payload={"table": "orders"},
        ref_type="task",
        ref_id="0.0.7",
        ledger_priority=1,
    )
    assert mail.priority is Priority.CRITICAL


def test_what_is_missing_has_a_default() -> None:
    assert parse_mail_data({"subject": "S"}) == build_mail(subject="S")
    assert build_mail().priority is Priority.NORMAL
    assert parse_mail_data({"payload": "hello"}).payload == {"text": "hello"}
    nothing = {"subject": "S", "payload": None, "context": None, "priority": None, "uid": None, "message_type": None}
    assert parse_mail_data(nothing) == build_mail(subject="S")
    assert parse_mail_data({"subject": "S", "ref_id": "7"}) == build_mail(subject="S")
    assert parse_mail_data({"subject": "", "context": ""}) == build_mail(context="")


def test_of_mail_that_is_too_long_the_hash_is_there() -> None:
    digest = hcs10.build_digest({"uid": "mail_1"}, b"content")
    data = parse_mail_data(digest)
    assert (data.uid, data.payload) == ("mail_1", {})
    assert data.sha384 == json.loads(digest)["sha384"]


@pytest.mark.parametrize("text", ["hello", "", "7", '"x"', "[1]", "{", '{"a": 1} b', "[" * 10_000, '{"a":' * 10_000])
def test_a_text_that_is_not_an_object_is_the_text_of_the_mail(text: str) -> None:
    assert parse_mail_data(text) == build_mail(payload={"text": text})


def test_an_object_that_is_not_mail_is_the_payload() -> None:
    document = {"type": "trace_lab_ping", "body": "Hi"}
    assert parse_mail_data(json.dumps(document)) == parse_mail_data(document) == build_mail(payload=document)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"uid": 5}, "uid: 5 is not text"),
        ({"uid": "x" * 129}, "uid: 'xxx"),
        ({"message_type": ["fyi"]}, "message_type: a list is not text"),
        ({"message_type": "No Type"}, "message_type: 'No Type' is not a message type"),
        ({"message_type": "x" * 65}, "message_type: 'xxx"),
        ({"subject": {}}, "subject: an object is not text"),
        ({"subject": "x" * 1_001}, "subject: 'xxx"),
        ({"subject": "x" * 5_000}, "subject: 'xxx"),
        ({"payload": 7}, "payload: 7 is not an object"),
        ({"payload": [1]}, "payload: a list is not an object"),
        ({"ref_id": 7, "ref_type": "task"}, "ref_id: 7 is not text"),
        ({"priority": 0}, "priority: 0 is less than 1"),
        ({"priority": 6}, "priority: 6 is more than 5"),
        ({"priority": "high"}, "priority: 'high' is not a whole number"),
        ({"priority": True}, "priority: true is not a whole number"),
        ({"sha384": "abc"}, "sha384: 'abc' is not a hash of 96 hexadecimal digits"),
        ({"payload": {"a": "\x00"}}, "the mail has a NUL character in it"),
        ({"context": "\ud800"}, "the mail is not valid Unicode"),
        ({"payload": {"a": "x" * 1_100_000}}, "the mail is 1100020 bytes as JSON, over the limit of 1048576"),
        ("\x00", "the mail has a NUL character in it"),
        ("\ud800", "the mail is not valid Unicode"),
    ],
)
def test_mail_that_no_inbox_could_show_is_refused(data: Any, sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_mail_data(data)
    assert caught.value.message.startswith(sentence)


@given(st.sampled_from(WorkType), TEXTS.filter(lambda text: bool(text.strip())), st.sampled_from(Priority))
def test_notes_and_events_are_read_as_they_were_posted(type: WorkType, text: str, priority: Priority) -> None:
    note = NoteData(
        type=f"{type}.note",
        from_agent="ann",
        note=text,
        notify=("bob", "team:web/lead"),
        uid="note_1",
        ledger_priority=priority.value + 1,
    )
    event = EventData(type=f"{type}.blocked", from_agent="ann", reason=text, uid="work_1")
    for data in (note, event):
        content = hcs10.encode(msgspec.to_builtins(data))
        assert parse_work_post(content) == msgspec.json.decode(content, type=data.__class__) == data


def test_a_note_and_an_event_of_the_source_document() -> None:
    assert post(type="task.note", from_agent="quinn", note="**Done**", notify=["mindy", "justin", "mindy"], ts=7) == (
        build_note(type="task.note", note="**Done**", notify=("mindy", "justin"))
    )
    assert post(type="project.note", from_agent="quinn", note="x", priority=2, ts="2026-04-25T00:00:00Z") == build_note(
        type="project.note", note="x", ledger_priority=2
    )
    assert post(type="phase.complete", from_agent="quinn", extra={"a": 1}) == EventData(
        type="phase.complete", from_agent="quinn", reason=""
    )


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "type: null is not a note or an event of a work item"),
        ({"type": 7}, "type: 7 is not a note or an event of a work item"),
        ({"type": "task"}, "type: 'task' is not a note or an event of a work item"),
        ({"type": "agent.note"}, "type: 'agent.note' is not a note or an event of a work item"),
        ({"type": "task.note", "note": "x"}, "'from_agent' is missing"),
        ({"type": "task.note", "from_agent": "team:x", "note": "x"}, "from_agent: 'team:x' is not one entity"),
        ({"type": "task.note", "from_agent": "a b", "note": "x"}, "from_agent: 'a b' is not a name"),
        ({"type": "task.note", "from_agent": "a"}, "'note' is missing"),
        ({"type": "task.note", "from_agent": "a", "note": " \n"}, "note: it is empty"),
        ({"type": "task.note", "from_agent": "a", "note": ["x"]}, "note: a list is not text"),
        ({"type": "task.note", "from_agent": "a", "note": "x", "notify": "bob"}, "notify: 'bob' is not a list"),
        ({"type": "task.note", "from_agent": "a", "note": "x", "notify": [1]}, "notify[0]: 1 is not text"),
        ({"type": "task.note", "from_agent": "a", "note": "x", "notify": [""]}, "notify[0]: '' is not an address"),
        ({"type": "task.note", "from_agent": "a", "note": "x", "notify": ["ALL"]}, "notify[0]: a note cannot notify"),
        (
            {"type": "task.note", "from_agent": "a", "note": "x", "notify": ["b"] * 51},
            "notify: a list has more than 50 members",
        ),
        ({"type": "task.note", "from_agent": "a", "note": "x", "priority": 9}, "priority: 9 is more than 5"),
        ({"type": "task.note", "from_agent": "a", "note": "x", "uid": {}}, "uid: an object is not text"),
        ({"type": "task.", "from_agent": "a"}, "type: '' is not an event of a work item"),
        ({"type": "task.Big Words", "from_agent": "a"}, "type: 'Big Words' is not an event of a work item"),
        ({"type": "task.phase.x", "from_agent": "a"}, "type: 'phase.x' is an event of a phase, and the work item is a"),
        ({"type": "task.blocked", "from_agent": "a", "reason": 7}, "reason: 7 is not text"),
        (
            {"type": "task.blocked", "from_agent": "a", "reason": "x" * 4_001},
            "reason: 'xxx",
        ),
    ],
)
def test_what_is_not_a_note_or_an_event_is_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as caught:
        post(**fields)
    assert caught.value.message.startswith(sentence)


NAMES = st.sampled_from(["type", "from_agent", "note", "notify", "reason", "uid", "priority", "subject", "payload"])
ANYTHING = VALUES | st.text(max_size=10) | st.floats() | st.sampled_from(["task.note", "task.blocked", "ann", "team:"])


@given(st.binary(max_size=100), st.dictionaries(NAMES, ANYTHING), st.text(max_size=50))
def test_whatever_others_post_only_invalid_is_raised(content: bytes, fields: dict[str, Any], text: str) -> None:
    for raw in (content, json.dumps({"type": "task.note", "from_agent": "ann", **fields}).encode()):
        with suppress(Invalid):
            parse_work_post(raw)
    for data in (text, fields, json.dumps(fields)):
        with suppress(Invalid):
            parse_mail_data(data)
