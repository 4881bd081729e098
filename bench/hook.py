"""
The cost of a hook that has nothing to do, with a gateway in its home and without one: a process that starts, asks and
ends. The floor is the least that a hook in Python can cost.

Both are processes that are waited for, several in a turn. Bytecode is compiled, as an installation leaves it.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.support.commands import EMPTY_PYTHON, GATEPOST, build_environment, measure_seconds, run_command, run_gateway
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.table import Row, at_most, millis

_SESSION: Final = "bench"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environ = build_environment(Path(folder))
        prepare_home(environ)
        for event in ("Stop", "PostToolUse", "UserPromptSubmit"):
            yield _measure_row(event, "without a gateway", 4, environ, effort)
        with run_gateway(environ):
            for event in ("Stop", "PostToolUse", "UserPromptSubmit"):
                yield _measure_row(event, "with a gateway", 1.7, environ, effort)


def _measure_row(event: str, setup: str, max_ratio: float, environ: Mapping[str, str], effort: Effort) -> Row:
    run_hook(event, environ)  # what is told once is told now, and what it is doing is noted
    output = run_hook(event, environ)
    assert output == "", f"{event} has something to say: {output}"
    floor = partial(measure_seconds, lambda: run_command(EMPTY_PYTHON, environ), effort.hooks)
    ours = partial(measure_seconds, lambda: run_hook(event, environ), effort.hooks)
    return Row(
        claim=f"`gatepost hook {event}` with nothing to do, {setup}",
        door=f"`gatepost hook {event}`",
        floor="`python -c pass`",
        measurement=measure_in_turns(floor, ours, effort.rounds),
        unit=millis,
        target=at_most(max_ratio),
    )


def run_hook(event: str, environ: Mapping[str, str]) -> str:
    """Run a hook; return what it says."""
    return run_command((GATEPOST, "hook", event), environ, json.dumps({"session_id": _SESSION}))


def prepare_home(environ: Mapping[str, str]) -> None:
    """A home with a store, and in it the session of a guest that has asked for nothing."""
    run_command((GATEPOST, "agent", "add", environ["GATEPOST_AGENT"]), environ)
    run_hook("SessionStart", environ)
    run_hook("UserPromptSubmit", environ)
