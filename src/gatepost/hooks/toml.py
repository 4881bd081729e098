"""
Our entries in Codex's config.toml: added at its end, and removed wherever they are. Nothing else is touched.

    [[hooks.Stop]]

    [[hooks.Stop.hooks]]
    type = "command"
    command = "/usr/bin/gatepost hook Stop --host codex"
    timeout = 600

A table may always begin at the end of a file, so adding is simple. To remove, the file is split at its headers. A line
that looks like a header may be inside a string or an array of several lines: then the text between the header before it
and that line is not valid TOML by itself.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from gatepost.errors import Invalid, Malformed
from gatepost.hooks import host_settings
from gatepost.hooks.jsonc import BOM

_MANUAL_HINT = "write them as [[hooks.Stop]] and [[hooks.Stop.hooks]], or take out by hand what is ours"


@dataclass(frozen=True, slots=True)
class _Table:
    """A header and its content: `lines[start:end]`, without the comments and blank lines before the next header."""

    start: int
    end: int
    path: tuple[str, ...]


def parse(text: str) -> dict[str, Any]:
    """Return the parsed text; raise Malformed with the position."""
    text = text.removeprefix(BOM)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, location = str(error).rpartition(" (at ")
        position = location.removesuffix(")")
        if not position.startswith("line"):
            position = f"line {text.count(chr(10)) + 1}, column {len(text) - text.rfind(chr(10))}"
        raise Malformed(f"{reason[:1].lower()}{reason[1:]} ({position})") from None
    except RecursionError:
        raise Malformed("it is nested too deep") from None


def add_to_toml(text: str, hook_entries: Mapping[str, dict[str, Any]]) -> str:
    """Add our entries to a text that has none yet; raise Invalid if its hooks are inline tables."""
    lines: list[str] = []
    for event, group in hook_entries.items():
        lines += ["", f"[[hooks.{event}]]", *_write_pairs(group)]
        for entry in group["hooks"]:
            lines += ["", f"[[hooks.{event}.hooks]]", *_write_pairs(entry)]
    newline = "\r\n" if "\r\n" in text else "\n"
    is_blank = text in {"", BOM}
    line_break = "" if is_blank or text.endswith("\n") else newline
    new_text = text + line_break + "".join(line + newline for line in lines[is_blank:])
    try:
        parse(new_text)
    except Malformed:
        raise Invalid("its hooks are written in line, so that none can be added", hint=_MANUAL_HINT) from None
    return new_text


def strip_from_toml(text: str) -> str:
    """Remove our entries; raise Invalid if one is in an inline table."""
    document = parse(text)
    bom = BOM if text.startswith(BOM) else ""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(BOM))
    for table in reversed(_find_our_tables(_split_tables(lines), document)):
        blank_before = table.start > 0 and not lines[table.start - 1].strip()
        del lines[table.start - blank_before : table.end]
    new_text = bom + "".join(lines)
    if host_settings.list_our_entries(parse(new_text), "codex"):
        raise Invalid("an entry of ours is written in line with others", hint=_MANUAL_HINT)
    return new_text


def _write_pairs(table: Mapping[str, Any]) -> list[str]:
    """Return the strings and numbers of a table, one per line; TOML reads them as JSON writes them."""
    scalars = {name: value for name, value in table.items() if not isinstance(value, list)}
    return [f"{name} = {json.dumps(value)}" for name, value in scalars.items()]


def _find_our_tables(tables: list[_Table], document: Mapping[str, Any]) -> list[_Table]:
    """Return the tables of our entries, and those of groups that have no other entries."""
    our_tables: list[_Table] = []
    group: dict[str, Any] = {}
    groups: dict[str, Iterator[dict[str, Any]]] = {}
    group_hooks: Iterator[Any] = iter(())
    for table in tables:
        match table.path:
            case ("hooks", event) if isinstance(document["hooks"][event], list):
                group = next(groups.setdefault(event, iter(document["hooks"][event])))
                group_hooks = iter(group.get("hooks", ()))
                if host_settings.remove_our_entries({"hooks": {event: [group]}}, "codex") == {}:
                    our_tables.append(table)
            case ("hooks", _, "hooks") if host_settings.is_our_entry(next(group_hooks, None)):
                our_tables.append(table)
    return our_tables


def _split_tables(lines: list[str]) -> list[_Table]:
    tables = []
    for start, end in pairwise([*_find_headers(lines), len(lines)]):
        last = end - 1
        while last > start and (not (line := lines[last].strip()) or line.startswith("#")):
            last -= 1
        tables.append(_Table(start, last + 1, _parse_header(lines[start])))
    return tables


def _find_headers(lines: list[str]) -> Iterator[int]:
    """Yield the indexes of the lines that begin a table."""
    last_header = 0
    for index, line in enumerate(lines):
        if line.lstrip().startswith("[") and _is_whole("".join(lines[last_header:index])):
            yield index
            last_header = index


def _is_whole(text: str) -> bool:
    try:
        parse(text)
    except Malformed:
        return False
    return True


def _parse_header(header: str) -> tuple[str, ...]:
    path: list[str] = []
    node: Any = parse(header)
    while node:
        name, node = next(iter(node.items()))
        path.append(name)
        node = node[0] if isinstance(node, list) else node
    return tuple(path)
