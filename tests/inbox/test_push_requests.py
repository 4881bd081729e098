"""What is wrong with a push, a batch or a trigger is said in one sentence."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from gatepost.errors import Invalid, Malformed
from gatepost.executor import LocalExecutor
from gatepost.inbox.push.api import PushEvent, PushEvents, TriggerAgent
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import Request
from tests.support.gateways.local_gateways import build_openapi
from tests.support.store_context import StoreContext


def decode(request_type: type[Request[Any]], body: str) -> Request[Any]:
    path = dict.fromkeys(request_type.operation.path_fields, "analyst")
    return get_decoder(request_type.operation).decode(path, b"", body.encode())


@pytest.mark.parametrize(
    ("request_type", "body", "sentence"),
    [
        (PushEvent, "{}", "'to' is missing"),
        (PushEvent, '{"to": "ann", "ref": {"type": "task"}}', "'ref.id' is missing"),
        (PushEvent, '{"to": "ann", "cotnent": "x"}', "'cotnent' is not a field of it"),
        (PushEvent, '{"to": "ann", "ref": {"typ": "task"}}', "'typ' is not a field of ref"),
        (PushEvent, '{"to": 5}', "to: 5 is not text"),
        (PushEvent, '{"to": null}', "to: null is not text"),
        (PushEvent, '{"to": "ann", "ref": 5}', "ref: 5 is not an object"),
        (PushEvent, '{"to": "ann", "priority": []}', "priority: a list is not a whole number or text"),
        (PushEvent, '{"to": "ann", "dedupKey": 5}', "dedupKey: what was sent is not text"),
        (PushEvent, '{"to": "ann", "hops": "many"}', "hops: 'many' is not a whole number"),
        (PushEvent, '{"to": "ann", "hops": -1}', "hops: -1 is less than 0"),
        (PushEvent, '{"to": "ann", "hops": 10001}', "hops: 10001 is more than 10000"),
        (PushEvent, '{"to": "ann", "hops": 1e999}', "hops: inf is not a whole number"),
        (PushEvent, "[]", "the body: a list is not an object"),
        (PushEvent, "null", "the body: null is not an object"),
        (PushEvents, '{"pushes": 5}', "pushes: 5 is not a list"),
        (PushEvents, f'{{"pushes": [{"{}," * 1_000}{{}}]}}', "pushes: a list has more than 1000 members"),
        (TriggerAgent, '{"serviceName": ""}', "serviceName: '' is shorter than 1 character"),
        (
            TriggerAgent,
            f'{{"serviceName": "{"s" * 201}"}}',
            f"serviceName: '{'s' * 59}…' is longer than 200 characters",
        ),
    ],
)
def test_what_is_wrong_with_a_push_is_one_sentence(request_type: type[Request[Any]], body: str, sentence: str) -> None:
    with pytest.raises(Invalid) as error:
        decode(request_type, body)
    assert error.value.message == sentence


@pytest.mark.parametrize("body", ['{"to": 5, ', f'{{"to": 5, "data": {"[" * 100_000}'])
def test_a_wrong_field_in_what_is_no_json_is_no_json(body: str) -> None:
    with pytest.raises(Malformed) as error:
        decode(PushEvent, body)
    assert error.value.message == "the body is not JSON"


@given(
    st.dictionaries(
        st.sampled_from(["to", "hops", "ref", "route", "data", "priority", "no such", "a`b"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
            max_leaves=4,
        ),
        max_size=4,
    )
)
def test_whatever_is_pushed_there_is_one_sentence_without_marks_of_another_tongue(document: dict[str, Any]) -> None:
    message = ""
    try:
        decode(PushEvent, json.dumps(document))
    except Invalid as error:
        message = error.message
    assert "\n" not in message
    assert not {"Expected", "Object", "$"} & set(message.replace("`", " ").split())


def test_a_wrong_member_does_not_spoil_the_others(ctx: StoreContext) -> None:
    members = ('{"to": "ann", "content": "first"}', '{"to": 5}', '{"to": "anna"}', '{"to": "bob", "content": "last"}')
    request = PushEvents(pushes=tuple(msgspec.Raw(member.encode()) for member in members))
    outcomes = LocalExecutor(ctx.store).send(request).items
    assert [(outcome.status, outcome.title, outcome.detail) for outcome in outcomes] == [
        (201, msgspec.UNSET, msgspec.UNSET),
        (422, "Unprocessable Content", "to: 5 is not text"),
        (404, "Not Found", "there is no entity 'anna'"),
        (201, msgspec.UNSET, msgspec.UNSET),
    ]
    assert [item.event.content for name in ("ann", "bob") for item in ctx.claim(name).items] == ["first", "last"]


def test_a_batch_of_wrong_members_writes_nothing(ctx: StoreContext) -> None:
    request = PushEvents(pushes=(msgspec.Raw(b"7"), msgspec.Raw(b"{}")))
    outcomes = LocalExecutor(ctx.store).send(request).items
    assert [outcome.detail for outcome in outcomes] == ["the body: 7 is not an object", "'to' is missing"]
    assert LocalExecutor(ctx.store).send(PushEvents(pushes=())).items == []


def test_the_members_of_a_batch_are_described_as_pushes() -> None:
    batch = build_openapi()["components"]["schemas"]["PushEvents"]
    assert batch["properties"]["pushes"]["items"] == {"$ref": "#/components/schemas/PushEvent"}
