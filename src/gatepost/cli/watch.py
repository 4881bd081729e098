"""`gatepost inbox watch`."""

from gatepost.cli import here, output
from gatepost.cli.here import Json, To
from gatepost.core import line, wire


def watch(to: To = None, json: Json = False) -> None:
    """
    Print what comes into an inbox as it comes, one line an event, until Ctrl-C. Nothing is marked as delivered.

    With --json each line is a JSON document.

    \b
    Examples:
      gatepost inbox watch --to analyst
      gatepost inbox watch --to husam --json | jq .content
    """
    with here.opened() as place:
        whose = place.whose(to)
        ready = f"watching the inbox of {whose!r}; Ctrl-C stops it"
        for item in place.verbs.watch_inbox(whose, ready=lambda: output.talk(ready)):
            output.live(wire.item(item) if json else line.line(item.event))
