"""What differs between two runs, or may differ between two versions, is masked in answers."""

import re
from collections.abc import Mapping
from typing import Any, Final

from gatepost.core.times import Instant, parse_instant

_ID: Final = re.compile(r"\b([a-z]{2,8})_[0-9a-f]{32}\b")
_SECRET: Final = re.compile(r"\b([sp]k)_[A-Za-z0-9_-]{8,}")
_TIME: Final = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
#: keys of alerts end with the hour, counted from 1970
_HOUR: Final = re.compile(r"(?<=\w:)\d{6}\b")
_PROBLEM: Final = "urn:gatepost:problem:"
#: what is said to people about a problem, or by a check of the doctor
_TEXT_FIELDS: Final = frozenset({"detail", "title", "hint"})
#: fields whose numbers are measured, and cursors
_MEASURED_FIELDS: Final = frozenset({"lagSeconds", "clockSkewSeconds", "hash"})
#: measured by the clock, where that is not the test's
_CLOCK_FIELDS: Final = frozenset({"durationMs"})
_CURSOR_FIELDS: Final = frozenset({"next", "resumeFrom"})


class Masks:
    """
    Masks the answers of one run.

    An id is masked by the case that showed it first and its place there, so that the same id has the same mask
    everywhere and a case that is new changes no mask but its own. A time is masked by its distance from `start`, if the
    clock is the test's; without a `start` all times look alike.
    """

    def __init__(self, start: Instant | None = None, texts: Mapping[str, str] | None = None) -> None:
        self._start = start
        self._texts = dict(texts or {})
        self._ids: dict[str, str] = {}
        self._case = ""
        self._id_count = 0

    def begin(self, case: str) -> None:
        self._case = case
        self._id_count = 0

    def mask(self, value: Any, name: str = "") -> Any:
        """Mask a document; `name` is the field that it stands in."""
        match value:
            case dict():
                is_problem = "check" in value or str(value.get("type", "")).startswith(_PROBLEM)
                return {
                    self.mask(key): self.mask(inner, key)
                    for key, inner in value.items()
                    if not (is_problem and key in _TEXT_FIELDS)
                }
            case list():
                return [self.mask(inner) for inner in value]
            case _ if name in _CURSOR_FIELDS and value is not None:
                return "<cursor>"
            case _ if value is not None and self._is_measured(name, value):
                return "<masked>"
            case str():
                return self._mask_text(value)
            case _:
                return value

    def _is_measured(self, name: str, value: Any) -> bool:
        if name == "version":
            return isinstance(value, str)
        return name in _MEASURED_FIELDS or (name in _CLOCK_FIELDS and self._start is None)

    def _mask_text(self, text: str) -> str:
        for match, mask in self._texts.items():
            text = text.replace(match, mask)
        if self._start is None:
            text = _HOUR.sub("<hour>", text)
        text = _TIME.sub(lambda match: self._mask_time(match[0]), text)
        text = _SECRET.sub(lambda match: f"<{match[1]}>", text)
        return _ID.sub(lambda match: self._mask_id(match[0], match[1]), text)

    def _mask_id(self, id: str, kind: str) -> str:
        if id not in self._ids:
            self._id_count += 1
            self._ids[id] = f"<{kind} {self._id_count} of {self._case}>"
        return self._ids[id]

    def _mask_time(self, text: str) -> str:
        if self._start is None:
            return "<time>"
        return f"<{(parse_instant(text) - self._start) / 1_000_000:+g} s>"
