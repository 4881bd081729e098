"""
Edit Codex's config.toml in place: tables are added at its end, and removed wherever they are. Nothing else is touched.

A table may always begin at the end of a file, so adding is simple. To remove, the file is split at its headers. A line
that looks like a header may be inside a string or an array of several lines: then the text between the header before it
and that line is not valid TOML by itself.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from gatepost.errors import Invalid, Malformed
from gatepost.guests.host_settings.jsonc_editing import BOM

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class TomlTable:
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


def append_tables(text: str, lines: Sequence[str], *, what: str, hint: str) -> str:
    """
    Return the text with tables at its end, whose lines begin with a blank one; raise Invalid if the text has `what`
    written in line, so that no table can be added.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    is_blank = text in {"", BOM}
    line_break = "" if is_blank or text.endswith("\n") else newline
    new_text = text + line_break + "".join(line + newline for line in lines[is_blank:])
    try:
        parse(new_text)
    except Malformed:
        raise Invalid(f"its {what} are written in line, so that none can be added", hint=hint) from None
    return new_text


def remove_tables(text: str, select: Callable[[list[TomlTable], dict[str, Any]], list[TomlTable]]) -> str:
    """Return the text without the tables that `select` returns for all tables and the parsed text."""
    document = parse(text)
    bom = BOM if text.startswith(BOM) else ""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text.removeprefix(BOM))
    for table in reversed(select(_split_tables(lines), document)):
        blank_before = table.start > 0 and not lines[table.start - 1].strip()
        del lines[table.start - blank_before : table.end]
    return bom + "".join(lines)


def write_table(path: Sequence[str], table: Mapping[str, Any], *, is_item: bool = False) -> list[str]:
    """Return the lines of a table and of the tables in it, each after a blank line; `is_item`: of an array of them."""
    subtables = {name: value for name, value in table.items() if isinstance(value, dict) or _is_table_array(value)}
    header = ".".join(map(_write_key, path))
    lines = ["", f"[[{header}]]" if is_item else f"[{header}]"]
    lines += [f"{_write_key(name)} = {_write_value(value)}" for name, value in table.items() if name not in subtables]
    for name, value in subtables.items():
        if isinstance(value, dict):
            lines += write_table([*path, name], value)
        else:
            lines += [line for item in value for line in write_table([*path, name], item, is_item=True)]
    return lines


def _is_table_array(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _write_key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _write_value(key)


def _write_value(value: object) -> str:
    """Return a value in one line. TOML reads strings, whole numbers and booleans as JSON writes them."""
    if isinstance(value, list):
        return f"[{', '.join(map(_write_value, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_write_key(key)} = {_write_value(item)}' for key, item in value.items())}}}"
    if isinstance(value, str | int):  # a boolean is an int
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)  # a number with a fraction, a date or a time


def _split_tables(lines: list[str]) -> list[TomlTable]:
    tables = []
    for start, end in pairwise([*_find_headers(lines), len(lines)]):
        last = end - 1
        while last > start and (not (line := lines[last].strip()) or line.startswith("#")):
            last -= 1
        tables.append(TomlTable(start, last + 1, _parse_header(lines[start])))
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
