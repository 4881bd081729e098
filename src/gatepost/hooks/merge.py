"""
Our entries in the text of a settings file in JSON: added, and taken out. Nothing else in it is touched.

What is left empty by taking out goes too, unless somebody put a comment there: a group in any case, an event and
`hooks` itself if they are known not to have been there before us.

The text is read once, whatever there is to do: it may be long.
"""

import json
from collections.abc import Mapping
from typing import Any

from gatepost.hooks import entries, jsonc
from gatepost.hooks.jsonc import Node, Place


def add(text: str, host: str, wanted: Mapping[str, dict[str, Any]]) -> str:
    """Put in what is wanted, into a text that has nothing of ours yet."""
    root = jsonc.parse(text)
    whole = {"hooks": {event: [entry] for event, entry in wanted.items()}}
    if root is None:
        return _begun(text, head(host) | whole)
    _expect(text, root, dict, "the top level is not an object")
    hooks = root.get("hooks")
    if hooks is None:
        more = whole if root.parts else head(host) | whole
        return jsonc.append(text, root, *more.items())
    _expect(text, hooks, dict, "`hooks` is not an object")
    there = {event: groups for event in wanted if (groups := hooks.get(event)) is not None}
    for event, groups in there.items():
        _expect(text, groups, list, f"`hooks.{event}` is not an array")
    # from the end on, so that what is before it is where it was
    text = jsonc.append(text, hooks, *((event, [entry]) for event, entry in wanted.items() if event not in there))
    for event, groups in sorted(there.items(), key=lambda each: each[1].start, reverse=True):
        text = jsonc.append(text, groups, (None, wanted[event]))
    return text


def strip(text: str, host: str, before: Mapping[str, Any] | None = None) -> str:
    """Take out what is ours. `before` is what the file said before we were put in, where that is known."""
    root = jsonc.parse(text)
    return text if root is None else jsonc.remove(text, _ours(text, root, host, before))


def head(host: str) -> dict[str, Any]:
    """What a new file of a host begins with."""
    return {"version": 1} if host == "cursor" else {}


def _ours(text: str, root: Node, host: str, before: Mapping[str, Any] | None) -> list[Place]:
    """All that goes: our entries, or the group, the event or the `hooks` that has nothing else."""
    found: list[Place] = []
    for at, member in enumerate(root.parts):
        if member.key != "hooks":
            continue
        events: list[Place] = []
        for which, event in enumerate(member.node.parts):
            groups = [place for index in range(len(event.node.parts)) for place in _of(text, event.node, index, host)]
            gone = before is not None and event.key not in _hooks(before)
            events += _or_whole(text, (member.node, which), groups, may_go=gone)
        found += _or_whole(text, (root, at), events, may_go=before is not None and "hooks" not in before)
    return found


def _of(text: str, groups: Node, index: int, host: str) -> list[Place]:
    """What goes of one thing in the list of an event."""
    group = groups.parts[index].node
    if host in entries.FLAT:
        return [(groups, index)] if entries.is_ours(group.value) else []
    inner = group.get("hooks")
    parts = inner.parts if inner is not None else ()
    ours = [(inner, at) for at, part in enumerate(parts) if inner is not None and entries.is_ours(part.node.value)]
    return _or_whole(text, (groups, index), ours, box=inner)


def _or_whole(
    text: str, whole: Place, parts: list[Place], *, box: Node | None = None, may_go: bool = True
) -> list[Place]:
    """The whole instead of its parts, if it would be left empty without them, of comments too."""
    part = whole[0].parts[whole[1]]
    box = box or part.node
    if not may_go or not parts or len(parts) < len(box.parts) or any(each is not box for each, _ in parts):
        return parts
    edges = [part.start, *(edge for each in box.parts for edge in (each.start, each.node.end)), part.node.end]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return parts if any(jsonc.comments(text, start, end) for start, end in gaps) else [whole]


def _hooks(document: Mapping[str, Any]) -> Mapping[str, Any]:
    hooks = document.get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _begun(text: str, document: dict[str, Any]) -> str:
    """A text without anything in it, but perhaps with comments, with the whole document after it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    break_ = "" if not text.strip("\ufeff \t") or text.endswith("\n") else newline
    return text + break_ + json.dumps(document, ensure_ascii=False, indent=2).replace("\n", newline) + newline


def _expect(text: str, node: Node, kind: type, otherwise: str) -> None:
    if not isinstance(node.value, kind):
        jsonc.refuse(text, node.start, otherwise)
