"""The bell: what is told that something was committed."""

from collections.abc import Sequence
from typing import Protocol

from gatepost.core.ring import Ring


class Bell(Protocol):
    def __call__(self, rings: Sequence[Ring]) -> None:
        """
        Pass the rings on. Called after the commit, on the thread that committed, so it must not block. Whatever it
        raises is counted (`Store.bell_failures`) and forgotten: the truth is in the store, and the janitor rings again.
        """


def silent(rings: Sequence[Ring]) -> None:
    """A bell for those who wait for nothing."""
