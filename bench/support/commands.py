"""Commands as processes: the shared parts of the benchmarks that run `gatepost` as a user does."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

GATEPOST: Final = str(Path(sys.executable).parent / "gatepost")
EMPTY_PYTHON: Final = (sys.executable, "-c", "pass")


def build_environment(folder: Path) -> dict[str, str]:
    base_environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {**base_environment, "HOME": str(folder), "GATEPOST_HOME": str(folder / "home"), "GATEPOST_AGENT": "guest"}


def run_command(command: Sequence[str], environ: Mapping[str, str], stdin: str = "") -> str:
    """Run a command that must succeed; return its output."""
    result = subprocess.run(
        command, input=stdin, env=dict(environ), cwd=environ["HOME"], capture_output=True, text=True, check=True
    )
    assert not result.stderr or "hook" not in command, result.stderr
    return result.stdout


def measure_seconds(run: Callable[[], object], times: int) -> float:
    """Return how long one of several runs takes."""
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


@contextmanager
def run_gateway(environ: Mapping[str, str]) -> Iterator[int]:
    """Run a gateway, and return its port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = [GATEPOST, "up", "--port", str(port)]
    with subprocess.Popen(
        command, env=dict(environ), cwd=environ["HOME"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the gateway did not start"
            yield port
        finally:
            process.terminate()
