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

from bench._measure import FULL, Effort, in_turns
from bench._table import Row, at_most, millis

_GATEPOST: Final = Path(sys.executable).parent / "gatepost"
_PASS: Final = (sys.executable, "-c", "pass")
_SESSION: Final = "bench"


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environ = _environment(Path(folder))
        ready(environ)
        for event, most in (("Stop", 5), ("PostToolUse", 5.5), ("UserPromptSubmit", 5.5)):
            yield _row(event, "without a gateway", most, environ, effort)
        with gateway(environ):
            for event in ("Stop", "PostToolUse", "UserPromptSubmit"):
                yield _row(event, "with a gateway", 2, environ, effort)


def _row(event: str, where: str, most: float, environ: Mapping[str, str], effort: Effort) -> Row:
    hook(event, environ)  # what is told once is told now, and what it is doing is noted
    quiet = hook(event, environ)
    assert quiet == "", f"{event} has something to say: {quiet}"
    floor = partial(_seconds, lambda: _run(_PASS, environ), effort.hooks)
    ours = partial(_seconds, lambda: hook(event, environ), effort.hooks)
    return Row(
        claim=f"`gatepost hook {event}` with nothing to do, {where}",
        floor="`python -c pass`",
        measured=in_turns(floor, ours, effort.rounds),
        unit=millis,
        target=at_most(most),
    )


def hook(event: str, environ: Mapping[str, str]) -> str:
    """Run a hook; return what it says."""
    return _run((str(_GATEPOST), "hook", event), environ, json.dumps({"session_id": _SESSION}))


def ready(environ: Mapping[str, str]) -> None:
    """A home with a store, and in it the session of a guest that has asked for nothing."""
    _run((str(_GATEPOST), "agent", "add", environ["GATEPOST_AGENT"]), environ)
    hook("SessionStart", environ)
    hook("UserPromptSubmit", environ)


@contextmanager
def gateway(environ: Mapping[str, str]) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
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


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {**kept, "HOME": str(folder), "GATEPOST_HOME": str(folder / "home"), "GATEPOST_AGENT": "guest"}


def _seconds(run: Callable[[], object], times: int) -> float:
    began = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - began) / times


def _run(command: Sequence[str], environ: Mapping[str, str], told: str = "") -> str:
    done = subprocess.run(
        command, input=told, env=dict(environ), cwd=environ["HOME"], capture_output=True, text=True, check=True
    )
    assert not done.stderr or "hook" not in command, done.stderr
    return done.stdout
