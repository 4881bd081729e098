"""mcp-agent-mail: the tools `send_message` and `fetch_inbox` of its MCP server over HTTP."""

import itertools
import json
import time
from collections.abc import Callable
from typing import Any

from bench.peers.programs.http_calls import JsonServer

_HEADERS = {"Accept": "application/json, text/event-stream"}
_READER, _SENDER = "BlueLake", "GreenHill"
_numbers = itertools.count(1)


def call_tool(server: JsonServer, tool: str, **arguments: Any) -> Any:
    params = {"name": tool, "arguments": arguments}
    answer = server.post("/mcp/", {"jsonrpc": "2.0", "id": next(_numbers), "method": "tools/call", "params": params})
    text = answer.decode()
    if text.startswith("event:"):
        text = next(line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: "))
    result = json.loads(text)
    if "error" in result or result["result"].get("isError"):
        raise ConnectionError(text[:300])
    return result["result"]


def prepare(config: dict[str, Any]) -> None:
    server = JsonServer(config["port"], _HEADERS)
    call_tool(server, "ensure_project", human_key=config["folder"])
    for name in (_READER, _SENDER):
        arguments = {"project_key": config["folder"], "program": "bench", "model": "none", "name": name}
        call_tool(server, "register_agent", **arguments)


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    server = JsonServer(config["port"], _HEADERS)
    arguments = {"project_key": config["folder"], "sender_name": _SENDER, "to": [_READER], "subject": "Figures"}
    return lambda text, _key: call_tool(server, "send_message", **arguments, body_md=text)


def fetch(server: JsonServer, config: dict[str, Any], limit: int) -> Any:
    arguments = {"project_key": config["folder"], "agent_name": _READER, "limit": limit}
    return call_tool(server, "fetch_inbox", **arguments, include_bodies=True)


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    """Every fetch returns everything again, so what was seen is remembered here; nothing wakes a reader."""
    server, seen = JsonServer(config["port"], _HEADERS), set[int]()
    while True:
        messages = fetch(server, config, 10_000)["structuredContent"]["result"]
        for message in messages:
            if message["id"] not in seen:
                seen.add(message["id"])
                receive(message["body_md"])
        time.sleep(0.2)


def drain(config: dict[str, Any]) -> int:
    """Return the bytes that a model gets."""
    content = fetch(JsonServer(config["port"], _HEADERS), config, 20)["content"]
    return sum(len(part["text"].encode()) for part in content)
