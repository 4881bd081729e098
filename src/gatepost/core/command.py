"""How a command of the user's ended."""

from typing import Final

from msgspec import Struct

#: what the shell says of a command that is not there
COMMAND_NOT_FOUND: Final = 127


class CommandResult(Struct, frozen=True, kw_only=True):
    #: how it ended: its exit code, the negative number of the signal that ended it, None when its time ran out
    code: int | None
    #: the beginning of what it wrote
    stdout: str = ""
    stderr: str = ""

    @property
    def first_line(self) -> str:
        """The first line that it wrote, for people: what cannot be printed is left out."""
        lines = (*self.stdout.splitlines(), *self.stderr.splitlines())
        plain = ("".join(filter(str.isprintable, line)).strip() for line in lines)
        return next((line for line in plain if line), "")
