"""
Run every benchmark, or those named, and print one table:

    python -m bench [--quick] [--write] [name ...]
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pkgutil import iter_modules

import bench
from bench._measure import FULL, QUICK, Effort
from bench._table import Row, show, write


def main(arguments: Sequence[str] | None = None) -> None:
    names = [module.name for module in iter_modules(bench.__path__) if not module.name.startswith("_")]
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what docs/performance.md claims.")
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(names)}; without a name, all of them")
    parser.add_argument(
        "--quick", action="store_true", help="see in under a minute whether they work; figures are coarse"
    )
    parser.add_argument("--write", action="store_true", help="write the table into docs/performance.md as well")
    wanted = parser.parse_args(arguments)
    if unknown := [name for name in wanted.name if name not in names]:
        parser.error(f"no benchmark is called {unknown[0]!r}; there are: {', '.join(names)}")
    if wanted.write and (wanted.name or wanted.quick):
        parser.error("--write wants all of them in full: leave out --quick and the names")
    rows = list(measured(wanted.name or names, QUICK if wanted.quick else FULL))
    show(rows)
    if wanted.write:
        write(rows)


def measured(names: Sequence[str], effort: Effort) -> Iterator[Row]:
    """Run benchmarks one after the other, saying on stderr how far they are."""
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        for row in import_module(f"bench.{name}").main(effort):
            print(f"  {row.claim}: {row.cells()[3]}", file=sys.stderr, flush=True)
            yield row


if __name__ == "__main__":
    main()
