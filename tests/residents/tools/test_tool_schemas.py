"""Functions as models see them, and what models write as arguments."""

import json
import string
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given, strategies as st

from gatepost.errors import Invalid, Malformed, TooLarge
from gatepost.residents.agent_config_json import SKILLS
from gatepost.residents.background import tool_arguments as tool_schema
from gatepost.residents.background.toolkit import build_built_in_tools
from gatepost.residents.model_port import ToolCaller
from gatepost.residents.tools import ToolFunction, load_tools

#: the built-in tools that are functions; tests/operations/test_tool_arguments.py has those that are operations
FUNCTIONS = {name: tool.function for name, tool in load_tools().items() if isinstance(tool, ToolFunction)}


def build_documents(integers: st.SearchStrategy[int], floats: st.SearchStrategy[float]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.none() | st.booleans() | integers | floats | st.text(max_size=9),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
        max_leaves=12,
    )


JSON = build_documents(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
#: to a schema a whole number may be as large as it likes, with a point or without; it is read up to 64 bits
MODERATE = build_documents(
    st.integers(-(2**63), 2**63 - 1), st.floats(-(2.0**63), 2.0**63, exclude_min=True, exclude_max=True)
)


@dataclass
class Leaf:
    title: str
    inner: "list[Leaf] | None" = field(default=None, metadata={"description": "more of them"})


def search(
    query: Annotated[str, "what to look for"],
    most: int = 10,
    kind: Literal["web", "news"] | None = None,
    schema: list[str] = [],  # noqa: B006 (a user's function may be written like that)
    *,
    who: ToolCaller,
) -> list[str]:
    """Look something up."""
    return [query, str(most), str(kind), who.agent, *schema]


class TestSpec:
    def test_a_signature_is_a_schema(self) -> None:
        spec = tool_schema.build_spec("find", search)
        assert (spec.name, spec.description) == ("find", "Look something up.")
        assert spec.schema == {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to look for"},
                "most": {"type": "integer", "default": 10},
                "kind": {"type": "string", "enum": ["web", "news"]},
                "schema": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["query"],
            "additionalProperties": False,
        }

    def test_no_arguments_are_an_object_too(self) -> None:
        def now() -> None: ...

        assert tool_schema.build_spec("now", now).schema == {
            "type": "object",
            "properties": {},
            "additionalProperties": False,
        }
        assert tool_schema.parse_arguments(now, "") == tool_schema.parse_arguments(now, " {} ") == {}

    def test_what_refers_to_itself_is_kept(self) -> None:
        def grow(leaf: Leaf) -> None: ...

        leaf_schema = tool_schema.build_spec("grow", grow).schema
        assert leaf_schema["properties"]["leaf"]["properties"]["title"] == {"type": "string"}
        jsonschema_rs.validator_for(leaf_schema).validate(
            {"leaf": {"title": "a", "inner": [{"title": "b", "inner": []}]}}
        )
        arguments = tool_schema.parse_arguments(grow, '{"leaf": {"title": "a", "inner": [{"title": "b"}]}}')
        assert arguments == {"leaf": Leaf("a", [Leaf("b")])}

    @pytest.mark.parametrize("name", load_tools())
    def test_ours_need_no_reference_and_explain_every_argument(self, name: str) -> None:
        spec = build_built_in_tools(frozenset(SKILLS))[name].spec
        assert spec.description
        assert "$ref" not in json.dumps(spec.schema)
        jsonschema_rs.validator_for(spec.schema)

        def is_explained(node: Any) -> bool:
            inner = node.get("properties", {})
            return all(
                part.get("description") and is_explained(part) and is_explained(part.get("items", {}))
                for part in inner.values()
            )

        assert is_explained(spec.schema)
        assert not any("_" in argument for argument in spec.schema["properties"])

    def test_what_cannot_be_named_cannot_be_a_tool(self) -> None:
        def loose(*words: str) -> None: ...

        with pytest.raises(Invalid):
            tool_schema.build_spec("loose", loose)


class TestArguments:
    def test_values_are_read_as_they_are_meant(self) -> None:
        assert tool_schema.parse_arguments(search, '{"query": 5, "most": "7"}') == {
            "query": "5",
            "most": 7,
            "kind": None,
            "schema": [],
        }

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{}", "the argument 'query' is missing"),
            ('{"query": "a", "limit": 1}', "there is no argument 'limit'"),
            ('{"query": "a", "who": {}}', "there is no argument 'who'"),
            ('{"query": "a", "most": "many"}', "the argument 'most' is 'many'"),
            ('{"query": "a", "kind": "gossip"}', "the argument 'kind' is 'gossip'"),
            ('{"query": "a", "schema": ["a", {}]}', "the argument 'schema[1]' is {}"),
            ('{"query": null}', "the argument 'query' is null"),
            ('["query"]', "not an object"),
            ('"query"', "not an object"),
            ('{"query": "a"', "not JSON"),
            ("query=a", "not JSON"),
            ('{"query": "\\ud800"}', "half of a surrogate"),
            ('{"query": "\ud800"}', "not valid Unicode"),
            ('{"query": NaN}', "not JSON"),
            ('{"query": ' + "[" * 5_000 + "]" * 5_000 + "}", "nested"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, text: str, message: str) -> None:
        with pytest.raises(Invalid) as error:
            tool_schema.parse_arguments(search, text)
        assert message in error.value.message
        assert "\n" not in error.value.message
        assert len(error.value.message) < 500

    @pytest.mark.parametrize(
        "number",
        [str(2**63), str(-(2**63) - 1), f'"{2**63}"', "9" * 4_000, "9.223372036854776e+18", "-9.3e18", "1e300"],
    )
    def test_a_number_beyond_64_bits_is_no_whole_number(self, number: str) -> None:
        def grow(rings: dict[str, list[int]]) -> None: ...

        for function, text, where in (
            (FUNCTIONS["peek_inbox"], f'{{"count": {number}}}', "count"),
            (
                FUNCTIONS["set_goals"],
                f'{{"goals": [{{}}, {{"priority": {number}}}]}}',
                "goals[1].priority",
            ),
            (grow, f'{{"rings": {{"oak": [1, {number}]}}}}', "rings.oak[1]"),
        ):
            with pytest.raises(Invalid, match=r"\A[^\n]{,200}: it has more than 64 bits\Z") as error:
                tool_schema.parse_arguments(function, text)
            assert error.value.message.startswith(f"the argument {where!r} is ")

    def test_where_a_text_is_wanted_it_is_one(self) -> None:
        assert tool_schema.parse_arguments(FUNCTIONS["enter_space"], f'{{"spaceId": {2**70}}}')["space_id"] == str(
            2**70
        )

    def test_the_largest_and_the_smallest_are_read(self) -> None:
        for number in (2**63 - 1, -(2**63)):
            assert tool_schema.parse_arguments(FUNCTIONS["peek_inbox"], f'{{"count": {number}}}')["count"] == number

    def test_too_much_is_refused_before_it_is_read(self) -> None:
        with pytest.raises(TooLarge):
            tool_schema.parse_arguments(search, '{"query": "' + "é" * (tool_schema.MAX_ARGUMENT_BYTES // 2) + '"}')

    @given(text=JSON.map(json.dumps) | st.text() | st.text(alphabet='{}[]":,0a', max_size=30))
    def test_anything_is_read_or_refused(self, text: str) -> None:
        for function in (search, *FUNCTIONS.values()):
            with suppress(Invalid):
                tool_schema.parse_arguments(function, text)

    @given(
        names=st.lists(
            st.sampled_from(["spaceId", "limit", "text", "count", "filter", "memories", "plans", "to"]), unique=True
        ),
        values=st.lists(MODERATE, min_size=8, max_size=8),
    )
    def test_what_fits_the_schema_is_taken(self, names: list[str], values: list[Any]) -> None:
        document = dict(zip(names, values, strict=False))
        for name, function in FUNCTIONS.items():
            if jsonschema_rs.is_valid(tool_schema.build_spec(name, function).schema, document):
                tool_schema.parse_arguments(function, json.dumps(document))


SCHEMAS = st.recursive(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean", "null", "object", "array")])
    | st.builds(
        lambda kinds: {"type": kinds}, st.lists(st.sampled_from(["string", "null", "integer"]), min_size=1, unique=True)
    )
    | st.builds(lambda values: {"enum": values}, st.lists(JSON, min_size=1, max_size=3))
    | st.builds(lambda value: {"const": value}, JSON)
    | st.just({}),
    lambda inner: (
        st.builds(lambda item_schema: {"type": "array", "items": item_schema}, inner)
        | st.builds(lambda choices: {"anyOf": choices}, st.lists(inner, min_size=1, max_size=3))
        | st.builds(
            lambda properties, additional, required_count: {
                "type": "object",
                "properties": properties,
                "required": list(properties)[:required_count],
                "additionalProperties": additional,
            },
            st.dictionaries(st.sampled_from(string.ascii_lowercase[:4]), inner, max_size=3),
            st.booleans() | inner,
            st.integers(0, 2),
        )
    ),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(string.ascii_lowercase[:5]), inner, max_size=3)
    ),
    max_leaves=8,
)


class TestConfiguredSchemas:
    @given(candidate=SCHEMAS, value=VALUES)
    def test_the_verdict_is_that_of_json_schema(self, candidate: dict[str, Any], value: Any) -> None:
        if jsonschema_rs.is_valid(candidate, value):
            tool_schema.check_value(candidate, value)
        else:
            with pytest.raises(Invalid, match=r"\A[^\n]+\Z"):
                tool_schema.check_value(candidate, value)

    @pytest.mark.parametrize("other", [1, [1], {"a": [1]}])
    def test_true_is_not_one(self, other: Any) -> None:
        true_value = json.loads(json.dumps(other).replace("1", "true"))
        for candidate, value in ((other, true_value), (true_value, other)):
            for rule in ({"const": candidate}, {"enum": [candidate]}):
                tool_schema.check_value(rule, candidate)
                with pytest.raises(Invalid):
                    tool_schema.check_value(rule, value)

    @given(candidate=JSON, value=JSON)
    def test_a_schema_that_makes_no_sense_does_no_harm(self, candidate: Any, value: Any) -> None:
        with suppress(Invalid):
            tool_schema.check_value(candidate, value)

    def test_the_document_is_an_object_whatever_the_schema(self) -> None:
        assert tool_schema.parse_document('{"a": [1]}') == {"a": [1]}
        for text in ("[]", "1", "{", "\ud800"):
            with pytest.raises((Invalid, Malformed)):
                tool_schema.parse_document(text)
