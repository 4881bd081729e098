"""The ports of guests: their spool on disk, and how an idle one is told that events wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module, and have to start fast
    from contextlib import AbstractContextManager

    from gatepost.core.times import Instant
    from gatepost.guests.session import Guest, PrintedBatch
    from gatepost.guests.spool_line import SpoolLine


class UnprovedBatches(Protocol):
    """The printed and unsettled batches of a session, while no one else may drain it."""

    @property
    def batches(self) -> Sequence[PrintedBatch]:
        """Return the batches, the oldest first."""

    def add(self, batch: PrintedBatch) -> None:
        """Add a batch that was just printed; it is on disk when this returns."""

    def replace(self, batches: Sequence[PrintedBatch]) -> None:
        """Replace all batches by these, atomically."""

    def put_back(self, lines: Sequence[bytes]) -> None:
        """Append lines to the spool again, except a line whose id is already there."""


class SpoolDrain(Protocol):
    """The lines that were taken out of a session's spool, while no one else may drain it."""

    @property
    def lines(self) -> Sequence[SpoolLine]:
        """All lines, in the order in which they were written; those that a dead drain left come first."""

    @property
    def warnings(self) -> Sequence[str]:
        """The problems, a sentence each: text that could not be parsed, and where it was put."""

    @property
    def unproved(self) -> UnprovedBatches:
        """The batches that were printed before and are not settled."""

    def save_copy(self, entry: SpoolLine) -> str:
        """Save a copy of an entry that is too long to be shown in full; return where it can be read."""

    def finish(self, remaining: Iterable[SpoolLine] = ()) -> None:
        """Record that all lines were shown, except the `remaining` ones, which wait in the spool again."""


class Spool(Protocol):
    """
    The lines that wait for the hooks of a guest's session, one file for each session.

    Any program on this machine may write to it, in any language: lock the file, append a line with one write, unlock.
    The store is the truth; a line only lets an agent get an event sooner, or while the store cannot be reached.

    A drain sets the lines aside until `finish`. The next drain gets them first, so that no line is lost when a process
    dies. Only one process at a time drains a session.

    A batch that a hook has printed is unproved until a reply of the model shows whether it was read.
    """

    def append(self, session: str, entries: Sequence[SpoolLine]) -> None:
        """Append entries to a session's spool, each in full or not at all. Raise Unavailable if that fails."""

    def peek(self, session: str) -> Sequence[SpoolLine]:
        """Return the lines of a session's spool, with those that an unfinished drain took; change nothing."""

    def is_empty(self, session: str) -> bool:
        """Return True if a session's spool has no lines; this is cheap."""

    def drain(self, session: str) -> AbstractContextManager[SpoolDrain]:
        """
        Take all lines out of a session's spool, and lock it for other drains meanwhile; without `finish` the next drain
        gets them. Raise Conflict if another drain of the session takes too long, Unavailable if the files are unusable.
        """

    def read_unproved(self, session: str) -> Sequence[PrintedBatch]:
        """Return the printed and unsettled batches of a session, the oldest first."""

    def settle_unproved(self, session: str) -> AbstractContextManager[UnprovedBatches]:
        """
        Lock a session for drains while its unproved batches are settled. Raise Conflict if a drain of the session takes
        too long, Unavailable if the files are unusable.
        """

    def clear(self, session: str, *, before: Instant) -> bool:
        """
        Remove the files of a session that was silent since `before`, except lines that still have to be read. Return
        True if nothing is left; else a program may be about to write: call again after the same length of time.
        """

    def read_shown_keys(self, session: str, *, since: Instant = 0) -> dict[str, bool]:
        """
        Return the keys that were shown in this session since then, oldest first, each with whether the store knows that
        it was shown. Keys of which the store does not know are returned whatever their age.
        """

    def record_shown_keys(self, session: str, keys: Iterable[str], *, is_known: bool, at: Instant) -> None:
        """Record keys that were shown, and whether the store knows it. Of very many known keys the newest are kept."""


ListGuests = Callable[[], "Sequence[Guest]"]


class Nudge(Protocol):
    async def __call__(self, guest: Guest, text: str) -> None:
        """Tell an idle guest that events wait. Raise Unavailable if that fails."""
