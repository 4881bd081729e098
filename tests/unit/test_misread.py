"""What is wrong with a request is said in our words, and never with a secret in it."""

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gatepost.gateway.misread import said


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
