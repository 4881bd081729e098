"""
Run all benchmarks, or the named ones, and print one table:

    python -m bench [--quick] [--write] [name ...]
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules

import bench
from bench._measure import FULL, QUICK, Effort
from bench._table import Row, print_table, write_table


def main(arguments: Sequence[str] | None = None) -> None:
    names = [module.name for module in iter_modules(bench.__path__) if not module.name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what docs/performance.md claims.")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names)}; without a name, all of them")
    parser.add_argument("--quick", action="store_true", help="see whether they work; the figures are coarse")
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md as well")
    options = parser.parse_args(arguments)
    if unknown_names := [name for name in options.name if name not in names]:
        parser.error(f"there is no benchmark {unknown_names[0]!r}; use one of {', '.join(names)}")
    if options.write and (options.name or options.quick):
        parser.error("--write needs a full run of all benchmarks: leave out --quick and the names")
    rows = list(run_benchmarks(options.name or names, QUICK if options.quick else FULL))
    print_table(rows)
    if options.write:
        write_table(rows)


def run_benchmarks(names: Sequence[str], effort: Effort) -> Iterator[Row]:
    """Run benchmarks one after the other, and print the name of each on stderr."""
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        for row in import_module(f"bench.{name}").main(effort):
            print(f"  {row.claim}: {row.cells()[3]}", file=sys.stderr, flush=True)
            yield row


if __name__ == "__main__":
    main()
