"""What our entries of one kind look like in the settings file of one host, and how they get into its text."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from gatepost.errors import Invalid

#: what is installed: an event or the name of a server, and its entry
Entries = Mapping[str, dict[str, Any]]


class EntryCommand(NamedTuple):
    """The command of an entry of ours."""

    program: str
    #: the agent and the home, if the entry names them
    agent: str | None = None
    home: str | None = None


#: returns what an install would write for an agent and a home
BuildEntries = Callable[[str | None, str | None], Entries]


@dataclass(frozen=True, slots=True)
class EntryFormat(ABC):
    """Our entries of one kind, as one host reads them. Documents are parsed settings files."""

    host: str

    #: the command that writes them
    install_command: ClassVar[str]
    #: how the names of their backups go on after the name of the file
    backup_infix: ClassVar[str]

    @abstractmethod
    def list_entries(self, document: object) -> list[tuple[str, dict[str, Any]]]:
        """Return every entry of ours, without what others may add to it."""

    @abstractmethod
    def list_commands(self, document: object) -> list[EntryCommand]:
        """Return the commands of our entries."""

    @abstractmethod
    def remove_entries(self, document: object) -> object:
        """Return the document without our entries, and without the containers that are empty then."""

    def keep_options(self, document: object, entries: Entries) -> Entries:  # noqa: ARG002
        """Return the entries to install, with what the user has added to those that they replace."""
        return entries

    def explain_disabled(self, document: object) -> str | None:  # noqa: ARG002
        """Return why the host does not use our entries, although it reads them; None if it does."""
        return None

    def build_head(self) -> dict[str, Any]:
        """Return the members that a new settings file begins with."""
        return {}

    @abstractmethod
    def add_to_json(self, text: str, entries: Entries) -> str:
        """Add our entries to a text that has none yet; raise Invalid if there is no place for them."""

    @abstractmethod
    def strip_from_json(self, text: str, before: Mapping[str, Any] | None = None) -> str:
        """Remove our entries. `before` is the parsed file before they were installed, if that is known."""

    def add_to_toml(self, text: str, entries: Entries) -> str:  # noqa: ARG002
        """Add our entries to a text that has none yet; raise Invalid if there is no place for them."""
        raise Invalid(f"it is TOML, and {self.host} reads none")

    def strip_from_toml(self, text: str) -> str:  # noqa: ARG002
        """Remove our entries; raise Invalid if one is in an inline table."""
        raise Invalid(f"it is TOML, and {self.host} reads none")
