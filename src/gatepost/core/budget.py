"""
A budget: what a resident may spend in an hour or a day (UTC).

Tokens are prompt and completion tokens of every request, as the runs count them; cycles are runs in which the model
replied. The spending is a sum over the runs of the period, so a crash does not lose it. It is checked before every
request, and a request is never interrupted, so a budget is exceeded by one request at most.
"""

from typing import Literal

from msgspec import Struct

from gatepost.core.times import DAY, HOUR, Instant


class Budget(Struct, frozen=True, kw_only=True):
    tokens: int | None = None
    cycles: int | None = None
    per: Literal["hour", "day"] = "day"

    def find_period(self, now: Instant) -> tuple[Instant, Instant]:
        """Return the start of the period that contains this instant, and the start of the next one."""
        length = HOUR if self.per == "hour" else DAY
        start = now - now % length
        return start, start + length

    def is_spent(self, spending: "Spending", *, is_start: bool) -> bool:
        """Return True if no token is left for another request or, at the start of a cycle (`is_start`), no cycle."""
        if self.tokens is not None and spending.tokens >= self.tokens:
            return True
        return is_start and self.cycles is not None and spending.cycles >= self.cycles

    def __str__(self) -> str:
        parts = [f"{count} {unit}" for count, unit in ((self.tokens, "tokens"), (self.cycles, "cycles")) if count]
        return f"{' and '.join(parts)} {'an hour' if self.per == 'hour' else 'a day'}"


class Spending(Struct, frozen=True, kw_only=True):
    """What a resident has spent in a period."""

    tokens: int
    cycles: int
