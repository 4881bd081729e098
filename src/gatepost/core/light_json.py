"""
JSON for hooks: `json` imports `re`, which takes longer than the rest of a hook that only forwards to a gateway, and
compiles six patterns, which a hook without a gateway need not wait for.

The scanner and the text encoder are those of `json` itself, written in C, which need nothing else. An interpreter
without them has `json` do it.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Options:
    """What the scanner is told: everything is as `json.loads` has it."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_constant = float

    def __init__(self, parse_int: "Callable[[str], Any]") -> None:
        self.parse_int = parse_int


def parse(text: str, *, parse_int: "Callable[[str], Any]" = int) -> "Any":
    """Return the value of a JSON text; raise ValueError if it is none, RecursionError if it is nested too deep."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text, parse_int=parse_int)
    text = text.strip(" \t\n\r")
    try:
        value, end = make_scanner(_Options(parse_int))(text, 0)  # type: ignore[arg-type]
    except StopIteration:
        raise ValueError("it is not JSON") from None
    if end != len(text):
        raise ValueError("there is more after the JSON")
    return value


def encode(fields: "dict[str, Any]") -> str:
    """Return an object of texts, finite numbers, truth values and nulls, and of lists and objects of them, as JSON."""
    try:
        from _json import encode_basestring_ascii as quote
    except ImportError:
        import json

        return json.dumps(fields)

    def write(value: "Any") -> str:
        if isinstance(value, str):
            return quote(value)
        if value is None or value is True or value is False:
            return {None: "null", True: "true", False: "false"}[value]
        if isinstance(value, dict):
            members = ", ".join([f"{quote(name)}: {write(inner)}" for name, inner in value.items()])
            return f"{{{members}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join([write(inner) for inner in value])}]"
        return repr(value)

    return write(fields)
