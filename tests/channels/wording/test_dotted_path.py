"""Dotted paths: what they read from a document, and what is said of a wrong one."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.channels.wording.dotted_path import MAX_DEPTH, MAX_LENGTH, MISSING, parse_path, read_path
from gatepost.errors import Invalid

DOCUMENT = {
    "number": 7,
    "draft": False,
    "body": None,
    "commits": [{"author": {"name": "ana"}}, {"author": {"name": "bo"}}],
    "labels": ["bug", "till"],
    "fields": {"due.date": "today", 'a "b" \\': 1, "": "empty", "x y": 2},
    "0": "a key",
    "@event": "x",
}

keys = st.text(max_size=20)
documents: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("number", 7),
        ("draft", False),
        ("body", None),
        ("commits[0].author.name", "ana"),
        ("commits[-1].author.name", "bo"),
        ("labels[-1]", "till"),
        ("labels", ["bug", "till"]),
        ('fields."due.date"', "today"),
        (r'fields."a \"b\" \\"', 1),
        ('fields.""', "empty"),
        ('fields."x y"', 2),
        ('"fields"."x y"', 2),
        ("0", "a key"),
        ("@event", "x"),
    ],
)
def test_a_path_reads_its_value(path: str, value: object) -> None:
    assert read_path(DOCUMENT, parse_path(path)) == value


@pytest.mark.parametrize(
    "path",
    ["nobody", "number.x", "number[0]", "body.x", "labels.bug", "labels[2]", "labels[-3]", "labels[0][0]", "[0]"],
)
def test_a_path_that_leads_nowhere_reads_nothing(path: str) -> None:
    assert read_path(DOCUMENT, parse_path(path)) is MISSING


def test_a_document_may_be_a_list() -> None:
    assert read_path([{"name": "ana"}], parse_path("[0].name")) == "ana"


@pytest.mark.parametrize("document", [None, 3, "text", [], True])
def test_a_document_without_members_has_none(document: object) -> None:
    assert read_path(document, parse_path("name")) is MISSING


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("a..b", "a key is missing, at character 3"),
        (".a", "a key is missing, at character 1"),
        ("a.", "a key is missing, at character 3"),
        ("a b", "a dot or an index is missing, at character 2"),
        ("a[0]b", "a dot or an index is missing, at character 5"),
        ("a[x]", "an index is a whole number in square brackets, at character 2"),
        ("a[0", "an index is a whole number in square brackets, at character 2"),
        ("a[1234567]", "an index is a whole number in square brackets, at character 2"),
        ('a."b', "a key is missing, at character 3"),
        ("a.[0]", "a key is missing, at character 3"),
        ("a.{b}", "a key is missing, at character 3"),
        ("a\n", "a dot or an index is missing, at character 2"),
    ],
)
def test_a_wrong_path_is_refused_with_the_place(path: str, problem: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_path(path)
    assert caught.value.message == f"{path!r} is not a path: {problem}"
    assert caught.value.hint


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "the path is empty"),
        ("a" * (MAX_LENGTH + 1), f"over the limit of {MAX_LENGTH}"),
        (".".join("a" * (MAX_DEPTH + 1)), f"it has over {MAX_DEPTH} keys and indexes"),
        ("[0]" * (MAX_DEPTH + 1), f"it has over {MAX_DEPTH} keys and indexes"),
    ],
)
def test_a_path_has_limits(path: str, problem: str) -> None:
    with pytest.raises(Invalid, match=problem):
        parse_path(path)


@given(st.lists(keys.filter(lambda key: len(key) <= 20), min_size=1, max_size=10))
def test_any_key_can_be_written_in_quotes(names: list[str]) -> None:
    quoted_names = [name.replace("\\", "\\\\").replace('"', '\\"') for name in names]
    path = parse_path(".".join(f'"{name}"' for name in quoted_names))
    assert path == tuple(names)
    document: object = "found"
    for name in reversed(names):
        document = {name: document}
    assert read_path(document, path) == "found"


@given(st.text() | st.from_regex(r"[a-z.\[\]\"0-9-]{1,30}", fullmatch=True), documents)
def test_any_text_is_a_path_or_refused_and_any_path_can_be_read(text: str, document: object) -> None:
    try:
        path = parse_path(text)
    except Invalid:
        return
    read_path(document, path)
