"""Whatever a model writes as arguments, it gets a request or a sentence."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, strategies as st

from gatepost.errors import Invalid
from gatepost.operations.decoding import get_decoder
from gatepost.operations.encoding import encode_json
from gatepost.operations.lenient_arguments import parse_wait
from gatepost.operations.operation import WAIT
from gatepost.operations.operation_tool import load_tools
from gatepost.operations.tool import Door

TOOLS = {(door, name): tool for door in Door for name, tool in load_tools(door).items()}

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=-(2**80), max_value=2**80)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["", "5", "-1", "true", "null", "[]", "[1", "{}", '["a"]', '{"id": 1}', "\x00", "a/b", "\ud800"])
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function returns, or what it refuses with."""
    try:
        return function(*arguments)
    except Invalid as error:
        return error


@st.composite
def draw_calls(draw: st.DrawFn) -> tuple[tuple[Door, str], dict[str, Any]]:
    name = draw(st.sampled_from(sorted(TOOLS)))
    names = st.sampled_from([*TOOLS[name].input_schema["properties"], "other"]) | st.text(max_size=8)
    return name, draw(st.dictionaries(names, VALUES, max_size=6))


@given(draw_calls())
def test_arguments_become_a_request_or_a_sentence(call: tuple[tuple[Door, str], dict[str, Any]]) -> None:
    name, arguments = call
    tool = TOOLS[name]
    request = attempt(tool.decode, arguments, "ann")
    if isinstance(request, Invalid):
        tool.relabel(request)
        assert request.message
        assert "\n" not in request.message
        return
    for field in (*tool.tool.own, *tool.tool.own_by_default):
        assert getattr(request, field) == "ann" or field in tool.tool.own_by_default
    encoded = encode_json(request)
    assert get_decoder(request.operation).decode_json(encoded) == request


@given(VALUES)
def test_a_time_to_wait_is_a_number_or_a_sentence(value: Any) -> None:
    outcome = attempt(parse_wait, value)
    assert outcome.message.startswith(f"{WAIT}: ") if isinstance(outcome, Invalid) else 0 <= outcome <= 50
