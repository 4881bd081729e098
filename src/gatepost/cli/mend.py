"""`gatepost inbox replay`, `discard` and `done`: what becomes of an event when a person decides."""

from collections.abc import Sequence
from typing import Annotated

import msgspec

from gatepost.api.events import DiscardEvent, EventDetailView, ItemView, MarkDone, ReplayEvent, ShowEvent
from gatepost.cli import output, words
from gatepost.cli.connect import connect
from gatepost.cli.plain import EventId, Json, option
from gatepost.core import ids
from gatepost.errors import Invalid


def replay(
    event: EventId,
    to: Annotated[str | None, option("--to", "NAME", "Only for this recipient.")] = None,
    json: Json = False,
) -> None:
    """
    Let an event be read again.

    What is dead, expired or discarded becomes pending, without an expiry and with no failures counted. What was
    delivered stays delivered, and a new event with the same content is made.

    Example:
      gatepost inbox replay evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    request = ReplayEvent(id=ids.check("evt", event), name=words.given(to, "--to"))
    with connect() as connection:
        items = connection.send(request).items
    _print_items(items, "pending again for", json=json)


def discard(
    event: EventId,
    to: Annotated[str | None, option("--to", "NAME", "Only for this recipient.")] = None,
    json: Json = False,
) -> None:
    """
    Put an event away without delivering it.

    It must be pending or dead. `gatepost inbox replay` brings it back.

    Example:
      gatepost inbox discard evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --to analyst
    """
    request = DiscardEvent(id=ids.check("evt", event), name=words.given(to, "--to"))
    with connect() as connection:
        items = connection.send(request).items
    _print_items(items, "discarded for", json=json)


def done(
    event: EventId,
    me: Annotated[str | None, option("--as", "NAME", "Who is done with it; else the person who has it.")] = None,
    json: Json = False,
) -> None:
    """
    Mark a person's item as done.

    Agents drain their inbox; what a person has waits until it is done.

    Example:
      gatepost inbox done evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --as husam
    """
    id, person = ids.check("evt", event), words.given(me, "--as")
    with connect() as connection:
        if person is None:
            person = _choose_person(connection.send(ShowEvent(id=id)), connection.configuration.settings.agent)
        items = connection.send(MarkDone(id=id, name=person)).items
    _print_items(items, "done for", json=json)


def _choose_person(event: EventDetailView, current: str | None) -> str:
    """Return the recipient who is meant if no one is named: the only one, or the current one."""
    names = [recipient.name for recipient in event.recipients]
    if len(names) == 1:
        return names[0]
    if current in names:
        return current
    raise Invalid(f"{event.event_id!r} has {len(names)} recipients", hint="say who is done with it: --as NAME")


def _print_items(items: Sequence[ItemView], change: str, *, json: bool) -> None:
    if json:
        output.document(msgspec.to_builtins(EventDetailView.merge(items)))
        return
    for item in items:
        output.line_out(item.event_id)
        output.talk(f"{change} {item.recipient}")
