"""
A tree of routes: a path is found segment by segment, however many routes there are.

Segments are split before they are unquoted: a `%2F` is part of a name, not the end of a segment.

A segment that is written out is tried before one that is a parameter, and the method decides among all that fit: `POST
/api/inbox/batch` and `GET /api/inbox/{name}` are two routes, and an inbox may be called `batch`.
"""

from collections.abc import Iterator
from typing import Generic, TypeVar
from urllib.parse import unquote

from gatepost.api.problems import MethodNotAllowed
from gatepost.errors import NotFound

T = TypeVar("T")


class _Node(Generic[T]):
    __slots__ = ("children", "parameter", "targets")

    def __init__(self) -> None:
        self.children: dict[str, _Node[T]] = {}
        self.parameter: _Node[T] | None = None
        #: by method: the names of the parameters, and what was added
        self.targets: dict[str, tuple[tuple[str, ...], T]] = {}


class Router(Generic[T]):
    def __init__(self) -> None:
        self._root: _Node[T] = _Node()

    def add(self, method: str, path: str, target: T) -> None:
        node, names = self._root, []
        for segment in path.split("/")[1:]:
            if segment.startswith("{"):
                names.append(segment[1:-1])
                node.parameter = node.parameter or _Node()
                node = node.parameter
            else:
                node = node.children.setdefault(segment, _Node())
        node.targets[method] = (tuple(names), target)

    def find(self, method: str, path: str) -> tuple[T, dict[str, str]]:
        """Return what was added for a quoted path, and its parameters; raise NotFound or MethodNotAllowed."""
        methods: list[str] = []
        for node, values in _walk(self._root, [unquote(segment) for segment in path.split("/")[1:]], 0, ()):
            found = node.targets.get(method)
            if found is not None:
                names, target = found
                return target, dict(zip(names, values, strict=True))
            methods += node.targets
        if methods:
            raise MethodNotAllowed(method, sorted(set(methods)))
        raise NotFound(f"there is nothing at {path!r:.200}", hint="GET /api/docs lists what there is")


def _walk(
    node: _Node[T], segments: list[str], position: int, values: tuple[str, ...]
) -> Iterator[tuple[_Node[T], tuple[str, ...]]]:
    if position == len(segments):
        if node.targets:
            yield node, values
        return
    segment = segments[position]
    child = node.children.get(segment)
    if child is not None:
        yield from _walk(child, segments, position + 1, values)
    if node.parameter is not None and segment:
        yield from _walk(node.parameter, segments, position + 1, (*values, segment))
