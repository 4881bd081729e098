"""
Our entries in the text of a settings file in JSON: added, and taken out. Nothing else in it is touched.

What is left empty by taking out goes too (a group, an event, `hooks` itself), unless somebody put a comment there.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from gatepost.hooks import entries, jsonc
from gatepost.hooks.jsonc import Node


def add(text: str, host: str, wanted: Mapping[str, dict[str, Any]]) -> str:
    """Put in what is wanted, into a text that has nothing of ours yet."""
    root = jsonc.parse(text)
    if root is None:
        return _begun(text, {**head(host), "hooks": {event: [entry] for event, entry in wanted.items()}})
    _expect(text, root, dict, "the top level is not an object")
    if not root.parts:
        for key, value in head(host).items():
            text = jsonc.append(text, _parsed(text), value, key=key)
    for event, entry in wanted.items():
        text = _added(text, event, entry)
    return text


def strip(text: str, host: str) -> str:
    """Take out what is ours."""
    while (found := _first(text, host)) is not None:
        text = jsonc.remove(text, *found)
    return text


def head(host: str) -> dict[str, Any]:
    """What a new file of a host begins with."""
    return {"version": 1} if host == "cursor" else {}


def _added(text: str, event: str, entry: dict[str, Any]) -> str:
    root = _parsed(text)
    hooks = root.get("hooks")
    if hooks is None:
        return jsonc.append(text, root, {event: [entry]}, key="hooks")
    _expect(text, hooks, dict, "`hooks` is not an object")
    groups = hooks.get(event)
    if groups is None:
        return jsonc.append(text, hooks, [entry], key=event)
    _expect(text, groups, list, f"`hooks.{event}` is not an array")
    return jsonc.append(text, groups, entry)


def _first(text: str, host: str) -> tuple[Node, int] | None:
    """Where the first of our entries stands: the box to take it out of, and its place in there."""
    root = jsonc.parse(text)
    for path in _paths(root, host) if root is not None else ():
        box, index = path.pop()
        while path and _alone(text, box, index, path[-1]):
            box, index = path.pop()
        return box, index
    return None


def _paths(root: Node, host: str) -> Iterator[list[tuple[Node, int]]]:
    """The way to each of our entries, from the root down, as boxes and places in them."""
    for at, member in enumerate(root.parts):
        if member.key != "hooks":
            continue
        for which, event in enumerate(member.node.parts):
            for place, group in enumerate(event.node.parts):
                way = [(root, at), (member.node, which), (event.node, place)]
                if host in entries.FLAT and entries.is_ours(group.node.value):
                    yield way
                inner = None if host in entries.FLAT else group.node.get("hooks")
                for index, entry in enumerate(inner.parts if inner is not None else ()):
                    if inner is not None and entries.is_ours(entry.node.value):
                        yield [*way, (inner, index)]


def _alone(text: str, box: Node, index: int, above: tuple[Node, int]) -> bool:
    """Whether what is above would be left empty without this, of comments too."""
    part, whole = box.parts[index], above[0].parts[above[1]]
    around = jsonc.comments(text, whole.start, part.start) + jsonc.comments(text, part.node.end, whole.node.end)
    return len(box.parts) == 1 and not around


def _begun(text: str, document: dict[str, Any]) -> str:
    """A text without anything in it, but perhaps with comments, with the whole document after it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    break_ = "" if not text.strip("\ufeff \t") or text.endswith("\n") else newline
    return text + break_ + json.dumps(document, ensure_ascii=False, indent=2).replace("\n", newline) + newline


def _parsed(text: str) -> Node:
    root = jsonc.parse(text)
    assert root is not None
    return root


def _expect(text: str, node: Node, kind: type, otherwise: str) -> None:
    if not isinstance(node.value, kind):
        jsonc.refuse(text, node.start, otherwise)
