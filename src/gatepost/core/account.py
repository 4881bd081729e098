"""Nothing vanishes: what an inbox accepted is the sum of what became of it."""

from msgspec import Struct


class Account(Struct, frozen=True, kw_only=True):
    name: str
    #: counted on its own, by the transactions that accept
    accepted: int
    #: counted from the items; what the reaper took away is in the state it had
    pending: int
    claimed: int
    delivered: int
    expired: int
    dead: int
    discarded: int

    @property
    def total(self) -> int:
        return self.pending + self.claimed + self.delivered + self.expired + self.dead + self.discarded

    @property
    def is_balanced(self) -> bool:
        return self.accepted == self.total
