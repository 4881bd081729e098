"""
Run all benchmarks, or the named ones, and print one table:

    python -m bench [--quick] [--write] [name ...]

With `--write`, each benchmark replaces its rows in docs/performance.md when it ends. After a run that was stopped, name
those that are left.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import bench
from bench.support.docs_page import write_rows
from bench.support.measurement import FULL, QUICK, Effort
from bench.support.table import Row, print_table


def main(arguments: Sequence[str] | None = None) -> None:
    names = [module.name for module in iter_modules(bench.__path__) if not (module.ispkg or module.name == "__main__")]
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what docs/performance.md claims.")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names)}; without a name, all of them")
    parser.add_argument("--quick", action="store_true", help="see whether they work; the figures are coarse")
    parser.add_argument("--write", action="store_true", help="write the rows into docs/performance.md as well")
    options = parser.parse_args(arguments)
    if unknown_names := [name for name in options.name if name not in names]:
        parser.error(f"there is no benchmark {unknown_names[0]!r}; use one of {', '.join(names)}")
    if options.write and options.quick:
        parser.error("--write needs whole figures: leave out --quick")
    all_rows: list[Row] = []
    for name in options.name or names:
        rows = run_benchmark(name, QUICK if options.quick else FULL)
        if options.write:
            write_rows(name, rows, names)
        all_rows += rows
    print_table(all_rows)


def run_benchmark(name: str, effort: Effort) -> list[Row]:
    """Run a benchmark, and print its figures on stderr as they come, and how long it took."""
    print(f"{name} ...", file=sys.stderr, flush=True)
    start, rows = time.monotonic(), list[Row]()
    for row in import_module(f"bench.{name}").main(effort):
        print(f"  {row.claim}: {row.cells()[4]}", file=sys.stderr, flush=True)
        rows.append(row)
    print(f"  {time.monotonic() - start:,.0f} seconds", file=sys.stderr, flush=True)
    return rows


if __name__ == "__main__":
    main()
