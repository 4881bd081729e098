"""
What a command prints. Data goes to stdout, everything else to stderr. Text from outside is escaped, so that it cannot
act on a terminal.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar
from unicodedata import category, east_asian_width

import msgspec

from gatepost.core.escaping import escape_invisible, escape_unsafe
from gatepost.core.times import DAY, HOUR, MINUTE, SECOND, Instant
from gatepost.settings import mask_passwords

#: seconds between two messages about how far long work is
PROGRESS_INTERVAL: Final = 2.0
#: characters of the last column, at least; a terminal without room for them gets a block for each row
_MIN_LAST_WIDTH: Final = 24

T = TypeVar("T")


def talk(text: str) -> None:
    """Print a message for the person at the terminal."""
    print("\n".join(map(escape_invisible, text.split("\n"))), file=sys.stderr)


class Progress:
    """Says how far long work is; short work ends before it says anything."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + PROGRESS_INTERVAL

    def show(self, text: str) -> None:
        if time.monotonic() >= self._next_at:
            talk(text)
            self._next_at = time.monotonic() + PROGRESS_INTERVAL


def fail(message: str, hint: str | None = None) -> None:
    """Print what is wrong, in one sentence, and how to fix it. Passwords are masked."""
    for label, colour, text in (("error:", "1;31", mask_passwords(message)), ("hint:", "1;36", hint)):
        if text:
            print(f"{_paint(label, colour, sys.stderr)} {escape_invisible(text)}", file=sys.stderr)


def trace() -> None:
    """Print where an error came from, if GATEPOST_DEBUG is set."""
    if os.environ.get("GATEPOST_DEBUG"):
        import traceback

        talk(mask_passwords(traceback.format_exc()))


def line_out(text: str) -> None:
    """Print one line of data."""
    print(text, flush=True)


def document(value: Any) -> None:
    """Print one JSON document: an array for a list, an object for one thing."""
    print("\n".join(escape_unsafe(line) for line in format_json(value).split("\n")), flush=True)


def live(value: Any) -> None:
    """Print one of many that come as they happen: a line, or JSON on one line."""
    text = json.dumps(value, ensure_ascii=_is_ascii_only()) if not isinstance(value, str) else value
    print(text if isinstance(value, str) else escape_unsafe(text), flush=True)


def format_json(value: Any) -> str:
    """Return JSON to read. Line ends within strings are escaped."""
    return json.dumps(value, ensure_ascii=_is_ascii_only(), indent=2)


def done(value: Any, line: str, message: str, *, json: bool) -> None:
    """Print the result of a command: as JSON, or as a line of data and a message about it."""
    if json:
        document(value)
    else:
        line_out(line)
        if message:
            talk(message)


def listing(
    items: Sequence[T],
    limit: int,
    print_items: Callable[[Sequence[T]], None],
    *,
    empty: str,
    more: str = "",
    json: bool,
) -> None:
    """Print the first items, or their JSON. Print a message if there are none, and if there are more."""
    if json:
        document(msgspec.to_builtins(items[:limit]))
    elif items:
        print_items(items[:limit])
    else:
        talk(empty)
    if len(items) > limit:
        talk(more or f"there are more than {limit}: raise --limit")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """
    Print rows under headings. On a terminal the last column is cut to fit, and only that; a terminal that is too narrow
    gets a block of lines for each row. Elsewhere nothing is cut.
    """
    cells = [[escape_invisible(cell) for cell in row] for row in rows]
    widths = [max(map(_measure, column)) for column in zip(headings, *cells, strict=True)]
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        room = get_terminal_size().columns - sum(widths[:-1]) - 2 * len(widths[:-1])
        if room < min(widths[-1], _MIN_LAST_WIDTH):
            for row in cells:
                facts(*zip([heading.lower() for heading in headings], row, strict=True))
                print()
            return
        widths[-1] = min(widths[-1], room)
    print(_paint(_join_cells(headings, widths), "1", sys.stdout))
    for row in cells:
        print(_join_cells(row, widths))


def facts(*pairs: tuple[str, object]) -> None:
    """Print names and values, a line each; a name without a value is left out."""
    lines = [(name, str(value)) for name, value in pairs if value not in (None, "", ())]
    width = max((len(name) for name, _ in lines), default=0)
    for name, value in lines:
        print(f"{name:<{width}}  {escape_invisible(value)}")


def passage(heading: str, text: str, *, is_first: bool) -> None:
    """Print one of several texts under its heading; an empty line is between two of them."""
    lead = "" if is_first else "\n"
    print(f"{lead}{escape_invisible(heading)}\n{indent(text)}")


def indent(text: str) -> str:
    """Return text of several lines, indented, so that none of them can pass for one of ours."""
    lines = re.split(r"\r\n|\n|\r", text.expandtabs(4))
    return "\n".join(f"  {escape_unsafe(line)}".rstrip() for line in lines)


def count(number: int, noun: str) -> str:
    """Return `1 item`, `2 items`, `2 inboxes`, `2 entities`, `2 keys`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{number} {noun[:-1]}ies"
    return f"{number} {noun}{'es' if noun.endswith('x') else 's'}"


def age(since: Instant, now: Instant) -> str:
    """Return how long ago something was, roughly: `5m`, `3h`, `12d`."""
    passed = max(0, now - since)
    for unit, size in (("d", DAY), ("h", HOUR), ("m", MINUTE)):
        if passed >= size:
            return f"{passed // size}{unit}"
    return f"{passed // SECOND}s"


def format_seconds(time: str | None) -> str:
    """Return a time of a view without the fraction of its second."""
    return f"{time[: len('2026-02-18T15:07:00')]}Z" if time is not None else ""


def _join_cells(cells: Sequence[str], widths: Sequence[int]) -> str:
    *first, last = zip(cells, widths, strict=True)
    padded = [f"{cell}{' ' * (width - _measure(cell))}  " for cell, width in first]
    return f"{''.join(padded)}{_cut(*last)}".rstrip()


def _cut(text: str, width: int) -> str:
    if _measure(text) <= width:
        return text
    while _measure(text) >= width:
        text = text[: width - 1] if len(text) > width else text[:-1]
    return f"{text}…"


def _measure(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if category(char) in ("Mn", "Me", "Cf") else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def _is_ascii_only() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"


def _paint(text: str, code: str, stream: Any) -> str:
    is_plain = not stream.isatty() or "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
    return text if is_plain else f"\x1b[{code}m{text}\x1b[0m"
