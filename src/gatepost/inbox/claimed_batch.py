"""
A claim: the right to read some items, with a fence that is higher than that of every earlier claim on the inbox. A
batch is the items of a claim. `claim_actions.py` says how a claim ends, and when an item dies.
"""

from typing import Final

from msgspec import Struct

from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value
from gatepost.inbox import event_rendering as render
from gatepost.inbox.event import Item

_MAX_OWNER_LENGTH: Final = 200


class Claim(Struct, frozen=True, kw_only=True):
    """To ack or release a claim, a caller gives its id, owner and fence."""

    id: str
    recipient: str
    #: `drain` (of a guest; lapses), `session` (printed by a hook; lapses later), `run` (of a resident; does not lapse,
    #: the run resumes) or `person`
    kind: str
    owner: str
    #: higher than the fence of every earlier claim on the same inbox
    fence: int
    taken_at: Instant
    deadline: Instant | None
    ended_at: Instant | None = None
    outcome: str | None = None
    number: int = 0


class EndedClaim(Struct, frozen=True):
    """A claim that was acked or released."""

    number: int
    recipient: str
    item_count: int
    #: whether it has items that are mail, and the sender waits to hear that it was read
    has_awaited_mail: bool


class Batch(Struct, frozen=True, kw_only=True):
    """The claimed items, in the order to show them."""

    #: None if nothing was pending
    claim: Claim | None
    items: tuple[Item, ...] = ()
    #: for each item the number of bytes to cut its line to; None if it is not longer
    size_limits: tuple[int | None, ...] = ()
    #: the number of items that stay pending, counted up to `batch.COUNT_LIMIT`
    deferred_count: int = 0
    at: Instant

    def __str__(self) -> str:
        return render.render_batch(
            self.items, at=self.at, deferred_count=self.deferred_count, size_limits=self.size_limits
        )


def check_owner(text: str) -> str:
    """Return the text if it can be the owner of a claim: a session, a run."""
    if not text or len(text) > _MAX_OWNER_LENGTH or not text.isprintable():
        raise Invalid(f"{quote_value(text)} is not an owner of a claim", hint="name the guest session or the run")
    return text
