"""Measure what grows with what: print it, or draw it into docs/growth."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

import bench.growth
from bench.growth._curve import BEND, FULL, LARGEST, QUICK, Effort, Plot
from bench.growth._svg import draw, format_seconds, format_size
from bench.support.docs_page import END, format_table
from bench.support.table import describe_machine, describe_time

PAGE: Final = Path(__file__).parents[2] / "docs" / "growth.md"


def main(arguments: Sequence[str] | None = None) -> None:
    names = [module.name for module in iter_modules(bench.growth.__path__) if not module.name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m bench.growth", description="Measure what grows with what.")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names)}; without a name, all of them")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="small sizes only")
    sizes.add_argument("--largest", action="store_true", help="up to ten million items and a million agents")
    parser.add_argument(
        "--write", action="store_true", help="draw the plots and write their figures into docs/growth.md"
    )
    options = parser.parse_args(arguments)
    if unknown_names := [name for name in options.name if name not in names]:
        parser.error(f"nothing is called {unknown_names[0]!r}; use one of {', '.join(names)}")
    effort = QUICK if options.quick else LARGEST if options.largest else FULL
    for plot in measure_plots(options.name or names, effort):
        print(format_plot(plot))
        if options.write:
            write_plot(plot)


def measure_plots(names: Sequence[str], effort: Effort) -> Iterator[Plot]:
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        yield from import_module(f"bench.growth.{name}").main(effort)


def format_plot(plot: Plot) -> str:
    """A table: what each call costs at each size, and where it bends."""
    sizes = sorted({size for curve in plot.curves for size in curve.seconds})
    rows = []
    for curve in plot.curves:
        bend = curve.find_bend()
        cells = [format_seconds(curve.seconds[size]) if size in curve.seconds else "" for size in sizes]
        rows.append([f"`{curve.call}`", *cells, "does not" if bend is None else f"at {format_size(bend)}"])
    headings = [f"{plot.title}: {plot.size_label}", *map(format_size, sizes), f"over {BEND:g} times the first"]
    return format_table(headings, rows)


def write_plot(plot: Plot, page: Path = PAGE) -> None:
    """Draw a plot beside the page, and put its table in place of the one that it had."""
    folder = page.with_suffix("")
    folder.mkdir(exist_ok=True)
    (folder / f"{plot.name}.svg").write_text(draw(plot), encoding="utf-8")
    begin = f"<!-- {plot.name} -->\n"
    text = page.read_text(encoding="utf-8")
    if begin not in text:
        text = text.replace(END, f"{begin}{END}")
    before, _, rest = text.partition(begin)
    after = rest[rest.index("<!-- ") :]
    image = f"![{plot.title}: {plot.size_label}]({folder.name}/{plot.name}.svg)"
    note = f"Measured on: {describe_machine()}; {describe_time()} at the end."
    page.write_text(f"{before}{begin}{image}\n\n{format_plot(plot)}\n{note}\n\n{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
