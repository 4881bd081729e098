"""Suggest names that are similar to one that does not exist: "did you mean 'analyst'?"."""

from collections.abc import Iterable

_MAX_SUGGESTIONS = 3
#: from 0 to 1
_MIN_SIMILARITY = 0.6


def find_similar_names(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that are most similar to this one, the most similar first; none if no name is similar enough."""
    from difflib import get_close_matches  # most commands name what exists, and must start fast

    return get_close_matches(name, list(names), n=_MAX_SUGGESTIONS, cutoff=_MIN_SIMILARITY)


def build_hint(similar_names: Iterable[str]) -> str:
    return f"did you mean {' or '.join(map(repr, similar_names))}?"
