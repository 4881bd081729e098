"""`gatepost inbox replay`, `discard` and `done`: what becomes of an event when a person decides."""

from typing import Annotated

from gatepost.actions import inbox_items
from gatepost.cli import here, output, words
from gatepost.cli.here import EventId, Json
from gatepost.cli.plain import option
from gatepost.core import wire
from gatepost.core.event import Item
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
    with here.opened() as place:
        again = place.call(inbox_items.replay, lambda far: far.replay, event, words.given(to, "--to"))
    _moved(again, "pending again for", json=json)


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
    with here.opened() as place:
        gone = place.call(inbox_items.discard, lambda far: far.discard, event, words.given(to, "--to"))
    _moved(gone, "discarded for", json=json)


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
    with here.opened() as place:
        person = words.given(me, "--as") or _whoever(shown(place, event), place.configuration.settings.agent)
        item = place.do(
            lambda near: near.call(inbox_items.mark_done, person, event), lambda far: far.done(event, person)
        )
    _moved([item], "done for", json=json)


def shown(place: here.Here, event: str) -> list[Item]:
    return place.look(inbox_items.show, lambda far: far.show, event)


def _moved(items: list[Item], said: str, *, json: bool) -> None:
    if json:
        output.document(wire.write_items(items))
        return
    for item in items:
        output.line_out(item.event.id)
        output.talk(f"{said} {item.recipient}")


def _whoever(items: list[Item], me: str | None) -> str:
    """The recipient who is meant when none is named: the only one, or me."""
    names = [item.recipient for item in items]
    if len(names) == 1:
        return names[0]
    if me in names:
        return me
    raise Invalid(f"{items[0].event.id!r} has {len(names)} recipients", hint="say who is done with it: --as NAME")
