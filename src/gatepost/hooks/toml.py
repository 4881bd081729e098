"""
Our entries in Codex's config.toml: added at its end, and taken out from wherever they are. Nothing else is touched.

    [[hooks.Stop]]

    [[hooks.Stop.hooks]]
    type = "command"
    command = "/usr/bin/gatepost hook Stop --host codex"
    timeout = 600

A table may always begin at the end of a file, so adding needs no more. To take out, the file is cut at its headers. A
line that looks like one may lie within a string or an array of several lines: then what stands between the header
before it and the line is not whole by itself.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gatepost.errors import Invalid, Malformed
from gatepost.hooks import entries
from gatepost.hooks.jsonc import BOM

_BY_HAND = "write them as [[hooks.Stop]] and [[hooks.Stop.hooks]], or take out by hand what is ours"


@dataclass(frozen=True, slots=True)
class _Table:
    """A header and what stands under it: `lines[start:end]`, without comments and blank lines before the next."""

    start: int
    end: int
    path: tuple[str, ...]


def parse(text: str) -> dict[str, Any]:
    """What it says. Raises Malformed, saying where it cannot be read."""
    text = text.removeprefix(BOM)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        why, _, where = str(error).rpartition(" (at ")
        place = where.removesuffix(")")
        if not place.startswith("line"):
            place = f"line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}"
        raise Malformed(f"{why[:1].lower()}{why[1:]} ({place})") from None
    except RecursionError:
        raise Malformed("it is nested too deep") from None


def add(text: str, wanted: Mapping[str, dict[str, Any]]) -> str:
    """Put in what is wanted, into a text that has nothing of ours yet."""
    lines: list[str] = []
    for event, group in wanted.items():
        lines += ["", f"[[hooks.{event}]]", *_pairs(group)]
        for entry in group["hooks"]:
            lines += ["", f"[[hooks.{event}.hooks]]", *_pairs(entry)]
    newline = "\r\n" if "\r\n" in text else "\n"
    blank = text in {"", BOM}
    break_ = "" if blank or text.endswith("\n") else newline
    added = text + break_ + "".join(line + newline for line in lines[blank:])
    try:
        parse(added)
    except Malformed:
        raise Invalid("its hooks are written in line, so that none can be added", hint=_BY_HAND) from None
    return added


def strip(text: str) -> str:
    """Take out what is ours."""
    document = parse(text)
    mark = BOM if text.startswith(BOM) else ""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(BOM))
    for table in reversed(_ours(_tables(lines), document)):
        blank_before = table.start > 0 and not lines[table.start - 1].strip()
        del lines[table.start - blank_before : table.end]
    left = mark + "".join(lines)
    if entries.of(parse(left), "codex"):
        raise Invalid("an entry of ours is written in line with others", hint=_BY_HAND)
    return left


def _pairs(table: Mapping[str, Any]) -> list[str]:
    """What a table says of itself, a line each; what JSON writes of a string or a number, TOML reads."""
    plain = {name: value for name, value in table.items() if not isinstance(value, list)}
    return [f"{name} = {json.dumps(value)}" for name, value in plain.items()]


def _ours(tables: list[_Table], document: Mapping[str, Any]) -> list[_Table]:
    """The tables that are entries of ours, and those of groups that have no others."""
    found: list[_Table] = []
    group: dict[str, Any] = {}
    groups: dict[str, Iterator[dict[str, Any]]] = {}
    inner: Iterator[Any] = iter(())
    for table in tables:
        match table.path:
            case ("hooks", event) if isinstance(document["hooks"][event], list):
                group = next(groups.setdefault(event, iter(document["hooks"][event])))
                inner = iter(group.get("hooks", ()))
                if entries.without({"hooks": {event: [group]}}, "codex") == {}:
                    found.append(table)
            case ("hooks", _, "hooks") if entries.is_ours(next(inner, None)):
                found.append(table)
    return found


def _tables(lines: list[str]) -> list[_Table]:
    tables = []
    for start, end in pairwise([*_headers(lines), len(lines)]):
        last = end - 1
        while last > start and (not (line := lines[last].strip()) or line.startswith("#")):
            last -= 1
        tables.append(_Table(start, last + 1, _path(lines[start])))
    return tables


def _headers(lines: list[str]) -> Iterator[int]:
    """The lines that begin a table."""
    last = 0
    for at, line in enumerate(lines):
        if line.lstrip().startswith("[") and _is_whole("".join(lines[last:at])):
            yield at
            last = at


def _is_whole(text: str) -> bool:
    try:
        parse(text)
    except Malformed:
        return False
    return True


def _path(header: str) -> tuple[str, ...]:
    path: list[str] = []
    found: Any = parse(header)
    while found:
        name, found = next(iter(found.items()))
        path.append(name)
        found = found[0] if isinstance(found, list) else found
    return tuple(path)
