"""The time until the last reader of a space has a message, against the number of readers of its stream."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

from bench.growth._curve import Effort, Plot, measure_curves
from bench.streams import make_space, open_readers
from bench.support import measurement
from bench.support.gateway import run_gateway
from bench.support.processes import create_runner


def main(effort: Effort) -> Iterator[Plot]:
    with run_gateway() as gateway, create_runner() as loop, ExitStack() as stack:
        steps = {}
        for number, size in enumerate(effort.readers):
            space = f"town-hall-{number}"
            loop.run(make_space(gateway, space))
            readers = stack.enter_context(
                open_readers(loop, gateway, replace(measurement.FULL, posts=1, recipients=size), space)
            )
            steps[size] = {"POST /api/spaces/{id}/messages, to the last reader": readers}
        yield Plot("readers", "Readers of the stream of a space, SQLite", "readers", measure_curves(steps, effort))
