"""Views copy their fields from records: every field has a source, and values are formatted on the way."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import Meta, Struct

from gatepost.core.times import Instant
from gatepost.directory.entity_api import EntityView
from gatepost.directory.key_api import NewKeyView
from gatepost.executor import load_operations
from gatepost.gates.decision_api import DecisionView
from gatepost.gates.gate_api import GateView
from gatepost.inbox.event_api import EventDetailView, EventView, ItemView
from gatepost.ledger.topic_api import TopicMessageView
from gatepost.mail.mail_api import MailRecipientView
from gatepost.operations.fields import Format, RecordView, Source, Time, get_source
from gatepost.residents.agent_api import AgentView, SessionView
from gatepost.residents.runs.api import RunWithCallsView, TurnView
from gatepost.residents.runs.mind_api import MindView
from gatepost.spaces.api import NewSpaceView

_EVENT: Final = frozenset({"sender", "sender_name", "sender_type", "data", "extra", "times"})
#: the fields that are passed, because the record has no such attribute or the view shows less
_ATTENDANCE: Final = frozenset({"presence", "attention"})
PASSED: Final[Mapping[type, frozenset[str]]] = {
    SessionView: frozenset({"reachability"}),
    MailRecipientView: frozenset({"reachable", "attention"}),
    EntityView: _ATTENDANCE,
    AgentView: _ATTENDANCE.union(set(AgentView.__struct_fields__) - set(EntityView.__struct_fields__)),
    DecisionView: frozenset({"overdue"}),
    EventView: _EVENT,
    ItemView: _EVENT,
    EventDetailView: _EVENT | {"state", "recipients"},
    GateView: frozenset({"awaits", "holds", "overdue"}),
    MindView: frozenset({"agent", "tokens", "turns"}),
    NewKeyView: frozenset({"key"}),
    NewSpaceView: frozenset({"members"}),
    RunWithCallsView: frozenset({"calls"}),
    TopicMessageView: frozenset({"refused"}),
    TurnView: frozenset({"kind", "prompt", "reply", "result"}),
}


def list_views(view: type[RecordView[Any]] = RecordView) -> Iterator[type[RecordView[Any]]]:
    for inner in view.__subclasses__():
        if inner.__module__.startswith("gatepost."):
            yield inner
            yield from list_views(inner)


def find_record(view: type[RecordView[Any]]) -> Any:
    """Return the class of the record that a view, or the view that it extends, is declared with."""
    bases = [base for kind in view.__mro__ for base in kind.__dict__.get("__orig_bases__", ())]
    return next(get_args(base)[0] for base in bases if get_args(base))


def has_attribute(kind: Any, path: str) -> bool:
    name, _, rest = path.partition(".")
    record = get_origin(kind) or kind
    types = dict(zip(getattr(record, "__parameters__", ()), get_args(kind), strict=True))
    inner = get_type_hints(record).get(name)
    inner = types.get(inner, inner)
    return hasattr(kind, name) if inner is None else not rest or has_attribute(inner, rest)


load_operations()


@pytest.mark.parametrize("view", list(list_views()), ids=lambda view: view.__name__)
def test_every_field_has_a_source(view: type[RecordView[Any]]) -> None:
    record, passed = find_record(view), PASSED.get(view, frozenset())
    fields = {
        field.name: field for field in msgspec.structs.fields(view) if field.required or field.default is msgspec.UNSET
    }
    assert passed <= fields.keys()
    for name, field in fields.items():
        source = get_source(field)
        assert name in passed or callable(source) or has_attribute(record, source), f"{record} has no {source!r}"


class Part(Struct):
    id: str


class Thing(Struct):
    id: str
    display: str
    made_at: Instant
    ended_at: Instant | None
    part: Part
    other: Part | None
    parts: tuple[Part, ...]
    names: tuple[str, ...]
    size: int = 3
    note: str | None = None
    spare: Part | None = None


class PartView(RecordView[Part]):
    id: str


class ThingView(RecordView[Thing]):
    id: str
    name: Annotated[str, Source("display"), Meta(max_length=9)]
    made_at: Time
    ended_at: Annotated[Time | None, Meta(description="later")]
    part: PartView
    other: PartView | None
    parts: list[PartView]
    part_tuple: Annotated[tuple[PartView, ...], Source("parts")]
    names: list[str]
    first: Annotated[str, Source("part.id"), Format(str.upper)]
    is_large: Annotated[bool, Source(lambda thing: thing.size > 2)]
    size: int = 0
    note: str | msgspec.UnsetType = msgspec.UNSET
    spare: PartView | msgspec.UnsetType = msgspec.UNSET


THING: Final = Thing("1", "Ann", 0, None, Part("p"), None, (Part("q"),), ("x",))


def test_fields_are_copied_and_formatted() -> None:
    part = PartView(id="q")
    assert ThingView.of(THING) == ThingView(
        id="1",
        name="Ann",
        made_at="1970-01-01T00:00:00Z",
        ended_at=None,
        part=PartView(id="p"),
        other=None,
        parts=[part],
        part_tuple=(part,),
        names=["x"],
        first="P",
        is_large=True,
        size=0,  # a field with a default is not copied
    )


def test_a_field_that_may_be_unset_is_left_out_if_the_record_has_none() -> None:
    assert {"note", "spare"}.isdisjoint(msgspec.to_builtins(ThingView.of(THING)))
    view = ThingView.of(msgspec.structs.replace(THING, note="", spare=Part("s")))
    assert (view.note, view.spare) == ("", PartView(id="s"))


def test_a_passed_value_is_formatted_and_not_copied() -> None:
    view = ThingView.of(THING, name="Ben", size=7, made_at=1_000_000, other=Part("r"), parts=[])
    assert (view.name, view.size, view.made_at) == ("Ben", 7, "1970-01-01T00:00:01Z")
    assert (view.other, view.parts) == (PartView(id="r"), [])


def test_a_passed_value_of_no_field_is_an_error() -> None:
    with pytest.raises(TypeError, match="ThingView has no field 'colour'"):
        ThingView.of(THING, colour="red")


def test_a_field_without_a_source_is_an_error() -> None:
    class WrongView(RecordView[Part]):
        id: str
        colour: str

    with pytest.raises(AttributeError, match="colour"):
        WrongView.of(Part("p"))
