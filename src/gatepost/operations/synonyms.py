"""
Names that a caller may guess for a field: the text of a message is called `content`, that of mail `text`, and that of a
note `note`; a claim has a `claimId`, and most other things an `id`. A request with one such field takes the other names
for it too. If both are given, nobody can tell which is meant, and the wrong name is refused.
"""

from collections.abc import Collection, Mapping
from typing import Final

_SYNONYMS: Final[Mapping[str, Collection[str]]] = {
    "text": ("content", "note"),
    "content": ("text", "note"),
    "note": ("content", "text"),
    "id": ("claimId",),
}


def find_meant_field(name: str, fields: Collection[str], request_names: Collection[str]) -> str:
    """Return the field that a name stands for, of those that a request has; the name itself if it stands for none."""
    synonyms = _SYNONYMS.get(name, ()) if name not in fields else ()
    candidates = [field for field in synonyms if field in fields]
    is_clear = len(candidates) == 1 and not any(synonym in request_names for synonym in synonyms)
    return candidates[0] if is_clear else name
