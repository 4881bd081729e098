"""
What a command says. Data goes to stdout, all else to stderr; whatever came from outside is written so that it cannot
act on a terminal.
"""

import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from gatepost.core import render
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Instant
from gatepost.settings import mask_passwords

#: characters of the last column of a table that a narrow terminal must bear
_LEAST: Final = 24

T = TypeVar("T")


def talk(text: str) -> None:
    """Say something to the person at the terminal."""
    print(text, file=sys.stderr)


def fail(message: str, hint: str | None = None) -> None:
    """Say what went wrong, in one sentence, and what to do about it. Secrets are left out."""
    talk(f"{_painted('error:', '1;31')} {mask_passwords(message)}")
    if hint:
        talk(f"{_painted('hint:', '1;36')} {hint}")


def trace() -> None:
    """Say where an error came from, to whoever asked for it."""
    if os.environ.get("GATEPOST_DEBUG"):
        talk(mask_passwords(traceback.format_exc()))


def line_out(text: str) -> None:
    """One line of data."""
    print(text, flush=True)


def document(value: Any) -> None:
    """One JSON document: an array for a list, an object for one thing."""
    print("\n".join(render.escape_unsafe(each) for each in pretty(value).split("\n")), flush=True)


def live(value: Any) -> None:
    """One of many that come as they happen: a line, or JSON on one line, out at once."""
    print(
        value if isinstance(value, str) else render.escape_unsafe(json.dumps(value, ensure_ascii=_ascii_only())),
        flush=True,
    )


def pretty(value: Any) -> str:
    """JSON to look at. Its only line ends are its own: those within strings are escaped."""
    return json.dumps(value, ensure_ascii=_ascii_only(), indent=2)


def done(value: Any, line: str, said: str, *, json: bool) -> None:
    """What came of a command: as JSON, or in a line of data and a word about it."""
    if json:
        document(value)
    else:
        line_out(line)
        talk(said)


def listing(
    found: Sequence[T],
    most: int,
    headings: Sequence[str],
    row: Callable[[T], Sequence[str]],
    written: Callable[[T], Any],
    *,
    otherwise: str,
    json: bool,
) -> None:
    """A list, as a table or `written` as JSON; if there are more than are to be shown at most, that is said."""
    shown = found[:most]
    if json:
        document([written(each) for each in shown])
    elif shown:
        table(headings, [row(each) for each in shown])
    else:
        talk(otherwise)
    if len(found) > most:
        talk(f"there are more than {most}: raise --limit")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Rows under headings. On a terminal the last column is cut to fit, and only that; elsewhere nothing is cut."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [list(row) for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(headings, *cells, strict=True)]
    console = Console(highlight=False)
    if sys.stdout.isatty():
        widths[-1] = min(widths[-1], max(_LEAST, console.width - sum(widths[:-1]) - 2 * len(widths[:-1])))
    console.width = sum(widths) + 2 * len(widths)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading, width in zip(headings, widths, strict=True):
        grid.add_column(heading, no_wrap=True, overflow="ellipsis", width=width)
    for row in cells:
        grid.add_row(*map(Text, row))
    with console.capture() as captured:
        console.print(grid)
    for each in captured.get().splitlines():
        print(each.rstrip())


def facts(*pairs: tuple[str, object]) -> None:
    """Names and values, one a line; what has no value is left out."""
    known = [(name, str(value)) for name, value in pairs if value not in (None, "", ())]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        print(f"{name:<{width}}  {render.escape_unsafe(value)}")


def prose(text: str) -> str:
    """Text of several lines, indented, so that none of them can pass for one of ours."""
    lines = re.split(r"\r\n|\n|\r", text.expandtabs(4))
    return "\n".join(f"  {render.escape_unsafe(each)}".rstrip() for each in lines)


def count(number: int, noun: str) -> str:
    """`1 item`, `2 items`, `2 inboxes`, `2 entities`, `2 keys`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith('x') else 's'}"


def age(since: Instant, now: Instant) -> str:
    """How long ago, roughly: `5m`, `3h`, `12d`."""
    passed = max(0, now - since)
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if passed >= size:
            return f"{passed // size}{unit}"
    return f"{passed // SECOND}s"


def format_seconds(time: str) -> str:
    """Return a time of a view without the fraction of its second."""
    return f"{time[: len('2026-02-18T15:07:00')]}Z"


def _ascii_only() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"


def _painted(text: str, code: str) -> str:
    plain = not sys.stderr.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"
