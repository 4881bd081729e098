"""
Print what the tests of the last run cost: the sums by folder, and the thirty most expensive tests.

    python -m tools.durations               of build/durations.json
    python -m tools.durations FILE          of a record that was kept
    python -m tools.durations --files       the sums by file, and no single tests

Processor time counts: unlike time by the clock, it hardly depends on what else the machine does. Every run of pytest
writes the record.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Final

#: where pytest writes them, from the root of the project
FILE: Final = Path("build", "durations.json")


@dataclass
class Cost:
    """What one test cost, in seconds: three phases by the clock, and the processor time of all of it."""

    setup: float = 0.0
    call: float = 0.0
    teardown: float = 0.0
    own_processor: float = 0.0
    child_processor: float = 0.0

    @property
    def processor(self) -> float:
        return self.own_processor + self.child_processor

    @property
    def clock(self) -> float:
        return self.setup + self.call + self.teardown

    def add(self, other: "Cost") -> None:
        for name, value in asdict(other).items():
            setattr(self, name, getattr(self, name) + value)

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def read_costs(file: Path) -> dict[str, Cost]:
    return {name: Cost(**entry) for name, entry in json.loads(file.read_text()).items()}


def sum_costs(costs: Mapping[str, Cost], *, by_file: bool) -> dict[str, tuple[int, Cost]]:
    """Return the number of tests and their sum for each folder, or for each file, the most expensive first."""
    sums: dict[str, Cost] = defaultdict(Cost)
    counts: dict[str, int] = defaultdict(int)
    for name, cost in costs.items():
        path = PurePath(name.partition("::")[0])
        key = str(path if by_file else path.parent)
        sums[key].add(cost)
        counts[key] += 1
    return {key: (counts[key], sums[key]) for key in sorted(sums, key=lambda key: -sums[key].processor)}


def format_most_expensive(costs: Mapping[str, Cost], limit: int) -> Iterator[str]:
    for name in sorted(costs, key=lambda name: -costs[name].processor)[:limit]:
        yield f"{costs[name].processor:9.1f}  {costs[name].clock:9.1f}  {name}"


def main(arguments: list[str]) -> int:
    by_file = "--files" in arguments
    words = [argument for argument in arguments if argument != "--files"]
    if len(words) > 1 or any(word.startswith("-") for word in words):
        print(f"usage: {__doc__}", file=sys.stderr)
        return 2
    file = Path(words[0]) if words else Path(__file__).parents[1] / FILE
    try:
        costs = read_costs(file)
    except FileNotFoundError as error:
        print(f"there is no record {str(error.filename)!r}; `make test` writes one", file=sys.stderr)
        return 1
    except (ValueError, TypeError, AttributeError):
        print(f"the record {str(file)!r} is damaged; `make test` writes another", file=sys.stderr)
        return 1
    print("processor  children      clock  tests")
    for key, (count, cost) in sum_costs(costs, by_file=by_file).items():
        print(f"{cost.processor:9.1f}  {cost.child_processor:8.1f}  {cost.clock:9.1f}  {count:5}  {key}")
    total = Cost()
    for cost in costs.values():
        total.add(cost)
    print(f"{total.processor:9.1f}  {total.child_processor:8.1f}  {total.clock:9.1f}  {len(costs):5}  all")
    if not by_file:
        print("\nprocessor      clock  the thirty most expensive")
        print(*format_most_expensive(costs, 30), sep="\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except BrokenPipeError:  # of `head`
        sys.stderr.close()
