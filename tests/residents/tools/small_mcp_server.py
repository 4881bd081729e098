"""
An MCP server without the SDK, which takes half a second to import: `python small_mcp_server.py LOG` notes in the
file that it was started, and offers two of the tools of `mcp_server.py` on stdin and stdout.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS = [
    {"name": "add", "description": "Add two numbers.", "inputSchema": SCHEMA},
    {"name": "die", "inputSchema": {"type": "object", "properties": {}}},
]


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "small", "version": "1"},
            }
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call" if params["name"] == "add":
            total = params["arguments"]["a"] + params["arguments"]["b"]
            return {"content": [{"type": "text", "text": str(total)}], "structuredContent": {"result": total}}
        case "tools/call":
            os._exit(3)
        case _:
            return {}


if __name__ == "__main__":
    with Path(sys.argv[1]).open("a") as log:
        log.write(f"{os.getpid()}\n")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            result = answer(request["method"], request.get("params") or {})
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}) + "\n")
            sys.stdout.flush()
