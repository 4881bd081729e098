"""
The tables that benchmarks write into the docs.

    <!-- written by `python -m bench --write` -->
    <!-- claim -->
    | ... the rows of bench/claim.py, under their headings ...
    <!-- end of what was written -->

A benchmark has a table of its own, so one that is run again replaces its rows and no others. It is written as soon as
the benchmark ends: a run that is stopped keeps what it has measured.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.support.table import HEADINGS, Row, describe_machine

PAGE: Final = Path(__file__).parents[2] / "docs" / "performance.md"
BEGIN: Final = "<!-- written by `python -m bench --write` -->"
END: Final = "<!-- end of what was written -->"

_TABLE: Final = re.compile(r"^<!-- (\w+) -->\n(.*?)(?=^<!-- |\Z)", re.DOTALL | re.MULTILINE)


def write_rows(name: str, rows: Sequence[Row], names: Sequence[str], page: Path = PAGE) -> None:
    """Put the rows of a benchmark in place of those that it had; drop the tables of benchmarks not in `names`."""
    tables = read_tables(page) | {name: format_table(HEADINGS, (row.cells() for row in rows))}
    text = "\n".join(f"<!-- {name} -->\n{tables[name]}" for name in names if name in tables)
    replace_written(page, f"Measured on: {describe_machine()}.\n\n{text}")


def read_tables(page: Path = PAGE) -> dict[str, str]:
    """Return the tables by the names of their benchmarks."""
    _, _, rest = page.read_text(encoding="utf-8").partition(f"{BEGIN}\n")
    return {name: f"{table.strip()}\n" for name, table in _TABLE.findall(rest.partition(END)[0])}


def format_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (headings, ["---"] * len(headings), *rows))


def replace_written(page: Path, text: str) -> None:
    """Put a text between the marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")
