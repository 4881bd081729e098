"""Handlers that users bring along: entry points of the group `gatepost.hooks`."""

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Final

from gatepost.hooks import chain
from gatepost.hooks.chain import Listed

GROUP: Final = "gatepost.hooks"


def found(tell: Callable[[str], None]) -> list[Listed]:
    """Those that are installed. One that cannot be imported is left out, and told of."""
    handlers: list[Listed] = []
    for point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        try:
            handlers.append(Listed.of(chain.load(point.value), point.value))
        except (Exception, SystemExit) as error:  # noqa: BLE001 (whatever it was, the others are not to blame)
            tell(f"the hook handler {point.name!r} ({point.value}) is left out: {error}")
    return handlers
