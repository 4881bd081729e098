"""
Our entries in the text of a settings file in JSON: added, and taken out. Nothing else in it is touched.

What is left empty by taking out goes too, unless somebody put a comment there: a group in any case, an event and
`hooks` itself if they are known not to have been there before us.

The text is read once, whatever there is to do: it may be long.
"""

import json
from collections.abc import Mapping
from typing import Any

from gatepost.hooks import host_settings, jsonc
from gatepost.hooks.jsonc import Node, PartPosition


def add_to_json(text: str, host: str, hook_entries: Mapping[str, dict[str, Any]]) -> str:
    """Put in what is wanted, into a text that has nothing of ours yet."""
    root = jsonc.parse(text)
    hooks_document = {"hooks": {event: [entry] for event, entry in hook_entries.items()}}
    if root is None:
        return _append_document(text, build_head(host) | hooks_document)
    _require_type(text, root, dict, "the top level is not an object")
    hooks = root.get("hooks")
    if hooks is None:
        new_members = hooks_document if root.parts else build_head(host) | hooks_document
        return jsonc.append(text, root, *new_members.items())
    _require_type(text, hooks, dict, "`hooks` is not an object")
    event_lists = {event: groups for event in hook_entries if (groups := hooks.get(event)) is not None}
    for event, groups in event_lists.items():
        _require_type(text, groups, list, f"`hooks.{event}` is not an array")
    # from the end on, so that what is before it is where it was
    text = jsonc.append(
        text, hooks, *((event, [entry]) for event, entry in hook_entries.items() if event not in event_lists)
    )
    for event, groups in sorted(event_lists.items(), key=lambda pair: pair[1].start, reverse=True):
        text = jsonc.append(text, groups, (None, hook_entries[event]))
    return text


def strip_from_json(text: str, host: str, before: Mapping[str, Any] | None = None) -> str:
    """Take out what is ours. `before` is what the file said before we were put in, where that is known."""
    root = jsonc.parse(text)
    return text if root is None else jsonc.remove(text, _find_our_places(text, root, host, before))


def build_head(host: str) -> dict[str, Any]:
    """What a new file of a host begins with."""
    return {"version": 1} if host == "cursor" else {}


def _find_our_places(text: str, root: Node, host: str, before: Mapping[str, Any] | None) -> list[PartPosition]:
    """All that goes: our entries, or the group, the event or the `hooks` that has nothing else."""
    places: list[PartPosition] = []
    for member_index, member in enumerate(root.parts):
        if member.key != "hooks":
            continue
        event_places: list[PartPosition] = []
        for event_index, event in enumerate(member.node.parts):
            group_places = [
                place
                for index in range(len(event.node.parts))
                for place in _find_places_in_group(text, event.node, index, host)
            ]
            can_remove = before is not None and event.key not in _get_hooks(before)
            event_places += _collapse_if_empty(text, (member.node, event_index), group_places, can_remove=can_remove)
        places += _collapse_if_empty(
            text, (root, member_index), event_places, can_remove=before is not None and "hooks" not in before
        )
    return places


def _find_places_in_group(text: str, groups: Node, index: int, host: str) -> list[PartPosition]:
    """What goes of one thing in the list of an event."""
    group = groups.parts[index].node
    if host in host_settings.FLAT_HOSTS:
        return [(groups, index)] if host_settings.is_our_entry(group.value) else []
    group_hooks = group.get("hooks")
    parts = group_hooks.parts if group_hooks is not None else ()
    our_places = [
        (group_hooks, part_index)
        for part_index, part in enumerate(parts)
        if group_hooks is not None and host_settings.is_our_entry(part.node.value)
    ]
    return _collapse_if_empty(text, (groups, index), our_places, container=group_hooks)


def _collapse_if_empty(
    text: str, whole: PartPosition, parts: list[PartPosition], *, container: Node | None = None, can_remove: bool = True
) -> list[PartPosition]:
    """The whole instead of its parts, if it would be left empty without them, of comments too."""
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
    return parts if any(jsonc.list_comments(text, start, end) for start, end in gaps) else [whole]


def _get_hooks(document: Mapping[str, Any]) -> Mapping[str, Any]:
    hooks = document.get("hooks")
    return hooks if isinstance(hooks, dict) else {}


def _append_document(text: str, document: dict[str, Any]) -> str:
    """A text without anything in it, but perhaps with comments, with the whole document after it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    line_break = "" if not text.strip("\ufeff \t") or text.endswith("\n") else newline
    return text + line_break + json.dumps(document, ensure_ascii=False, indent=2).replace("\n", newline) + newline


def _require_type(text: str, node: Node, kind: type, problem: str) -> None:
    if not isinstance(node.value, kind):
        jsonc.refuse(text, node.start, problem)
