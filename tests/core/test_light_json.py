"""The JSON of a hook is that of `json`."""

import json

import pytest
from hypothesis import given, strategies as st

from gatepost.core import light_json

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = LEAVES | st.lists(LEAVES) | st.dictionaries(st.text(), st.lists(LEAVES))


@given(fields=st.dictionaries(st.text(), VALUES))
def test_it_writes_and_reads_what_json_does(fields: dict[str, object]) -> None:
    assert json.loads(light_json.encode(fields)) == fields
    assert light_json.parse(json.dumps(fields, indent=1)) == fields


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{} x", "nul", '{"a" 1}', '{"a": "\n"}', "'a'"])
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (that of `json`, or one like it)
        light_json.parse(text)


def test_json_that_is_nested_too_deep_is_a_recursion_error() -> None:
    with pytest.raises(RecursionError):
        light_json.parse("[" * 100_000)


def test_integers_are_parsed_as_the_caller_says() -> None:
    assert light_json.parse('[1, 2.5, "3"]', parse_int=str) == ["1", 2.5, "3"]
