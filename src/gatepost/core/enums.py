"""Enums that people write."""

from enum import StrEnum
from typing import Any, ClassVar, Self

from gatepost.errors import Invalid


class ParsedEnum(StrEnum):
    """A string enum with `parse`. `description` is the noun of the error message: "'x' is not a kind of gate"."""

    _description: ClassVar[str]

    def __init_subclass__(cls, *, description: str, **options: Any) -> None:
        super().__init_subclass__(**options)
        type.__setattr__(cls, "_description", description)

    @classmethod
    def parse(cls, text: str) -> Self:
        try:
            return cls(text)
        except ValueError:
            raise Invalid(f"{text!r:.60} is not {cls._description}", hint=f"use one of {', '.join(cls)}") from None
