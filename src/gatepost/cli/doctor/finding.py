"""A line of `gatepost doctor`: what was checked, what was found, and the fix."""

from dataclasses import dataclass
from typing import Self

from gatepost.errors import GatepostError
from gatepost.settings import mask_passwords


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool
    detail: str
    #: the command or the setting that mends it; shown if it is wrong
    hint: str | None = None

    @classmethod
    def of_error(cls, check: str, error: GatepostError) -> Self:
        return cls(check, False, mask_passwords(error.message), error.hint)
