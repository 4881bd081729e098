"""Clients that speak JSON-RPC by hand, on stdio and over HTTP: what they send is what a test writes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, Protocol

import httpx2

from tests.mcp.mcp_setup import McpSetup
from tests.mcp.stdio_server import META, StdioServer
from tests.support.waits import LAST_RESORT

TASKS: Final = "io.modelcontextprotocol/tasks"
_REVISION: Final = str(META["io.modelcontextprotocol/protocolVersion"])


class RawClient(Protocol):
    def send(self, method: str, *, extensions: Any = None, **params: Any) -> dict[str, Any]:
        """Send a request that declares these extensions, by default that of tasks; return the whole answer."""
        ...


def build_request(id: int, method: str, extensions: Any, params: dict[str, Any]) -> dict[str, Any]:
    capabilities = {"extensions": {TASKS: {}} if extensions is None else extensions}
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": capabilities}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": meta}}


class RawStdioClient:
    def __init__(self, server: StdioServer) -> None:
        self._server = server
        self._ids = count(1)

    def send(self, method: str, *, extensions: Any = None, **params: Any) -> dict[str, Any]:
        id = next(self._ids)
        self._server.send(build_request(id, method, extensions, params))
        answer: dict[str, Any] = self._server.read()
        assert answer["id"] == id
        return answer


class RawHttpClient:
    def __init__(self, client: httpx2.Client) -> None:
        self._client = client
        self._ids = count(1)

    def send(self, method: str, *, extensions: Any = None, **params: Any) -> dict[str, Any]:
        request = build_request(next(self._ids), method, extensions, params)
        name = params.get("name") or params.get("taskId")
        headers = {"mcp-method": method} | ({"mcp-name": name} if isinstance(name, str) else {})
        response = self._client.post("/mcp", json=request, headers=headers)
        # an answer is one document, or a stream whose last event is the answer
        lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")]
        answer: dict[str, Any] = json.loads(lines[-1] if lines else response.text)
        assert answer["id"] == request["id"]
        return answer


@contextmanager
def open_raw_client(setup: McpSetup, transport: str, name: str = "analyst") -> Iterator[RawClient]:
    """A client that is an agent; a new server process on stdio, which works on the store."""
    if transport == "stdio":
        with StdioServer(setup, "--as", name) as server:
            yield RawStdioClient(server)
        return
    headers = {
        "authorization": f"Bearer {setup.gateway_thread.gateway.create_key('agent', name)}",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": _REVISION,
    }
    base_url = setup.gateway_thread.base_url
    with httpx2.Client(base_url=base_url, headers=headers, timeout=LAST_RESORT, verify=False) as client:
        yield RawHttpClient(client)
