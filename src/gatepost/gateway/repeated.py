"""
What no parameter can be, whatever the route: one of a query that is given more often than it has values (whoever reads
one of two has read the wrong one), and a text with a NUL in it, which PostgreSQL cannot store or compare.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, get_origin

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from gatepost.errors import Invalid

_LISTS: Final = (list, tuple, set, frozenset, Sequence)


def refuse(request: Request) -> None:
    """
    Refuse a NUL in the path or the query, and a query with two values for what has one; what else the route does not
    know is let be, as ever.
    """
    given = request.query_params
    for name, value in (*request.path_params.items(), *given.multi_items()):
        if "\x00" in name or "\x00" in str(value):
            raise Invalid(f"{name!r:.60} has a NUL character in it", hint="remove it")
    route = request.scope.get("route")
    if len(given) == len(given.multi_items()) or not isinstance(route, APIRoute):
        return
    for name in _single(route.dependant):
        if len(given.getlist(name)) > 1:
            raise Invalid(f"{name!r} is given more than once", hint="give it once")


def _single(dependant: Dependant) -> Iterator[str]:
    for one in dependant.query_params:
        if not _is_list(one.field_info.annotation):
            yield one.alias
    for inner in dependant.dependencies:
        yield from _single(inner)


def _is_list(annotation: Any) -> bool:
    return annotation in _LISTS or get_origin(annotation) in _LISTS
