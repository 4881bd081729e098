"""
The cost of a command of the command line, with a gateway in its home and without one. The floor is the start of Python.

Both are processes that are waited for, several in a turn. Bytecode is compiled, as an installation leaves it.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.support.commands import EMPTY_PYTHON, GATEPOST, build_environment, measure_seconds, run_command, run_gateway
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.table import Row, at_most, millis

_PREPARATIONS: Final[Sequence[tuple[str, ...]]] = (
    ("agent", "add", "guest"),
    ("person", "add", "husam"),
    ("space", "create", "q4", "--member", "husam", "--member", "guest"),
    ("space", "post", "q4", "--as", "husam", "Who has the numbers?"),
)
_COMMANDS: Final[Sequence[tuple[str, ...]]] = (
    ("agent", "list"),
    ("inbox", "push", "--to", "husam", "The build is red"),
    ("space", "read", "q4"),
    ("inbox", "list"),
    ("space", "list"),
    ("gate", "list"),
    ("decision", "list"),
    ("plan", "list"),
    ("config", "show"),
)


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environ = build_environment(Path(folder))
        for words in _PREPARATIONS:
            run_command((GATEPOST, *words), environ)
        for words in _COMMANDS:
            yield _measure_row(words, "without a gateway", 9, environ, effort)
        with run_gateway(environ):
            for words in _COMMANDS:
                yield _measure_row(words, "with a gateway", 9, environ, effort)


def _measure_row(
    words: tuple[str, ...], setup: str, max_ratio: float, environ: Mapping[str, str], effort: Effort
) -> Row:
    floor = partial(measure_seconds, lambda: run_command(EMPTY_PYTHON, environ), effort.commands)
    ours = partial(measure_seconds, lambda: run_command((GATEPOST, *words), environ), effort.commands)
    return Row(
        claim=f"`gatepost {' '.join(words[:2])}`, {setup}",
        door=f"`gatepost {' '.join(words[:2])}`",
        floor="`python -c pass`",
        measurement=measure_in_turns(floor, ours, effort.untargeted_rounds),
        unit=millis,
        target=at_most(max_ratio),
    )
