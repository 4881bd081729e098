"""Frames of live streams: events that only readers of that moment see, each with a model that a table allows."""

from collections.abc import Mapping

import msgspec

from gatepost.core.signals import Frame
from gatepost.operations.operation import View

#: by the name of an event: the models that its data may have
EventTable = Mapping[str, tuple[type[View], ...]]


def build_frame(table: EventTable, topic: str, event: str, data: View) -> Frame:
    """Return a frame of a live stream."""
    check_event(table, event, data)
    return Frame(topic, event, msgspec.to_builtins(data))


def check_event(table: EventTable, event: str, data: View) -> None:
    """Raise an error if the event has no such model."""
    if type(data) not in table[event]:
        raise TypeError(f"{event} has no {type(data).__name__}: see `EVENTS`")
