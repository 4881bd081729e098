"""
What answers look like, for the OpenAPI. Nouns are as `core/wire.py` has them, with what its functions add; a test holds
every answer against these.

Times are RFC 3339 in UTC. What is absent is null, so that a reader finds every field.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import GenericAlias, NoneType
from typing import Annotated, Any, Final, Literal, NotRequired, TypedDict, get_args, get_origin, is_typeddict

from msgspec import Meta

from gatepost.core import wire
from gatepost.core.event import Priority
from gatepost.core.shape import Shape
from gatepost.core.times import Duration, Instant

Time = Annotated[str, Meta(extra_json_schema={"format": "date-time"}, examples=["2026-02-18T15:07:00.123456Z"])]
Count = Annotated[int, Meta(ge=0)]
Cursor = Annotated[str, Meta(description="where the next page begins; null on the last", examples=["41"])]
Kind = Literal["agent", "human", "service"]


def noun(name: str, /, *shapes: Shape[Any], about: str | None = None, **more: Any) -> Any:
    """An object with the fields of nouns and with more, or others in their place."""
    written = {field: kind for shape in shapes for field, kind in shape.types.items()}
    fields = {field: _typed(kind) for field, kind in written.items() if field not in more}
    make: Any = TypedDict  # its fields are known only now
    made = make(name, fields | more)
    made.__doc__ = about
    return made


def described(kind: Any, text: str) -> Any:
    return Annotated[kind, Meta(description=text)]


def list_of(shape: Any) -> Any:
    return GenericAlias(list, (shape,))


def page_of(shape: Any) -> Any:
    return noun(f"{shape.__name__}Page", items=list_of(shape), next=Cursor | None)


def _typed(kind: Any) -> Any:
    """What a value of a noun is in JSON."""
    inner = [each for each in get_args(kind) if each is not NoneType]
    if kind in _TYPES:
        return _TYPES[kind]
    if get_origin(kind) is tuple:
        return list_of(_typed(inner[0]))
    if get_origin(kind) is Literal:
        return kind
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return Literal[tuple(each.value for each in kind)]
    return _typed(inner[0]) | None


_TYPES: Final = {
    Any: Any,
    str: str,
    bool: bool,
    int: Count,
    Instant: Time,
    Duration: Annotated[str, Meta(examples=["30s"])],
    Mapping[str, str]: dict[str, str],
    Priority: Annotated[int, Meta(ge=0, le=4)],
}

Ref = noun("Ref", wire.REF)


class Triggered(TypedDict):
    eventId: str
    duplicate: bool


class Transport(TypedDict):
    name: str
    degraded: bool
    reason: str | None


class Accounting(TypedDict):
    balanced: bool


class Health(TypedDict):
    status: Literal["ok", "degraded", "unavailable"]
    live: bool
    ready: bool
    transport: Transport
    version: NotRequired[str]
    accounting: NotRequired[Accounting]
    lagSeconds: NotRequired[float]
    clockSkewSeconds: NotRequired[float]
    reason: NotRequired[str]


#: what routes answer with, and the shapes within
ALL: Final = tuple(shape for shape in globals().values() if is_typeddict(shape))


def shaped(shape: type, status: int = 200, what: str = "Done") -> dict[int | str, dict[str, Any]]:
    """An answer of a route, for its OpenAPI."""
    content = {"application/json": {"schema": {"$ref": reference(shape)}}}
    return {status: {"description": what, "content": content}}


def reference(shape: type) -> str:
    return f"#/components/schemas/{shape.__name__}"
