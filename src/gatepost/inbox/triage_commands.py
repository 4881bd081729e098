"""`gatepost inbox snooze`, `unsnooze` and `undo`: put an item off, and take "done" back."""

from typing import Annotated, Final

import msgspec

from gatepost.cli import output
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core import ids
from gatepost.errors import Invalid
from gatepost.inbox import event_api
from gatepost.inbox.triage_api import SnoozeItems, TriageView, UndoDone, UnsnoozeItems

EVENT: Final = argument("EVENT", "the id of an event, or of its mail", parse=ids.check_event)
Owner = Annotated[str | None, option("--as", "NAME", "whose item; by default that of the only recipient")]


def snooze(
    event: Annotated[str, EVENT],
    within: Annotated[str | None, option("--within", "3h", "how long it is hidden")] = None,
    until: Annotated[str | None, option("--until", "TIME", "when it is shown again")] = None,
    awaits: Annotated[
        str | None, option("--awaits", "EVENT", "what shows it before: from:NAME, about:TYPE:ID, TYPE or TYPE:SOURCE")
    ] = None,
    name: Owner = None,
    json: JsonFlag = False,
) -> None:
    """
    Hide a pending item until a time, or until an event comes.

    It stays pending: nothing is lost, and it is shown again by itself. With --awaits and a time, whichever comes first
    shows it; with --awaits alone it is shown after 30 days in any case.

    Examples:
      gatepost inbox snooze evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --within 3h
      gatepost inbox snooze evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --awaits from:ann
    """
    with connect() as connection:
        owner = choose_owner(connection, event, name)
        request = SnoozeItems(name=owner, events=(event,), within=within, until=until, awaits=awaits)
        view = connection.send(request)
    awaited = f", or until {awaits} comes" if awaits is not None else ""
    _print(event, view, f"snoozed for {owner} until {view.hidden_until}{awaited}", json=json)


def unsnooze(event: Annotated[str, EVENT], name: Owner = None, json: JsonFlag = False) -> None:
    """
    Show a snoozed item again now.

    Example:
      gatepost inbox unsnooze evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect() as connection:
        owner = choose_owner(connection, event, name)
        view = connection.send(UnsnoozeItems(name=owner, events=(event,)))
    _print(event, view, f"shown again for {owner}", json=json)


def undo(event: Annotated[str, EVENT], name: Owner = None, json: JsonFlag = False) -> None:
    """
    Take "done" back: the item is pending again. It can be undone for 10 seconds.

    The sender of mail has heard that it was read. `gatepost inbox replay` delivers an event again at any time.

    Example:
      gatepost inbox undo evt_01997ec27ab07f2c8ed1f2a3b4c5d6e7 --as husam
    """
    with connect() as connection:
        owner = choose_owner(connection, event, name)
        view = connection.send(UndoDone(name=owner, events=(event,)))
    _print(event, view, f"pending again for {owner}", json=json)


def choose_owner(connection: CommandConnection, event: str, name: str | None) -> str:
    """Return whose item is meant: the one who is named, the only recipient, or the current one."""
    if name is not None:
        return name
    names = [recipient.name for recipient in connection.send(event_api.ShowEvent(id=event)).recipients]
    current = connection.configuration.settings.agent
    if len(names) != 1 and current not in names:
        raise Invalid(f"{event!r} has {len(names)} recipients", hint="say whose item it is: --as NAME")
    return names[0] if len(names) == 1 else str(current)


def _print(event: str, view: TriageView, message: str, *, json: bool) -> None:
    output.done({"eventId": event, **msgspec.to_builtins(view)}, event, message, json=json)
