"""CloudEvents come out of their envelopes alike, whichever of the three forms they came in."""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, to_binary_event, to_structured_event
from cloudevents.core.v1.event import CloudEvent
from hypothesis import given, strategies as st

from gatepost.channels.webhooks import cloudevent, verification as webhook
from gatepost.channels.webhooks.verification import Occurrence, Scheme, Verification
from gatepost.errors import Malformed, TooLarge

STRUCTURED = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"
EVENT: dict[str, Any] = {"specversion": "1.0", "id": "7", "source": "/office", "type": "door.opened"}
BINARY = {f"ce-{name}": value for name, value in EVENT.items()}


def unwrap(headers: Mapping[str, str], body: bytes) -> list[cloudevent.CloudEvent]:
    events = cloudevent.unwrap(webhook.merge_headers(headers.items()), body)
    assert events is not None
    return events


def build_structured(**fields: Any) -> cloudevent.CloudEvent:
    [event] = unwrap({"Content-Type": STRUCTURED}, json.dumps(EVENT | fields).encode())
    return event


def read_occurrences(headers: Mapping[str, str], body: bytes, delivery: str | None = None) -> tuple[Occurrence, ...]:
    occurrences = webhook.parse_request(
        Scheme.GITHUB, Verification(delivery), webhook.merge_headers(headers.items()), body
    )
    assert isinstance(occurrences, tuple)
    return occurrences


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(id=texts, subject=texts, extension=texts, data=st.dictionaries(st.text(), st.integers() | st.text()))
def test_what_another_library_sends_is_read_in_both_forms(
    id: str, subject: str, extension: str, data: dict[str, Any]
) -> None:
    moment = datetime(2026, 2, 18, 9, tzinfo=UTC)
    attributes = EVENT | {"id": id, "subject": subject, "time": moment, "region": extension}
    event = CloudEvent(attributes | {"datacontenttype": "application/json"}, data)
    expected = attributes | {"time": "2026-02-18T09:00:00Z", "datacontenttype": "application/json"}

    for message, is_enclosed in ((to_structured_event(event), True), (to_binary_event(event), False)):
        assert isinstance(message, HTTPMessage)
        assert unwrap(message.headers, message.body) == [
            cloudevent.CloudEvent(attributes=expected, data=data, is_structured=is_enclosed)
        ]


def test_the_payload_is_the_data_and_the_envelope_goes_beside_it() -> None:
    body = json.dumps(EVENT | {"subject": None, "data": {"who": "Ana"}}).encode()

    assert read_occurrences({"Content-Type": f"{STRUCTURED}; charset=utf-8"}, body) == (
        Occurrence(payload={"who": "Ana"}, id="/office 7", kind="door.opened", details={"cloudEvent": EVENT}),
    )


def test_a_batch_is_as_many_events() -> None:
    body = json.dumps([EVENT | {"data": 1}, EVENT | {"id": "8"}, EVENT | {"data": 1}]).encode()

    occurrences = read_occurrences({"Content-Type": BATCH}, body)

    assert [(occurrence.id, occurrence.payload) for occurrence in occurrences] == [
        ("/office 7", 1),
        ("/office 8", None),
        ("/office 7", 1),
    ]
    assert read_occurrences({"Content-Type": BATCH}, b"[]") == ()


def test_the_content_type_decides_before_any_header() -> None:
    [event] = unwrap({"ce-id": "other", "Content-Type": STRUCTURED}, json.dumps(EVENT).encode())

    assert event.name == "/office 7"


def test_attributes_that_nobody_signed_do_not_name_a_delivery_that_has_a_name() -> None:
    body = json.dumps(EVENT).encode()

    assert [occurrence.id for occurrence in read_occurrences(BINARY, b"1", "delivery-1")] == ["delivery-1"]
    assert [occurrence.id for occurrence in read_occurrences(BINARY, b"1")] == ["/office 7"]
    assert [occurrence.id for occurrence in read_occurrences({"Content-Type": STRUCTURED}, body, "delivery-1")] == [
        "/office 7"
    ]


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € \N{GRINNING FACE}"),
        ("a+b%2Bc", "a+b+c"),
        ("%41%2542", "A%42"),
        ("100%", "100%"),
        (r'"two words, \"quoted\" \\"', 'two words, "quoted" \\'),
        ('"%22"', '"'),
        ("\xe2\x82\xac", "€"),  # as a server hands on bytes that were sent as they are
    ],
)
def test_headers_are_decoded_once(header: str, value: str) -> None:
    [event] = unwrap(BINARY | {"CE-Subject": header}, b"")

    assert event.attributes["subject"] == value


@pytest.mark.parametrize("header", ["%C0%A0", "%ff", "\xff", "%ED%A0%80", "€"])
def test_headers_that_are_not_utf8_are_refused(header: str) -> None:
    with pytest.raises(Malformed, match="UTF-8"):
        unwrap(BINARY | {"ce-subject": header}, b"")


@pytest.mark.parametrize(
    ("media", "body", "data"),
    [
        (None, b'{"a":1}', {"a": 1}),
        ("application/json", b"[1]", [1]),
        ("Application/Problem+JSON; charset=utf-8", b"{}", {}),
        ("text/plain", b"hello", "hello"),
        ("application/xml", b"<a/>", "<a/>"),
        ("application/json", b"", None),
    ],
)
def test_data_is_json_or_text(media: str | None, body: bytes, data: Any) -> None:
    [binary] = unwrap(BINARY | ({"Content-Type": media} if media else {}), body)
    type = {"datacontenttype": media} if media else {}

    assert binary.data == data
    assert build_structured(data_base64=base64.b64encode(body).decode(), **type).data == data


def test_data_in_a_structured_event_is_as_it_is() -> None:
    assert build_structured(data="<a/>", datacontenttype="text/xml").data == "<a/>"
    assert build_structured(data=None).data is None
    assert build_structured().data is None


@pytest.mark.parametrize(
    "fields",
    [
        *({name: bad_value} for name in EVENT for bad_value in (None, "", 7)),
        {"specversion": "0.3"},
        {"source": "two words"},
        {"source": "line\nbreak"},
        {"extension": {"a": 1}},
        {"extension": [1]},
        {"Upper": "x"},
        {"under_score": "x"},
        {"": "x"},
        {"data": 1, "data_base64": "MQ=="},
        {"data_base64": 7},
        {"data_base64": "not base64"},
        {"data_base64": "eA=="},
        {"data_base64": "eA==", "datacontenttype": "image/png"},
    ],
    ids=str,
)
def test_what_is_no_event_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        build_structured(**fields)


@pytest.mark.parametrize(
    ("media", "body"),
    [
        (STRUCTURED, b"[]"),
        (STRUCTURED, b"7"),
        (STRUCTURED, b""),
        (BATCH, b"{}"),
        (BATCH, json.dumps([EVENT, EVENT | {"id": None}]).encode()),
        ("application/cloudevents+avro", b"{}"),
        ("application/cloudevents", b"{}"),
    ],
)
def test_envelopes_that_cannot_be_opened_are_refused(media: str, body: bytes) -> None:
    with pytest.raises(Malformed):
        unwrap({"Content-Type": media}, body)


@pytest.mark.parametrize("missing", BINARY)
def test_a_binary_event_lacks_nothing(missing: str) -> None:
    with pytest.raises(Malformed):
        unwrap({name: value for name, value in BINARY.items() if name != missing}, b"{}")


def test_a_batch_has_an_end() -> None:
    with pytest.raises(TooLarge):
        unwrap({"Content-Type": BATCH}, json.dumps([EVENT] * 1_001).encode())


def test_what_is_no_cloud_event_is_left_alone() -> None:
    assert cloudevent.unwrap({"content-type": "application/json", "ce-whatever": "x"}, b"{}") is None
