"""
What a hook costs that has nothing to do, with a gateway in its home and without one: a process that starts, asks and
ends. The floor is the least that any hook in Python can be.

Both are processes that one waits for, several in a turn. Bytecode is compiled, as an installation leaves it.
"""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench._measure import FULL, Effort, measure_in_turns
from bench._table import Row, at_most, millis

_GATEPOST: Final = Path(sys.executable).parent / "gatepost"
_EMPTY_PYTHON: Final = (sys.executable, "-c", "pass")
_SESSION: Final = "bench"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environ = _build_environment(Path(folder))
        prepare_home(environ)
        for event, max_ratio in (("Stop", 5), ("PostToolUse", 5.5), ("UserPromptSubmit", 5.5)):
            yield _measure_row(event, "without a gateway", max_ratio, environ, effort)
        with run_gateway(environ):
            for event in ("Stop", "PostToolUse", "UserPromptSubmit"):
                yield _measure_row(event, "with a gateway", 2, environ, effort)


def _measure_row(event: str, setup: str, max_ratio: float, environ: Mapping[str, str], effort: Effort) -> Row:
    run_hook(event, environ)  # what is told once is told now, and what it is doing is noted
    output = run_hook(event, environ)
    assert output == "", f"{event} has something to say: {output}"
    floor = partial(_measure_seconds, lambda: _run_command(_EMPTY_PYTHON, environ), effort.hooks)
    ours = partial(_measure_seconds, lambda: run_hook(event, environ), effort.hooks)
    return Row(
        claim=f"`gatepost hook {event}` with nothing to do, {setup}",
        floor="`python -c pass`",
        measurement=measure_in_turns(floor, ours, effort.rounds),
        unit=millis,
        target=at_most(max_ratio),
    )


def run_hook(event: str, environ: Mapping[str, str]) -> str:
    """Run a hook; return what it says."""
    return _run_command((str(_GATEPOST), "hook", event), environ, json.dumps({"session_id": _SESSION}))


def prepare_home(environ: Mapping[str, str]) -> None:
    """A home with a store, and in it the session of a guest that has asked for nothing."""
    _run_command((str(_GATEPOST), "agent", "add", environ["GATEPOST_AGENT"]), environ)
    run_hook("SessionStart", environ)
    run_hook("UserPromptSubmit", environ)


@contextmanager
def run_gateway(environ: Mapping[str, str]) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [str(_GATEPOST), "up", "--port", str(port)]
    with subprocess.Popen(
        command, env=dict(environ), cwd=environ["HOME"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the gateway did not start"
            yield
        finally:
            process.terminate()


def _build_environment(folder: Path) -> dict[str, str]:
    base_environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {**base_environment, "HOME": str(folder), "GATEPOST_HOME": str(folder / "home"), "GATEPOST_AGENT": "guest"}


def _measure_seconds(run: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def _run_command(command: Sequence[str], environ: Mapping[str, str], stdin: str = "") -> str:
    result = subprocess.run(
        command, input=stdin, env=dict(environ), cwd=environ["HOME"], capture_output=True, text=True, check=True
    )
    assert not result.stderr or "hook" not in command, result.stderr
    return result.stdout
