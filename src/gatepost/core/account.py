"""The account of an inbox. No event vanishes: the number of accepted events is the sum over all states."""

from msgspec import Struct


class Account(Struct, frozen=True, kw_only=True):
    name: str
    #: its own counter, which accepting transactions increase
    accepted: int
    #: counted from the items; items that were removed after their time count in the state they had
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
