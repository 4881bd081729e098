"""
Edit JSON with comments and trailing commas in place, as people write it in settings files: everything that is not
edited stays as it is, byte for byte, in any formatting.

    parse     return the text as a tree in which every node has its offsets
    append    add values at the end of an object or an array, in the formatting of the file
    remove    remove values, each with its comma and the white space before it

Removing an appended value restores the text, unless the object or the array was empty: then its white space may differ.
Comments belong to no value: they stay, in their order.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Never

from gatepost.errors import Malformed, quote_value

MAX_DEPTH: Final = 100
BOM: Final = "\ufeff"
_COMMENT: Final = re.compile(r"//[^\n]*?(?=\r?\n|\Z)|/\*.*?\*/", re.DOTALL)
_TRIVIA: Final = re.compile(rf"(?:[ \t\r\n]+|{_COMMENT.pattern})*", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_TOKEN: Final = re.compile(f"{_STRING.pattern}|{_COMMENT.pattern}", re.DOTALL)
_SCALAR: Final = re.compile(
    r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])|(?:true|false|null)(?!\w)", re.ASCII
)
_CLOSING_BRACKETS: Final = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntaxNode:
    """A value: `text[start:end]`."""

    start: int
    end: int
    #: the parsed value
    value: Any
    #: the members of an object or the items of an array
    parts: tuple["NodePart", ...] = ()

    def get(self, key: str) -> "SyntaxNode | None":
        """Return the value of a member, or None; of several members with one name, the last counts."""
        return next((part.node for part in reversed(self.parts) if part.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePart:
    """A member of an object, from its name on, or an item of an array."""

    start: int
    key: str | None
    node: SyntaxNode
    #: the offset of the comma after it, if there is one
    comma: int | None


#: an object or an array, and the index of one of its parts
PartPosition = tuple[SyntaxNode, int]


@lru_cache(maxsize=2)  # a text may be long, and an edit parses it several times, before and after
def parse(text: str) -> SyntaxNode | None:
    """Return the tree, or None if there are only white space and comments; raise Malformed with the position."""
    offset = _skip_trivia(text, text.startswith(BOM))
    if offset == len(text):
        return None
    root = _parse_value(text, offset, 0)
    if (rest_offset := _skip_trivia(text, root.end)) < len(text):
        refuse(text, rest_offset, "there is text after its last bracket")
    return root


def append(text: str, container: SyntaxNode, *members: tuple[str | None, Any]) -> str:
    """Return the text with values added at the end of an object, each under a key, or of an array."""
    if not members:
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    last = container.parts[-1] if container.parts else None
    is_inline = last is not None and "\n" not in text[container.start : container.end]
    match = re.search(r'\n([ \t]*)["{\[]', text)
    indent = match[1] if match else "  "
    margin = _get_margin(text, container, indent)
    pieces = []
    for key, value in members:
        body = json.dumps(value, ensure_ascii=False, indent=None if is_inline else indent)
        member_text = body if key is None else f"{json.dumps(key, ensure_ascii=False)}: {body}"
        pieces.append(
            f" {member_text}" if is_inline else newline + margin + member_text.replace("\n", newline + margin)
        )
    piece = ",".join(pieces)
    comments = _match_comments(text, _find_previous_end(container, len(container.parts)), container.end - 1)
    insert_at = comments[-1].end() if comments else _find_previous_end(container, len(container.parts))
    head, tail, closing = text[:insert_at], text[insert_at : container.end - 1], text[container.end - 1 :]
    if last is None:
        keeps_margin = "\n" in tail and insert_at > container.start + 1
        return head + piece + (tail if keeps_margin else newline + _get_line_margin(text, container.start)) + closing
    if last.comma is None:
        return head[: last.node.end] + "," + head[last.node.end :] + piece + tail + closing
    return head + piece + "," + tail + closing


def remove(text: str, places: Collection[PartPosition]) -> str:
    """Return the text without these parts, none of which is inside another."""
    removed_parts = {(container.start, index) for container, index in places}
    # from the end to the beginning, so that earlier offsets stay valid
    for container, index in sorted(places, key=lambda place: place[0].parts[place[1]].start, reverse=True):
        is_tail = all(
            (container.start, later_index) in removed_parts for later_index in range(index, len(container.parts))
        )
        text = _remove_part(text, container, index, is_last=is_tail and container.parts[-1].comma is None)
    return text


def _remove_part(text: str, container: SyntaxNode, index: int, *, is_last: bool) -> str:
    """Remove one part. `is_last`: after it nothing remains, not even a comma."""
    part = container.parts[index]
    comments = _match_comments(text, _find_previous_end(container, index), part.start)
    begin = comments[-1].end() if comments else _find_previous_end(container, index)
    comma = part.comma if not is_last else container.parts[index - 1].comma if index else None
    cuts = [(begin, part.node.end)] + ([(comma, comma + 1)] if comma is not None else [])
    rest = text[part.node.end :] if is_last or comma is None else text[part.node.end : comma] + text[comma + 1 :]
    if comments and comments[-1][0].startswith("//") and not re.match(r"\r?\n|\Z", rest):
        cuts[0] = (text.index("\n", begin) + 1, part.node.end)  # the rest must not become part of the comment
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    content_start = container.start + 1
    closing = len(text) - len(text[content_start:].lstrip())
    return (
        text[:content_start] + text[closing:] if text.startswith(tuple(_CLOSING_BRACKETS.values()), closing) else text
    )


def append_document(text: str, document: dict[str, Any]) -> str:
    """Return a text that is empty, except perhaps for comments, with the document after it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    line_break = "" if not text.strip("\ufeff \t") or text.endswith("\n") else newline
    return text + line_break + json.dumps(document, ensure_ascii=False, indent=2).replace("\n", newline) + newline


def collapse_if_empty(
    text: str,
    whole: PartPosition,
    parts: list[PartPosition],
    *,
    container: SyntaxNode | None = None,
    can_remove: bool = True,
) -> list[PartPosition]:
    """Return the whole instead of its parts, if without them it would be empty, also of comments."""
    part = whole[0].parts[whole[1]]
    container = container or part.node
    if (
        not can_remove
        or not parts
        or len(parts) < len(container.parts)
        or any(item is not container for item, _ in parts)
    ):
        return parts
    edges = [part.start, *(edge for item in container.parts for edge in (item.start, item.node.end)), part.node.end]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return parts if any(list_comments(text, start, end) for start, end in gaps) else [whole]


def require_type(text: str, node: SyntaxNode, kind: type, problem: str) -> None:
    """Raise Malformed with the problem and the position if a value is of another type."""
    if not isinstance(node.value, kind):
        refuse(text, node.start, problem)


def list_comments(text: str, start: int = 0, end: int | None = None) -> list[str]:
    """Return the comments between two offsets, neither of which is inside a string."""
    tokens = _TOKEN.finditer(text, start, len(text) if end is None else end)
    return [token[0] for token in tokens if token[0].startswith("/")]


def find_extension(text: str) -> tuple[int, str] | None:
    """Return the offset and the name of the first thing that strict JSON does not allow, or None."""
    extensions = [(token.start(), "comments in it") for token in _TOKEN.finditer(text) if token[0].startswith("/")][:1]
    root = parse(text)
    containers = [root] if root is not None else []
    while containers:
        container = containers.pop()
        if container.parts and container.parts[-1].comma is not None:
            extensions.append((container.parts[-1].comma, "a comma before a closing bracket"))
        containers += [part.node for part in container.parts]
    return min(extensions, default=None)


def refuse(text: str, offset: int, reason: str) -> Never:
    """Raise Malformed with a reason and the position."""
    raise Malformed(f"{reason} {describe_position(text, offset)}")


def describe_position(text: str, offset: int) -> str:
    """Return an offset as line and column, as editors count them, in brackets."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset) - (line == 1 and offset > 0 and text.startswith(BOM))
    return f"(line {line}, column {column})"


def _parse_value(text: str, offset: int, depth: int) -> SyntaxNode:
    if offset < len(text) and text[offset] in _CLOSING_BRACKETS:
        if depth == MAX_DEPTH:
            refuse(text, offset, f"it is nested over {MAX_DEPTH} deep")
        return _parse_container(text, offset, depth)
    match = _STRING.match(text, offset) or _SCALAR.match(text, offset)
    if match is None:
        refuse(
            text,
            offset,
            "a value is missing" if offset == len(text) else f"{text[offset : offset + 10]!r} is not a value",
        )
    try:
        return SyntaxNode(start=offset, end=match.end(), value=json.loads(match[0]))
    except ValueError:
        refuse(text, offset, f"{quote_value(match[0])} is not a value")


def _parse_container(text: str, start: int, depth: int) -> SyntaxNode:
    is_object, closing = text[start] == "{", _CLOSING_BRACKETS[text[start]]
    parts: list[NodePart] = []
    offset = _skip_trivia(text, start + 1)
    while not text.startswith(closing, offset):
        if parts and parts[-1].comma is None:
            refuse(text, offset, f"a comma or {closing!r} is missing")
        begin, key = offset, None
        if is_object:
            if not _STRING.match(text, offset):
                refuse(text, offset, f"a name in double quotes or {closing!r} is missing")
            name = _parse_value(text, offset, depth)
            key, offset = name.value, _skip_trivia(text, name.end)
            if not text.startswith(":", offset):
                refuse(text, offset, "a colon is missing")
            offset = _skip_trivia(text, offset + 1)
        node = _parse_value(text, offset, depth + 1)
        offset = _skip_trivia(text, node.end)
        comma = offset if text.startswith(",", offset) else None
        parts.append(NodePart(start=begin, key=key, node=node, comma=comma))
        offset = offset if comma is None else _skip_trivia(text, comma + 1)
    value: Any = {part.key: part.node.value for part in parts} if is_object else [part.node.value for part in parts]
    return SyntaxNode(start=start, end=offset + 1, value=value, parts=tuple(parts))


def _skip_trivia(text: str, offset: int) -> int:
    """Return the offset after white space and comments; raise Malformed if a comment has no end."""
    match = _TRIVIA.match(text, offset)
    assert match is not None  # the pattern matches the empty text too
    if text.startswith("/*", match.end()):
        refuse(text, match.end(), "a comment has no end")
    return match.end()


def _find_previous_end(container: SyntaxNode, index: int) -> int:
    """Return the end of the part before this one, with its comma, or the start of the content."""
    if index == 0:
        return container.start + 1
    previous = container.parts[index - 1]
    return previous.node.end if previous.comma is None else previous.comma + 1


def _match_comments(text: str, start: int, end: int) -> list[re.Match[str]]:
    """Return the comments between two offsets that have only white space and comments between them."""
    return list(_COMMENT.finditer(text, start, end))


def _get_margin(text: str, container: SyntaxNode, indent: str) -> str:
    """Return the white space before each part, if every part is on a line of its own."""
    for part in container.parts:
        line_start = text[text.rfind("\n", 0, part.start) + 1 : part.start]
        if "\n" in text[container.start : part.start] and not line_start.strip():
            return line_start
    return _get_line_margin(text, container.start) + indent


def _get_line_margin(text: str, offset: int) -> str:
    line = text[text.rfind("\n", 0, offset) + 1 : offset]
    return line[: len(line) - len(line.lstrip(" \t"))]
