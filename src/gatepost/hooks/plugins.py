"""Handlers of users: entry points of the group `gatepost.hooks`."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Final

from gatepost.hooks import chain
from gatepost.hooks.chain import LazyHandler

GROUP: Final = "gatepost.hooks"


def list_handlers(add_note: Callable[[str], None]) -> list[LazyHandler]:
    """Return the installed handlers; leave out those that cannot be imported, with a note on each."""
    handlers: list[LazyHandler] = []
    for entry_point in sorted(entry_points(group=GROUP), key=lambda item: item.name):
        try:
            handlers.append(LazyHandler.from_handler(chain.load_handler(entry_point.value), entry_point.value))
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it was, the others still work)
            add_note(f"the hook handler {entry_point.name!r} ({entry_point.value}) is left out: {error}")
    return handlers
