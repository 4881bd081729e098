"""
An MCP server to test with. `python mcp_server.py LOG` speaks on stdin and stdout and notes in the file that it
was started; `serve_tools()` serves the same tools over HTTP on a port of this machine, in a thread.
"""

import asyncio
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp.server import MCPServer


def create_server() -> MCPServer:
    server = MCPServer("tools", log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(name="odd.name/with dots")
    def odd() -> str:
        return "odd"

    @server.tool()
    def fail(why: str) -> str:
        raise ValueError(why)

    @server.tool()
    def variable(name: str) -> str:
        return os.environ.get(name, "nothing")

    @server.tool()
    def large() -> str:
        return "x" * 300_000

    @server.tool()
    def die() -> str:
        os._exit(3)

    return server


@contextmanager
def serve_tools() -> Iterator[str]:
    """The URL of a server that runs until the end."""
    import uvicorn  # a server on stdin and stdout starts without it

    config = uvicorn.Config(create_server().streamable_http_app(), port=0, log_level="error", ws="none")
    server = uvicorn.Server(config)
    sock = config.bind_socket()
    sock.listen()  # whoever connects before it serves waits
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([sock])))
    thread.start()
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a") as log:
        log.write(f"{os.getpid()}\n")
    create_server().run()
