"""
The cost of a tool over MCP. The floor is the same operation in this process, on the same store.

A call is a request of the revision 2026-07-28, written by hand: on stdio to `gatepost mcp`, which works on the store,
and over HTTP to a gateway, on a connection that stays open. So the figures have the cost of the server, and none of a
client of the SDK.
"""

import http.client
import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlsplit

from bench.support.commands import GATEPOST, build_environment, measure_seconds, run_command, run_gateway
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.table import Row, at_most, millis
from gatepost import app, settings
from gatepost.client.local_client import LocalClient
from gatepost.inbox.item_api import ListInbox
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import Request
from gatepost.spaces.api import PostMessage

_META: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
_ITEMS: Final = 20
#: by tool: its arguments, the operation, and the most that it may cost
_CALLS: Final[Mapping[str, tuple[Mapping[str, Any], Request[Any], float]]] = {
    "read_inbox": ({"limit": _ITEMS}, ListInbox(name="guest", limit=_ITEMS), 8.0),
    "post_to_space": ({"space": "q4", "content": "hello"}, PostMessage(id="q4", content="hello"), 4.0),
}
Call = Callable[[str, Mapping[str, Any]], object]


def main(effort: Effort = FULL) -> Iterator[Row]:
    with TemporaryDirectory(prefix="gatepost-bench-") as folder:
        environ = build_environment(Path(folder))
        run_command((GATEPOST, "agent", "add", "guest"), environ)
        run_command((GATEPOST, "space", "create", "q4", "--member", "guest"), environ)
        for number in range(_ITEMS):
            run_command((GATEPOST, "inbox", "push", "--to", "guest", f"message {number}"), environ)
        key = json.loads(run_command((GATEPOST, "key", "create", "--agent", "guest", "--json"), environ))["key"]
        with app.prepare_store(settings.load(environ)) as store:
            local = LocalClient(store, Caller(CallerKind.ENTITY, "guest"))
            with _open_stdio(environ) as call:
                yield from _measure_rows(local, call, "on stdio", effort)
            with run_gateway(environ), _open_http(environ, key) as call:
                yield from _measure_rows(local, call, "over HTTP", effort)


def _measure_rows(local: LocalClient, call: Call, transport: str, effort: Effort) -> Iterator[Row]:
    for tool, (arguments, request, max_ratio) in _CALLS.items():
        floor = partial(measure_seconds, partial(local.send, request), 10 * effort.hooks)
        ours = partial(measure_seconds, partial(call, tool, arguments), 10 * effort.hooks)
        yield Row(
            claim=f"tool `{tool}` {transport}",
            door=f"`tools/call` {transport}",
            floor=f"`{request.operation.name}` in process",
            measurement=measure_in_turns(floor, ours, effort.rounds),
            unit=millis,
            target=at_most(max_ratio),
        )


@contextmanager
def _open_stdio(environ: Mapping[str, str]) -> Iterator[Call]:
    command = [GATEPOST, "mcp", "--as", "guest"]
    with subprocess.Popen(
        command,
        env=dict(environ),
        cwd=environ["HOME"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def call(tool: str, arguments: Mapping[str, Any]) -> None:
            stdin.write(_build_message(tool, arguments) + b"\n")
            stdin.flush()
            _check(stdout.readline())

        yield call
        stdin.close()


@contextmanager
def _open_http(environ: Mapping[str, str], key: str) -> Iterator[Call]:
    url = json.loads((Path(environ["GATEPOST_HOME"]) / "gateway.json").read_text())["url"]
    with closing(http.client.HTTPConnection(urlsplit(url).netloc)) as connection:

        def call(tool: str, arguments: Mapping[str, Any]) -> None:
            headers = {
                "x-secret-key": key,
                "accept": "application/json, text/event-stream",
                "content-type": "application/json",
                "mcp-protocol-version": "2026-07-28",
                "mcp-method": "tools/call",
                "mcp-name": tool,
            }
            connection.request("POST", "/mcp", _build_message(tool, arguments), headers)
            _check(connection.getresponse().read())

        yield call


def _build_message(tool: str, arguments: Mapping[str, Any]) -> bytes:
    params = {"name": tool, "arguments": arguments, "_meta": _META}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def _check(answer: bytes) -> None:
    assert b'"isError":false' in answer, answer
