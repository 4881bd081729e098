"""A claim: the right to read some items for a while, and the batch that was read under it."""

from typing import Final

from msgspec import Struct

from gatepost.core import render
from gatepost.core.event import Item
from gatepost.core.times import Instant
from gatepost.errors import Invalid

_MAX_OWNER_LENGTH: Final = 200


class Claim(Struct, frozen=True, kw_only=True):
    """Whoever acks or releases it names its id, owner and fence."""

    id: str
    recipient: str
    #: `drain` (a guest's, lapses), `session` (what a hook has printed, lapses later), `run` (a resident's, is resumed
    #: instead) or `person`
    kind: str
    owner: str
    #: higher than that of every earlier claim on the same inbox
    fence: int
    taken_at: Instant
    deadline: Instant | None
    ended_at: Instant | None = None
    outcome: str | None = None
    number: int = 0


class Batch(Struct, frozen=True, kw_only=True):
    """What was claimed, in the order to show it."""

    #: None when nothing waited
    claim: Claim | None
    items: tuple[Item, ...] = ()
    #: for each item the characters it may be shown in, where its line is longer
    size_limits: tuple[int | None, ...] = ()
    #: how many more wait, counted up to `batch.COUNTED`
    deferred_count: int = 0
    at: Instant

    def __str__(self) -> str:
        return render.render_batch(
            self.items, at=self.at, deferred_count=self.deferred_count, size_limits=self.size_limits
        )


def check_owner(text: str) -> str:
    """Return the text if it can be the owner of a claim: a session, a run."""
    if not text or len(text) > _MAX_OWNER_LENGTH or not text.isprintable():
        raise Invalid(f"{text[:60]!r} is not an owner of a claim", hint="name the session or the run")
    return text


class RenderedBatch(Struct, frozen=True, kw_only=True):
    """A batch as it is handed over, through whichever door: what an agent reads of it is written already."""

    #: None when nothing waited
    claim: Claim | None
    items: tuple[Item, ...]
    #: how many more wait
    deferred_count: int
    text: str

    @staticmethod
    def from_batch(batch: Batch) -> "RenderedBatch":
        return RenderedBatch(
            claim=batch.claim,
            items=batch.items,
            deferred_count=batch.deferred_count,
            text=str(batch) if batch.items else "",
        )
