"""The result of a command that a user has configured."""

from typing import Final

from msgspec import Struct

#: the exit code of the shell if there is no such command
COMMAND_NOT_FOUND: Final = 127


class CommandResult(Struct, frozen=True, kw_only=True):
    #: the exit code, or the negative number of the signal that ended it; None if it ran out of time
    code: int | None
    #: the beginning of the output
    stdout: str = ""
    stderr: str = ""

    @property
    def first_line(self) -> str:
        """The first line of the output that is not empty, without characters that cannot be printed."""
        lines = (*self.stdout.splitlines(), *self.stderr.splitlines())
        plain = ("".join(filter(str.isprintable, line)).strip() for line in lines)
        return next((line for line in plain if line), "")
