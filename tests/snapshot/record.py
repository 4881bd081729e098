"""The files of the snapshot, and what is to be in each of them."""

import asyncio
from difflib import unified_diff
from pathlib import Path
from typing import Final

from tests.snapshot.commands import answer_commands
from tests.snapshot.requests import answer_requests
from tests.snapshot.tools import list_tools
from tests.snapshot.transcript import Step, parse, render
from tests.snapshot.walks import walk_callers, walk_wrong_input

FOLDER: Final = Path(__file__).parent
WRONG_INPUT: Final = FOLDER / "wrong_input.txt"
#: the files that are made from what operations declare
_WALKS: Final = {
    WRONG_INPUT: walk_wrong_input,
    FOLDER / "callers.txt": walk_callers,
    FOLDER / "tools.txt": list_tools,
}


def list_files() -> list[Path]:
    return [*_WALKS, *sorted(FOLDER.glob("*/*.txt"))]


def record(path: Path) -> str:
    """Return the text of a file with the answers of now."""
    if path in _WALKS:
        return asyncio.run(_WALKS[path]())
    parts = parse(path.read_text(encoding="utf-8"))
    steps = [part for part in parts if isinstance(part, Step)]
    is_command = path.parent.name == "commands"
    return render(parts, answer_commands(steps) if is_command else asyncio.run(answer_requests(steps)))


def explain_difference(path: Path, recorded: str, current: str) -> str:
    """Return what is answered otherwise than before, and how to accept it; nothing if all is the same."""
    name = path.relative_to(FOLDER.parents[1])
    lines = unified_diff(recorded.split("\n"), current.split("\n"), f"{name} as recorded", f"{name} now", lineterm="")
    diff = "\n".join(lines)
    return f"{diff}\nIf it should be so, write it anew: .venv/bin/python -m tests.snapshot {name}" if diff else ""
