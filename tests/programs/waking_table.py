"""
What the tests of waking have found, and the table that the docs make of it.

A test records its cell: what a program did in one situation. `python -m tests.programs.waking_table` runs the tests of
all cells, keeps what they record in `waking_cells.json`, and writes the table into the docs. With the options of pytest
(`-k escape`) it runs those tests only; the other cells stay as they were recorded. A test of every day checks that the
docs have the table of the recorded cells, and that no cell is missing.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs/howto/waking.md"
CELLS: Final = Path(__file__).with_name("waking_cells.json")
#: set it to record cells
_RECORD_VARIABLE: Final = "GATEPOST_RECORD_CELLS"
_BEGIN: Final = "<!-- `python -m tests.programs.waking_table` writes what follows. -->\n"
_END: Final = "<!-- The end of what it writes. -->\n"

#: the columns, with the package of npm that has the program
PROGRAMS: Final = {
    "Claude Code": "@anthropic-ai/claude-code",
    "Codex": "@openai/codex",
    "Codex, without a daemon": "@openai/codex",
    "OpenCode": "opencode-linux-x64",
}
#: the rows
SITUATIONS: Final = (
    "idle",
    "idle, two items at once",
    "idle, without a gateway",
    "idle for an hour",
    "never prompted",
    "after Esc",
    "after /clear",
    "a draft in the box",
    "an open permission prompt",
    "in the middle of a turn",
    "in the background (--bg)",
    "without a terminal (-p)",
    "resumed",
    "two terminals of one agent",
    "the gateway is killed, and started again",
    "the gateway is away for two minutes",
    "the program is killed, and started again",
    "the clock is set back by an hour",
)
_ONLY_CLAUDE: Final = "only Claude Code has that"
_UNKNOWN: Final = "it calls its first hook with the first prompt, so the session is not known before"
_NO_GATEWAY: Final = "the gateway wakes it"
_NO_QUEUE: Final = "after an interruption it takes nothing from its queue, so the next prompt shows the item"
#: the cells that there are not, with the reason
MISSING: Final[Mapping[tuple[str, str], str]] = {
    **{(program, "in the background (--bg)"): _ONLY_CLAUDE for program in PROGRAMS if program != "Claude Code"},
    **{(program, "never prompted"): _UNKNOWN for program in PROGRAMS if program != "Claude Code"},
    ("Codex, without a daemon", "after Esc"): _NO_QUEUE,
    **{(program, "idle, without a gateway"): _NO_GATEWAY for program in PROGRAMS if program.startswith("Codex")},
}

Records = dict[str, dict[str, dict[str, int | str]]]


def record_cell(program: str, situation: str, *, items: int, requests: int) -> None:
    """Keep what was found, if the tests run for that."""
    if not os.environ.get(_RECORD_VARIABLE):
        return
    records = read_records()
    cell: dict[str, int | str] = {"version": read_version(program), "items": items, "requests": requests}
    records.setdefault(situation, {})[program] = cell
    ordered = {
        row: {column: records[row][column] for column in PROGRAMS if column in records[row]}
        for row in SITUATIONS
        if row in records
    }
    CELLS.write_text(json.dumps(ordered, indent=1) + "\n")


def read_records() -> Records:
    records: Records = json.loads(CELLS.read_text()) if CELLS.exists() else {}
    return records


def read_version(program: str) -> str:
    """Return the version of a program that the lock names."""
    lock = json.loads(Path(__file__).with_name("package-lock.json").read_text())
    version: str = lock["packages"][f"node_modules/{PROGRAMS[program]}"]["version"]
    return version


def render_table(records: Records) -> str:
    """Return the table, with the reasons of cells that there are not below it."""
    reasons = list(dict.fromkeys(MISSING.values()))
    lines = [
        f"| while | {' | '.join(PROGRAMS)} |",
        f"|---{'|---' * len(PROGRAMS)}|",
    ]
    for situation in SITUATIONS:
        cells = []
        for program in PROGRAMS:
            found = records.get(situation, {}).get(program)
            if (reason := MISSING.get((program, situation))) is not None:
                cells.append(f"none ({reasons.index(reason) + 1})")
            elif found is None:
                cells.append("not tried")
            else:
                cells.append(f"{found['items']} / {found['requests']}")
        lines.append(f"| {situation} | {' | '.join(cells)} |")
    notes = "; ".join(f"({number}) {reason}" for number, reason in enumerate(reasons, start=1))
    versions = sorted(
        {
            f"{program} {cell['version']}"
            for row in records.values()
            for program, cell in row.items()
            if "," not in program
        }
    )
    return "\n".join([*lines, "", f"No such cell: {notes}. The versions: {', '.join(versions)}.", ""])


def read_docs() -> tuple[str, str, str]:
    """Return the docs before the table, the table, and the docs after it."""
    before, begin, rest = DOCS.read_text().partition(_BEGIN)
    table, end, after = rest.partition(_END)
    assert begin, f"{DOCS} does not say where the table begins"
    assert end, f"{DOCS} does not say where the table ends"
    return before, table, after


def write_docs() -> None:
    before, _, after = read_docs()
    DOCS.write_text(f"{before}{_BEGIN}{render_table(read_records())}{_END}{after}")


def main(options: list[str]) -> int:
    command = [sys.executable, "-m", "pytest", "tests/programs/test_waking.py", "-m", "hosts", *options]
    code = subprocess.run(command, cwd=ROOT, env=os.environ | {_RECORD_VARIABLE: "1"}, check=False).returncode
    write_docs()
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
