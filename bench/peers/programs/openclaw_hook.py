"""OpenClaw: `POST /hooks/wake`, which adds an event to the main session. There is no way to read them outside of it."""

from collections.abc import Callable
from typing import Any

from bench.peers.programs.http_calls import JsonServer


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    server = JsonServer(config["port"], {"Authorization": f"Bearer {config['token']}"})
    return lambda text, _key: server.post("/hooks/wake", {"text": text, "mode": "next-heartbeat"})
