"""The cost of a think cycle against the number of cycles behind the agent, whose mind may keep all of them."""

from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import TemporaryDirectory

from bench.cycle import Office
from bench.growth._curve import Effort, Plot, Step, measure_curves
from bench.support.processes import create_runner


def main(effort: Effort) -> Iterator[Plot]:
    with ExitStack() as stack:
        folder, runner = stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-")), create_runner()
        stack.enter_context(runner)
        steps: dict[int, dict[str, Step]] = {}
        for size in effort.cycles:
            steps[size] = {}
            for words, max_tokens in (("a mind of 1,000 tokens", 1_000), ("a mind of 100,000 tokens", 100_000)):
                office = Office(f"sqlite:///{folder}/{max_tokens}-{size}.db", max_tokens=max_tokens)
                stack.enter_context(office.open(runner))
                office.build_turn(runner, size)()
                steps[size][f"a think cycle, {words}"] = office.build_turn(runner, 1)
        yield Plot("mind", "A resident that remembers, SQLite", "cycles behind it", measure_curves(steps, effort))
