"""
Running commands of the user's: what a gate waits for, what an answer sets off.

A command that is a text is the user's own line, and the shell reads it; one that is a list is run as it is. It has its
input on stdin and only so long; then it is killed, with all that it started.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

#: what the shell says of a command that is not there
NOT_FOUND = 127


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    #: how it ended: its exit code, the negative number of the signal that ended it, None when its time ran out
    code: int | None
    #: the beginning of what it wrote
    stdout: str = ""
    stderr: str = ""

    @property
    def said(self) -> str:
        """The first line that it wrote, for people: what cannot be printed is left out."""
        lines = (*self.stdout.splitlines(), *self.stderr.splitlines())
        plain = ("".join(filter(str.isprintable, line)).strip() for line in lines)
        return next((line for line in plain if line), "")


class Commands(Protocol):
    async def run(self, command: str | Sequence[str], *, stdin: str = "", limit: float) -> Ran:
        """Run a command to its end, or for `limit` seconds; one that is not there has ended with 127."""
