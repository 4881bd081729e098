"""`gatepost mcp` as a process that a test speaks to by hand."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import anyio

from tests.mcp.mcp_setup import COMMAND, McpSetup
from tests.support.processes.fork_server import MCP_MODULES, ForkedProcess, select_start_variables
from tests.support.waits import LAST_RESORT

#: what each request of the newer revision brings along
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


async def wait_until(check: Callable[[], bool]) -> None:
    """Wait for something that no signal of ours announces: another process has done it."""
    with anyio.fail_after(LAST_RESORT):
        while not check():  # noqa: ASYNC110 (it is in another process)
            await anyio.sleep(0.02)


class StdioServer:
    """`gatepost mcp`, spoken to by hand."""

    def __init__(self, setup: McpSetup, *options: str, environ: dict[str, str] | None = None) -> None:
        self.process = ForkedProcess(
            [*COMMAND, "--as", "analyst", *options],
            extra_modules=MCP_MODULES,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**select_start_variables(os.environ), "GATEPOST_HOME": str(setup.home), "PATH": "", **(environ or {})},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self.stdout = self.process.stdin, self.process.stdout

    def call(self, id: int, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments, "_meta": META}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def send(self, message: dict[str, Any]) -> None:
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        self._stdin.write(line + b"\n")
        self._stdin.flush()

    def read(self) -> Any:
        return json.loads(self.stdout.readline())

    def leave(self) -> None:
        """Close its stdin, and wait until it has ended."""
        self._stdin.close()
        assert self.process.wait(LAST_RESORT) == 0

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        self.process.send_signal(number)
        self.process.wait(LAST_RESORT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        with suppress(BrokenPipeError):
            self._stdin.close()
        self.stdout.close()
