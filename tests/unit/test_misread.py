"""What is wrong with a request is said in our words, and never with a secret in it."""

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gatepost.errors import Invalid
from gatepost.gateway import hot
from gatepost.gateway.misread import said
from gatepost.gateway.requests import decoded


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: Annotated[str, Field(max_length=5)]
    count: Annotated[int, Field(ge=1, le=9)] = 1
    kind: Literal["a", "b"] = "a"
    flags: list[bool] = []
    secret: int = 0


def describe_error(document: Any) -> str:
    with pytest.raises(ValidationError) as error:
        Body.model_validate(document)
    return said({**error.value.errors()[0], "loc": ("body", *error.value.errors()[0]["loc"])})


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({}, "'name' is missing"),
        ({"name": "ann", "nmae": 1}, "'nmae' is not a field of it"),
        ({"name": 7}, "name: 7 is not text"),
        ({"name": None}, "name: null is not text"),
        ({"name": "annabel"}, "name: 'annabel' is longer than 5 characters"),
        ({"name": "ann", "count": 0}, "count: 0 is less than 1"),
        ({"name": "ann", "count": 10}, "count: 10 is more than 9"),
        ({"name": "ann", "count": "x" * 99}, f"count: '{'x' * 56}... is not a whole number"),
        ({"name": "ann", "kind": "c"}, "kind: 'c' is not one of 'a' or 'b'"),
        ({"name": "ann", "flags": {"a": 1}}, "flags: an object is not a list"),
        ({"name": "ann", "flags": [True, "perhaps"]}, "flags.1: 'perhaps' is not true or false"),
        ({"name": "ann", "secret": "sk_1"}, "secret: what was sent is not a whole number"),
        ([], "the body: a list is not an object"),
    ],
)
def test_a_sentence_for_each(document: Any, sentence: str) -> None:
    assert describe_error(document) == sentence


@given(st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(), max_size=4))
def test_whatever_is_sent_there_is_one_sentence(document: dict[str, Any]) -> None:
    try:
        Body.model_validate(document)
    except ValidationError as error:
        for detail in error.errors():
            assert said(detail)
            assert "\n" not in said(detail)


@pytest.mark.parametrize(
    ("decoder", "body", "sentence"),
    [
        (hot._push, "{}", "'to' is missing"),
        (hot._push, '{"to": "ann", "ref": {"type": "task"}}', "'ref.id' is missing"),
        (hot._push, '{"to": "ann", "cotnent": "x"}', "'cotnent' is not a field of it"),
        (hot._push, '{"to": "ann", "ref": {"typ": "task"}}', "'ref.typ' is not a field of it"),
        (hot._push, '{"to": 5}', "to: 5 is not text"),
        (hot._push, '{"to": null}', "to: null is not text"),
        (hot._push, '{"to": "ann", "ref": 5}', "ref: 5 is not an object"),
        (hot._push, '{"to": "ann", "priority": []}', "priority: a list is not a whole number or text"),
        (hot._push, '{"to": "ann", "dedupKey": 5}', "dedupKey: what was sent is not text"),
        (hot._push, '{"to": "ann", "hops": "many"}', "hops: 'many' is not a whole number"),
        (hot._push, '{"to": "ann", "hops": -1}', "hops: -1 is less than 0"),
        (hot._push, '{"to": "ann", "hops": 10001}', "hops: 10001 is more than 10000"),
        (hot._push, '{"to": "ann", "hops": 1e999}', "hops: too large a number"),
        (hot._push, '{"to": 5, ', "to: what was sent is not text"),
        (hot._push, f'{{"to": 5, "data": {"[" * 100_000}', "to: what was sent is not text"),
        (hot._push, "[]", "the body: a list is not an object"),
        (hot._push, "null", "the body: null is not an object"),
        (hot._rough_batch, '{"pushes": 5}', "pushes: 5 is not a list"),
        (hot._rough_batch, f'{{"pushes": [{"{}," * 1_000}{{}}]}}', "pushes: a list has more than 1000 members"),
        (hot._trigger, '{"serviceName": ""}', "serviceName: '' is shorter than 1 character"),
        (
            hot._trigger,
            f'{{"serviceName": "{"s" * 201}"}}',
            f"serviceName: '{'s' * 56}... is longer than 200 characters",
        ),
    ],
)
def test_the_hot_routes_say_it_in_the_same_words(decoder: Any, body: str, sentence: str) -> None:
    with pytest.raises(Invalid) as error:
        decoded(body.encode(), decoder)
    assert error.value.message == sentence


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
        decoded(json.dumps(document).encode(), hot._push)
    except Invalid as error:
        message = error.message
    assert "\n" not in message
    assert not {"Expected", "Object", "$"} & set(message.replace("`", " ").split())
