"""
The spool: where lines wait for the hooks of a guest's session, one file a session.

Anybody on this machine may write to it, in any language: lock the file, append a line by one write, unlock. The store
has the truth; a line only makes that an agent is told sooner, or while the store is out of reach.

What is taken out stays set aside until `done`. Whoever drains next is given it first, so that nothing is lost when the
one who took it dies. Only one drains a session at a time.

What a hook has printed is noted as unproved until a reply of the model shows that it was read, or that it was not.
"""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from gatepost.core.entry import Entry
from gatepost.core.instants import Instant
from gatepost.core.unproved import PrintedBatch


class Settling(Protocol):
    """The batches that hooks of a session have printed and nobody has settled, as long as nobody else may drain it."""

    @property
    def batches(self) -> Sequence[PrintedBatch]:
        """Return the batches, the oldest first."""

    def note(self, batch: PrintedBatch) -> None:
        """Add a batch that was printed just now; it is on disk when this returns."""

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        """Keep these batches in place of all others, all or nothing."""

    def put_back(self, lines: Sequence[bytes]) -> None:
        """Append lines to the spool again; one that has an id and is there already is not added."""


class Draining(Protocol):
    """What was taken out of a session's spool, as long as nobody else may drain it."""

    @property
    def entries(self) -> Sequence[Entry]:
        """All there was, in the order in which it was written; what a drain that died has left comes first."""

    @property
    def notes(self) -> Sequence[str]:
        """What went wrong, a sentence each: text that could not be read, and where it was put."""

    @property
    def unproved(self) -> Settling:
        """Return what was printed before and is not settled."""

    def keep(self, entry: Entry) -> str:
        """Keep a copy of an entry that is too long to be shown whole; return where it can be read."""

    def done(self, left: Iterable[Entry] = ()) -> None:
        """Say that all has been shown but for what is `left`, which waits in the spool again."""


class Spool(Protocol):
    def append(self, session: str, entries: Sequence[Entry]) -> None:
        """Add entries to a session's spool, each whole or not at all. Unavailable if they cannot be written."""

    def waiting(self, session: str) -> Sequence[Entry]:
        """What is in a session's spool, what was taken out and is not `done` with included; nothing changes."""

    def empty(self, session: str) -> bool:
        """Whether there is nothing in a session's spool, found out at little cost."""

    def draining(self, session: str) -> AbstractContextManager[Draining]:
        """
        Take everything out of a session's spool, and let nobody else drain it meanwhile; without `done` it is given to
        the next drain. Conflict if another drain of the session takes too long, Unavailable if the files are no use.
        """

    def unproved(self, session: str) -> Sequence[PrintedBatch]:
        """Return the batches that hooks of a session have printed and nobody has settled, the oldest first."""

    def settling(self, session: str) -> AbstractContextManager[Settling]:
        """
        Let nobody drain a session while its unproved batches are settled. Conflict if a drain of the session takes too
        long, Unavailable if the files are no use.
        """

    def clear(self, session: str, *, before: Instant) -> bool:
        """
        Remove what belongs to a session of which nothing was heard since then, as far as no line is in it that is still
        to be read; say whether that is all. Else somebody may be about to write: call again after as long a time.
        """

    def shown(self, session: str, *, since: Instant = 0) -> dict[str, bool]:
        """
        The keys that were shown in this session since then, oldest first, and whether the store knows it of each; those
        of which it does not, however long ago it was.
        """

    def remember(self, session: str, keys: Iterable[str], *, known: bool, at: Instant) -> None:
        """Note keys that were shown, and whether the store knows it. Of very many that it does, the newest are kept."""
