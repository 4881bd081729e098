"""An agent of Gatepost that lives in a real agent program, and the person it works for."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gatepost import app, settings
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push_actions
from tests.programs.model import ScriptedModel
from tests.programs.programs import Program, ProgramResult

GATEPOST: Final = Path(sys.executable).with_name("gatepost")


@dataclass
class Guest:
    """The agent ann, whose owner is husam, in one program; its hooks are installed by the real command."""

    program: Program
    model: ScriptedModel
    home: Path

    @classmethod
    def create(cls, program: Program, model: ScriptedModel, home: Path) -> "Guest":
        """Make a Gatepost home with both, and install the hooks."""
        program.environ |= {"GATEPOST_HOME": str(home), "GATEPOST_AGENT": "ann"}
        guest = cls(program, model, home)
        with guest._open_store() as store:
            store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
            store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT, owner="husam"))
        guest.run_gatepost("hooks", "install", "--host", program.host)
        return guest

    def run_gatepost(self, *arguments: str) -> str:
        """Run a command that has to succeed, as a person does in another terminal; return what it printed."""
        environ = {name: value for name, value in self.program.environ.items() if name != "GATEPOST_AGENT"}
        result = subprocess.run(
            [GATEPOST, *arguments], cwd=self.home.parent, env=environ, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, (arguments, result)
        return result.stdout.strip()

    def push(self, text: str) -> None:
        self.run_gatepost("inbox", "push", "--to", "ann", "--as", "husam", text)

    def push_many(self, texts: Iterable[str]) -> None:
        """Push into the store alone, as a push on another machine does."""
        with self._open_store() as store:
            for text in texts:
                store.run_sync(push_actions.push_event, Push(to="ann", source="cli", sender="husam", content=text))

    def count_items(self, name: str = "ann") -> Mapping[str, int]:
        """Return how many items an inbox has, by state."""
        document: Any = json.loads(self.run_gatepost("agent", "show", name, "--json"))
        counts: Mapping[str, int] = document["inbox"]
        return counts

    def read_alerts(self) -> list[str]:
        """Return the alerts in the owner's inbox."""
        items: Any = json.loads(self.run_gatepost("inbox", "list", "--to", "husam", "--json"))
        return [item["content"] for item in items if item["type"] == "alert"]

    def prompt(self, text: str = "Go ahead.", *, resume: bool = False) -> ProgramResult:
        """Give the program a prompt that has to succeed."""
        result = self.program.run(text, resume=resume)
        assert not self.model.errors, self.model.errors
        assert result.code == 0, result
        return result

    def _open_store(self) -> AbstractContextManager[Store]:
        return app.prepare_store(settings.load({"GATEPOST_HOME": str(self.home)}))
