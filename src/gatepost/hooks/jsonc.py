"""
JSON as people write it in settings files, with comments and trailing commas, changed in place: what is not changed
stays as it is, byte for byte, however it is formatted.

    parse     the text as a tree in which everything knows where it stands
    append    put more at the end of an object or an array, written in the manner of the file
    remove    take things out, each with its comma and the white space before it

Removing what was appended gives the text that was there before, unless the object or the array was empty: then its
white space may differ. Comments are nobody's: they stay, in their order.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Never

from gatepost.errors import Malformed

DEPTH: Final = 100
BOM: Final = "\ufeff"
_COMMENT: Final = re.compile(r"//[^\n]*?(?=\r?\n|\Z)|/\*.*?\*/", re.DOTALL)
_TRIVIA: Final = re.compile(rf"(?:[ \t\r\n]+|{_COMMENT.pattern})*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_TOKEN: Final = re.compile(f"{_STRING.pattern}|{_COMMENT.pattern}", re.DOTALL)
_SCALAR: Final = re.compile(
    r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)", re.ASCII
)
_CLOSING: Final = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A value: `text[start:end]`."""

    start: int
    end: int
    #: what any reader of JSON would make of it
    value: Any
    #: what an object or an array holds
    parts: tuple["Part", ...] = ()

    def get(self, key: str) -> "Node | None":
        """The member of an object; of several with one name, the last counts."""
        return next((part.node for part in reversed(self.parts) if part.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A member of an object, from its name on, or an item of an array."""

    start: int
    key: str | None
    node: Node
    #: where the comma after it stands, if there is one
    comma: int | None


#: a part of an object or an array, and which
Place = tuple[Node, int]


@lru_cache(maxsize=2)  # it may be long, and whoever changes it looks at it several times, before and after
def parse(text: str) -> Node | None:
    """Return the tree, or None if there is nothing but white space and comments. Raises Malformed, saying where."""
    at = _skip(text, text.startswith(BOM))
    if at == len(text):
        return None
    root = _value(text, at, 0)
    if (rest := _skip(text, root.end)) < len(text):
        refuse(text, rest, "there is more after its end")
    return root


def append(text: str, box: Node, *more: tuple[str | None, Any]) -> str:
    """Return the text with values added at the end of an object, each under a key, or of an array."""
    if not more:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    last = box.parts[-1] if box.parts else None
    in_line = last is not None and "\n" not in text[box.start : box.end]
    indent = _indent(text)
    margin = _margin(text, box, indent)
    pieces = []
    for key, value in more:
        body = json.dumps(value, ensure_ascii=False, indent=None if in_line else indent)
        named = body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"
        pieces.append(f" {named}" if in_line else newline + margin + named.replace("\n", newline + margin))
    piece = ",".join(pieces)
    comments = _comments(text, _after(box, len(box.parts)), box.end - 1)
    inside = comments[-1].end() if comments else _after(box, len(box.parts))
    before, behind, closing = text[:inside], text[inside : box.end - 1], text[box.end - 1 :]
    if last is None:
        keep = "\n" in behind and inside > box.start + 1
        return before + piece + (behind if keep else newline + _margin_of_line(text, box.start)) + closing
    if last.comma is None:
        return before[: last.node.end] + "," + before[last.node.end :] + piece + behind + closing
    return before + piece + "," + behind + closing


def remove(text: str, places: Collection[Place]) -> str:
    """Return the text without these, none of which is within another."""
    gone = {(box.start, index) for box, index in places}
    # from the end on, so that what is before it is where it was
    for box, index in sorted(places, key=lambda place: place[0].parts[place[1]].start, reverse=True):
        to_the_end = all((box.start, later) in gone for later in range(index, len(box.parts)))
        text = _without(text, box, index, last=to_the_end and box.parts[-1].comma is None)
    return text


def _without(text: str, box: Node, index: int, *, last: bool) -> str:
    """`last` is whether nothing comes after it any more, not even a comma."""
    part = box.parts[index]
    comments = _comments(text, _after(box, index), part.start)
    begin = comments[-1].end() if comments else _after(box, index)
    comma = part.comma if not last else box.parts[index - 1].comma if index else None
    cuts = [(begin, part.node.end)] + ([(comma, comma + 1)] if comma is not None else [])
    rest = text[part.node.end :] if last or comma is None else text[part.node.end : comma] + text[comma + 1 :]
    if comments and comments[-1][0].startswith("//") and not re.match(r"\r?\n|\Z", rest):
        cuts[0] = (text.index("\n", begin) + 1, part.node.end)  # what follows must not become part of the comment
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    inside = box.start + 1
    closing = len(text) - len(text[inside:].lstrip())
    return text[:inside] + text[closing:] if text.startswith(tuple(_CLOSING.values()), closing) else text


def comments(text: str, start: int = 0, end: int | None = None) -> list[str]:
    """The comments between two places, neither of which is within a string."""
    tokens = _TOKEN.finditer(text, start, len(text) if end is None else end)
    return [token[0] for token in tokens if token[0].startswith("/")]


def find_extension(text: str) -> tuple[int, str] | None:
    """Return the place and the name of the first thing that strict JSON does not allow, or None."""
    found = [(token.start(), "comments in it") for token in _TOKEN.finditer(text) if token[0].startswith("/")][:1]
    root = parse(text)
    boxes = [root] if root is not None else []
    while boxes:
        box = boxes.pop()
        if box.parts and box.parts[-1].comma is not None:
            found.append((box.parts[-1].comma, "a comma before a closing bracket"))
        boxes += [part.node for part in box.parts]
    return min(found, default=None)


def refuse(text: str, at: int, why: str) -> Never:
    """Say what is wrong, and where."""
    raise Malformed(f"{why} {describe_place(text, at)}")


def describe_place(text: str, at: int) -> str:
    """Return a place in the text as editors count it, in brackets."""
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at) - (line == 1 and at > 0 and text.startswith(BOM))
    return f"(line {line}, column {column})"


def _value(text: str, at: int, depth: int) -> Node:
    if at < len(text) and text[at] in _CLOSING:
        if depth == DEPTH:
            refuse(text, at, f"it is nested over {DEPTH} deep")
        return _box(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        refuse(text, at, "a value is missing" if at == len(text) else f"{text[at : at + 10]!r} is not a value")
    try:
        return Node(start=at, end=found.end(), value=json.loads(found[0]))
    except ValueError:
        refuse(text, at, f"{found[0][:20]!r} is not a value")


def _box(text: str, start: int, depth: int) -> Node:
    is_object, closing = text[start] == "{", _CLOSING[text[start]]
    parts: list[Part] = []
    at = _skip(text, start + 1)
    while not text.startswith(closing, at):
        if parts and parts[-1].comma is None:
            refuse(text, at, f"a comma or {closing!r} is missing")
        begin, key = at, None
        if is_object:
            if not _STRING.match(text, at):
                refuse(text, at, f"the name of a member or {closing!r} is missing")
            name = _value(text, at, depth)
            key, at = name.value, _skip(text, name.end)
            if not text.startswith(":", at):
                refuse(text, at, "a colon is missing")
            at = _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
        comma = at if text.startswith(",", at) else None
        parts.append(Part(start=begin, key=key, node=node, comma=comma))
        at = at if comma is None else _skip(text, comma + 1)
    value: Any = {part.key: part.node.value for part in parts} if is_object else [part.node.value for part in parts]
    return Node(start=start, end=at + 1, value=value, parts=tuple(parts))


def _skip(text: str, at: int) -> int:
    """Go past white space and comments."""
    found = _TRIVIA.match(text, at)
    assert found is not None  # it matches nothing, too
    if text.startswith("/*", found.end()):
        refuse(text, found.end(), "a comment has no end")
    return found.end()


def _after(box: Node, index: int) -> int:
    """Where the part before this one ends, with its comma, or where the box begins."""
    if index == 0:
        return box.start + 1
    before = box.parts[index - 1]
    return before.node.end if before.comma is None else before.comma + 1


def _comments(text: str, start: int, end: int) -> list[re.Match[str]]:
    """The comments between two places that have only white space and comments between them."""
    return list(_COMMENT.finditer(text, start, end))


def _indent(text: str) -> str:
    """How the file is indented, going by its first indented line."""
    found = re.search(r'\n([ \t]*)["{\[]', text)
    return found[1] if found else "  "


def _margin(text: str, box: Node, indent: str) -> str:
    """What stands before each part of a box that has its parts on lines of their own."""
    for part in box.parts:
        before = text[text.rfind("\n", 0, part.start) + 1 : part.start]
        if "\n" in text[box.start : part.start] and not before.strip():
            return before
    return _margin_of_line(text, box.start) + indent


def _margin_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
