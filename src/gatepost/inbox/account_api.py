"""The accounts of inboxes, and a check of the store: whether something was lost."""

from typing import Annotated

from msgspec import Meta, Struct

from gatepost.operations.access import Administrator
from gatepost.operations.fields import After, Count, Limit, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, View, read

#: the group of these operations in OpenAPI
TAG = "accounts"


class Account(Struct, frozen=True, kw_only=True):
    """The account of an inbox. No event vanishes: the number of accepted events is the sum over all states."""

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
    #: of the pending ones, how many are snoozed
    hidden: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.claimed + self.delivered + self.expired + self.dead + self.discarded

    @property
    def is_balanced(self) -> bool:
        return self.accepted == self.total


class AccountView(RecordView[Account]):
    """How many items an inbox accepted, which is the sum over all states."""

    name: str
    accepted: Count
    pending: Count
    claimed: Count
    delivered: Count
    expired: Count
    dead: Count
    discarded: Count
    hidden: Annotated[int, Meta(ge=0, description="number of pending items that are snoozed")]
    balanced: Annotated[bool, Source("is_balanced")]


class AccountTotal(Struct, frozen=True, kw_only=True):
    """The sums of all accounts."""

    inboxes: int
    unbalanced: int
    accepted: int
    pending: int
    claimed: int
    delivered: int
    expired: int
    dead: int
    discarded: int


class AccountTotalView(RecordView[AccountTotal]):
    """How many items all inboxes have accepted, and how many are in each state. The states must add up."""

    inboxes: Count
    unbalanced: Annotated[int, Meta(ge=0, description="number of inboxes whose states do not add up")]
    accepted: Count
    pending: Count
    claimed: Count
    delivered: Count
    expired: Count
    dead: Count
    discarded: Count


class AccountPage(Page[AccountView], kw_only=True):
    """`total` is of all inboxes, also of those on other pages."""

    total: AccountTotalView


class StoreCheckView(View):
    at: Time
    inboxes: Count
    accepted: Annotated[int, Meta(ge=0, description="number of items that all inboxes have accepted")]
    unbalanced: Annotated[list[str], describe("names of the inboxes that do not balance, at most 100")]
    orphans: Annotated[list[str], describe("a sentence for each kind of row that belongs to nothing")]


@read("GET /api/health/accounts", access=Administrator())
class ListAccounts(Request[AccountPage]):
    """
    List the accounts of all inboxes: first those that do not balance, then those with the most items that wait or are
    dead.
    """

    unbalanced: Annotated[bool, describe("only accounts that do not balance")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/health/check", access=Administrator())
class CheckStore(Request[StoreCheckView]):
    """Check that the accounts balance, and that no row belongs to nothing, as `gatepost doctor` does."""
