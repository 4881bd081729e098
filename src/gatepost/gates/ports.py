"""The port of gates: commands on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:  # hooks import this module, and have to start fast
    from gatepost.gates.gate import CommandResult


class CommandRunner(Protocol):
    """
    Runs commands of the user: the condition of a gate, the command that an answer starts.

    A command that is a string is a line for the shell; a command that is a list is run as it is. It gets its input on
    stdin and has a time limit; after that it is killed, with all processes that it started.
    """

    async def run(self, command: str | Sequence[str], *, stdin: str = "", time_limit: float) -> CommandResult:
        """Run a command to its end, or for `time_limit` seconds; a command that does not exist ends with 127."""
