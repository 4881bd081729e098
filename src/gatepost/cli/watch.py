"""`gatepost inbox watch`."""

import time
from collections.abc import Callable, Iterator

from gatepost.actions import directory, feed
from gatepost.cli import here, output
from gatepost.cli.here import Json, To
from gatepost.core import line, wire
from gatepost.core.event import Item

_PAGE = 200


def watch(to: To = None, json: Json = False) -> None:
    """
    Print what comes into an inbox as it comes, one line an event, until Ctrl-C. Nothing is marked as delivered.

    With --json each line is a JSON document.

    Examples:
      gatepost inbox watch --to analyst
      gatepost inbox watch --to husam --json | jq .content
    """
    with here.opened() as place:
        whose = place.whose(to)
        ready = f"watching the inbox of {whose!r}; Ctrl-C stops it"
        for item in _arriving(place, whose, lambda: output.talk(ready)):
            output.live(wire.item(item) if json else line.line(item.event))


def _arriving(place: here.Here, name: str, ready: Callable[[], None]) -> Iterator[Item]:
    """New items as they come, for ever; `ready` is called once nothing more can be missed."""
    if place.far is not None:
        yield from place.far.each(lambda far, once: far.watch_inbox(name, ready=once), ready)
        return
    position = place.near.look(feed.here)
    place.near.look(directory.find, name)
    ready()
    while True:
        page = place.near.look(feed.of_inbox, name, after=position, limit=_PAGE)
        position = page.position
        yield from (item for item, _ in page.entries)
        if len(page.entries) < _PAGE:
            time.sleep(here.PAUSE)
