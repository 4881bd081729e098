"""A request is decoded from its path, query and body; what is wrong is said in one sentence, without secrets."""

import json
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given, strategies as st
from msgspec import Meta

from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid, Malformed
from gatepost.operations.access import AnyEntity
from gatepost.operations.decoding import RequestDecoder
from gatepost.operations.operation import Kind, Operation, Repetition, Request
from gatepost.operations.validation import explain


class Part(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    id: str
    text_size: int = 0


class SetThing(Request[None]):
    id: str
    name: Annotated[str, Meta(max_length=5)]
    count: Annotated[int, Meta(ge=1, le=9)] = 1
    kind: Literal["a", "b"] = "a"
    entity_kind: EntityKind | None = None
    flags: Annotated[tuple[bool, ...], Meta(max_length=2)] = ()
    part: Part | None = None
    priority: int | str = 2
    secret: int = 0
    data: Any = None


class FindThings(Request[None]):
    id: str
    after_seq: Annotated[int, Meta(ge=0, le=2**62)] | None = None
    pending: bool | None = None
    kind: EntityKind | None = None
    name: Annotated[str, Meta(min_length=1)] = "x"
    space: Annotated[tuple[str, ...], Meta(max_length=2)] = ()


def build_decoder(request: type[Request[Any]], method: str, path: str = "/things/{id}") -> RequestDecoder:
    return RequestDecoder(
        Operation(
            request=request,
            kind=Kind.WRITE,
            method=method,
            path=path,
            access=AnyEntity(),
            status=200,
            repetition=Repetition.NEVER,
            errors=(),
        )
    )


SET = build_decoder(SetThing, "PUT")
FIND = build_decoder(FindThings, "GET")


def explain_body(document: Any) -> str:
    with pytest.raises(Invalid) as error:
        SET.decode({"id": "1"}, b"", json.dumps(document).encode())
    return error.value.message


def test_fields_come_from_the_path_and_the_body() -> None:
    request = SET.decode(
        {"id": "1"}, b"", b'{"name": "ann", "part": {"id": "p", "textSize": 3}, "entityKind": "human"}'
    )
    assert request == SetThing(id="1", name="ann", part=Part("p", 3), entity_kind=EntityKind.HUMAN)


def test_fields_come_from_the_path_and_the_query() -> None:
    request = FIND.decode({"id": "1"}, b"afterSeq=7&pending=true&kind=agent&space=a&space=b", None)
    assert request == FindThings(id="1", after_seq=7, pending=True, kind=EntityKind.AGENT, space=("a", "b"))


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({}, "'name' is missing"),
        ({"name": "ann", "nmae": 1}, "'nmae' is not a field of it"),
        ({"name": "ann", "entity_kind": "human"}, "'entity_kind' is not a field of it"),
        ({"name": "ann", "id": "2"}, "'id' is not a field of it"),
        ({"name": 7}, "name: 7 is not text"),
        ({"name": None}, "name: null is not text"),
        ({"name": "annabel"}, "name: 'annabel' is longer than 5 characters"),
        ({"name": "ann", "count": 0}, "count: 0 is less than 1"),
        ({"name": "ann", "count": 10}, "count: 10 is more than 9"),
        ({"name": "ann", "count": 2**70}, "count: 1180591620717411303424 is more than 9"),
        ({"name": "ann", "count": True}, "count: true is not a whole number"),
        ({"name": "ann", "count": "5"}, "count: '5' is not a whole number"),
        ({"name": "ann", "count": "x" * 99}, f"count: '{'x' * 59}…' is not a whole number"),
        ({"name": "ann", "kind": "c"}, "kind: 'c' is not one of a, b"),
        ({"name": "ann", "entityKind": "humna"}, "entityKind: 'humna' is not one of agent, human, service"),
        ({"name": "ann", "flags": {"a": 1}}, "flags: an object is not a list"),
        ({"name": "ann", "flags": [True, "perhaps"]}, "flags[1]: 'perhaps' is not true or false"),
        ({"name": "ann", "flags": [True, True, True]}, "flags: a list has more than 2 members"),
        ({"name": "ann", "part": 5}, "part: 5 is not an object"),
        ({"name": "ann", "part": {}}, "'part.id' is missing"),
        ({"name": "ann", "part": {"id": "p", "size": 1}}, "'size' is not a field of part"),
        ({"name": "ann", "priority": []}, "priority: a list is not a whole number or text"),
        ({"name": "ann", "secret": "sk_1"}, "secret: what was sent is not a whole number"),
        ([], "the body: a list is not an object"),
        (None, "the body: null is not an object"),
    ],
)
def test_a_wrong_body_is_explained_in_one_sentence(document: Any, sentence: str) -> None:
    assert explain_body(document) == sentence


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("colour=red", "'colour' is not a parameter of it"),
        ("after_seq=1", "'after_seq' is not a parameter of it"),
        ("id=2", "'id' is not a parameter of it"),
        ("afterSeq=1&afterSeq=1", "'afterSeq' is given more than once"),
        ("afterSeq=", "afterSeq: '' is not a whole number"),
        ("afterSeq=5.0", "afterSeq: '5.0' is not a whole number"),
        ("afterSeq=1e2", "afterSeq: '1e2' is not a whole number"),
        ("afterSeq=%205", "afterSeq: ' 5' is not a whole number"),
        ("afterSeq=%D9%A5", "afterSeq: '\u0665' is not a whole number"),
        ("afterSeq=-1", "afterSeq: -1 is less than 0"),
        (f"afterSeq={2**63}", f"afterSeq: {2**63} is more than {2**62}"),
        (f"afterSeq={'9' * 40}", f"afterSeq: {'9' * 40} is more than {2**62}"),
        ("pending=1", "pending: '1' is not true or false"),
        ("pending=True", "pending: 'True' is not true or false"),
        ("kind=Agent", "kind: 'Agent' is not one of agent, human, service"),
        ("name=", "name: '' is shorter than 1 character"),
        ("space=a&space=b&space=c", "space: a list has more than 2 members"),
        ("name=a%00b", "'name' has a NUL character in it"),
    ],
)
def test_a_wrong_query_is_explained_in_one_sentence(query: str, sentence: str) -> None:
    with pytest.raises(Invalid) as error:
        FIND.decode({"id": "1"}, query.encode(), None)
    assert error.value.message == sentence


def test_a_close_word_is_suggested() -> None:
    with pytest.raises(Invalid) as error:
        SET.decode({"id": "1"}, b"", b'{"nmae": 1}')
    assert error.value.hint == "did you mean 'name'?"


def test_a_nul_in_the_path_is_refused() -> None:
    with pytest.raises(Invalid, match="'id' has a NUL character in it"):
        FIND.decode({"id": "a\x00b"}, b"", None)


def test_a_query_of_a_request_with_a_body_is_refused() -> None:
    with pytest.raises(Invalid, match="'name' is not a parameter of it"):
        SET.decode({"id": "1"}, b"name=ann", b'{"name": "ann"}')


@pytest.mark.parametrize("body", [b"{", b"\xff", b"NaN", b'{"name": 5, ', b'{"name": NaN}'])
def test_a_body_that_is_not_json_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed, match="the body is not JSON"):
        SET.decode({"id": "1"}, b"", body)


def test_a_body_that_is_nested_too_deep_is_malformed() -> None:
    with pytest.raises(Malformed, match="the body is nested too deep"):
        SET.decode({"id": "1"}, b"", b'{"data": ' + b"[" * 100_000)


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ('{"name": 5, "data": %s}', "name: 5 is not text"),
        ('{"nmae": "ann", "data": %s}', "'nmae' is not a field of it"),
        ('{"data": %s}', "'name' is missing"),
        ('{"name": "ann", "part": {"size": 1}, "data": %s}', "'size' is not a field of part"),
        ('{"name": "ann", "part": %s}', "part: a list is not an object"),
        ('{"name": "ann", "flags": {"a": %s}}', "flags: an object is not a list"),
        ("%s", "the body: a list is not an object"),
    ],
)
def test_a_long_body_is_explained_like_a_short_one(document: str, sentence: str) -> None:
    """Only what is wrong is parsed, so that nobody waits for the rest."""
    for filler in ("[1, 2]", "[" + "[]," * 100_000 + "1]"):
        with pytest.raises(Invalid) as error:
            SET.decode({"id": "1"}, b"", (document % filler).encode())
        assert error.value.message == sentence


def test_a_text_that_is_far_too_long_is_explained() -> None:
    with pytest.raises(Invalid, match=r"name: 'aaaa.*…' is longer than 5 characters"):
        SET.decode({"id": "1"}, b"", b'{"name": "' + b"a" * 1_000_000 + b'"}')


def test_a_number_that_is_too_large_is_explained() -> None:
    with pytest.raises(Invalid, match="the body: a number in it is out of range"):
        SET.decode({"id": "1"}, b"", b'{"name": "ann", "data": 1e999}')


def test_a_body_may_be_absent_only_if_nothing_is_required() -> None:
    with pytest.raises(Invalid, match="the body is missing"):
        SET.decode({"id": "1"}, b"", b"")
    decoder = build_decoder(FindThings, "POST")
    assert decoder.decode({"id": "1"}, b"", b"") == FindThings(id="1")


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
_NAMES = st.sampled_from([*(field.encode_name for field in msgspec.structs.fields(SetThing)), "no such", "a`b", "$"])


def find_message(decoder: RequestDecoder, query: bytes, body: bytes | None) -> str | None:
    """What is wrong; None if it is a request."""
    try:
        decoder.decode({"id": "1"}, query, body)
    except Invalid as error:
        return error.message
    return None


@given(st.dictionaries(_NAMES, _VALUES, max_size=5))
def test_whatever_is_sent_there_is_a_request_or_one_sentence(document: dict[str, Any]) -> None:
    message = find_message(SET, b"", json.dumps(document).encode())
    assert message != ""
    assert "\n" not in (message or "")
    assert not {"Expected", "Object", "$"} & set((message or "").replace("`", " ").split()) - set(document)


@given(st.text(max_size=30))
def test_whatever_a_query_is_there_is_a_request_or_one_sentence(query: str) -> None:
    assert find_message(FIND, query.encode(), None) != ""


@given(st.builds(SetThing, id=st.text(), name=st.text(max_size=5), count=st.integers(1, 9), data=_VALUES))
def test_what_is_encoded_is_decoded(request: SetThing) -> None:
    assert SET.decode_json(msgspec.json.encode(request)) == request


LABELS = {"name": "--name", "count": "--count", "entity_kind": "--kind", "flags": "--flag", "secret": "--secret"}


def test_values_of_a_command_line_are_parsed_by_the_type_of_their_field() -> None:
    values = {"id": "1", "after_seq": "7", "pending": "true", "kind": "agent", "space": ["a", "b"]}
    expected = FindThings(id="1", after_seq=7, pending=True, kind=EntityKind.AGENT, space=("a", "b"))
    assert FIND.decode_text(values, {}) == expected
    typed = {"id": "1", "after_seq": 7, "pending": True, "kind": EntityKind.AGENT, "space": ("a", "b")}
    assert FIND.decode_text(typed, {}) == expected
    assert FIND.decode_text({"id": "1", "space": "a"}, {}) == FindThings(id="1", space=("a",))


def test_fields_of_a_body_are_parsed_from_text() -> None:
    values = {"id": "1", "name": "ann", "priority": "3", "part": Part("p", 3), "data": {"a": [1]}}
    assert SET.decode_text(values, LABELS) == SetThing(
        id="1", name="ann", priority=3, part=Part("p", 3), data={"a": [1]}
    )
    assert SET.decode_text({"id": "1", "name": "7", "priority": "high"}, LABELS) == SetThing(
        id="1", name="7", priority="high"
    )


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({}, "'--name' is missing"),
        ({"name": "ann", "count": "0"}, "--count: 0 is less than 1"),
        ({"name": "ann", "count": "5.0"}, "--count: '5.0' is not a whole number"),
        ({"name": "ann", "entity_kind": "humna"}, "--kind: 'humna' is not one of agent, human, service"),
        ({"name": "ann", "flags": [True] * 3}, "--flag: a list has more than 2 members"),
        ({"name": "ann", "flags": ["x"]}, "--flag[0]: 'x' is not true or false"),
        ({"name": "ann", "secret": "sk_1"}, "--secret: what was sent is not a whole number"),
        ({"name": "ann", "kind": "c"}, "kind: 'c' is not one of a, b"),
        ({"name": None}, "--name: null is not text"),
        ({"name": "a\x00b"}, "'--name' has a NUL character in it"),
        ({"name": "ann", "flags": ["a\x00b"]}, "'--flag' has a NUL character in it"),
    ],
)
def test_an_error_names_the_label_of_a_field(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(Invalid) as error:
        SET.decode_text({"id": "1"} | values, LABELS)
    assert error.value.message == sentence


def test_a_label_does_not_show_a_secret() -> None:
    with pytest.raises(Invalid, match="--code: what was sent is not a whole number"):
        SET.decode_text({"id": "1", "name": "ann", "secret": "sk_1"}, {"secret": "--code"})


def test_a_value_of_no_field_is_an_error_of_the_program() -> None:
    with pytest.raises(KeyError):
        SET.decode_text({"id": "1", "name": "ann", "colour": "red"}, LABELS)


def test_a_tuple_is_a_list() -> None:
    """The command line has its values in tuples."""
    values = {"id": "x", "name": "ann", "flags": (True, 7)}
    assert str(explain(SetThing, values, labels={"flags": "--flag"})) == "--flag[1]: 7 is not true or false"
