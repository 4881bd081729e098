"""Grids of points at which a process comes to harm: the whole grid by night, a few points of it by day."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from tests.faults.conftest import NIGHTLY

T = TypeVar("T")

#: the name of a point, and the how-manieth time that a process passes it
Point = tuple[str, int]


def list_passes(counts: Mapping[str, int]) -> list[Point]:
    """Return every time that every point is passed, if the points were passed so often."""
    return [(name, nth) for name, times in counts.items() for nth in range(1, times + 1)]


def select_points(points: Sequence[T], *, at_least: int, by_day: Sequence[T] = ()) -> list[T]:
    """
    Return all points by night; by day the first, the middle and the last, and those `by_day`. A grid with fewer points
    than `at_least`, or without those, has lost some, and would prove less.
    """
    assert len(points) >= at_least, f"{len(points)} points, and there should be {at_least} at least"
    assert {*by_day} <= {*points}, f"there is no { ({*by_day} - {*points}) }"
    if NIGHTLY:
        return [*points]
    chosen = {points[0], points[len(points) // 2], points[-1], *by_day}
    selection = [point for point in points if point in chosen]
    assert len(selection) >= min(3, len(points))
    return selection
