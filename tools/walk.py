"""
Follow one message through the code: print each module of the package that a POST enters, from the socket to COMMIT.

    python -m tools.walk              the modules in their order, and how often the walk changes the room
    python -m tools.walk --summary    the figures alone

A gateway runs in this process, on a new SQLite store. Two requests before the one that is followed fill all caches, and
what they set going comes to rest first. A module is printed when it is first entered; its folder is its room.
Primitives (ids, text, times, the mapping of rows) are used from all rooms, so they are left out. The rest of `core` is
printed; the last line also counts without it, because it knows no feature.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import tempfile
import threading
import time
from http.client import HTTPConnection
from itertools import groupby
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import urlsplit

import structlog

import gatepost
from gatepost import settings

PACKAGE: Final = str(Path(gatepost.__file__).parent) + os.sep
PRIMITIVES: Final = {
    "errors",
    *("core/ids", "core/policy", "core/text", "core/times"),
    *("stores/clock", "stores/row_mapping", "stores/statements"),
}


class Recorder:
    """Notes the module of each function of the package that is called in any thread, while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.modules: list[str] = []
        self.is_committed = False
        #: when a function of the package was called last, also while it is off
        self.last_call = 0.0

    def on_event(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        self.last_call = time.monotonic()
        if not self.is_on or self.is_committed:
            return
        self.modules.append(code.co_filename.removeprefix(PACKAGE).removesuffix(".py").removesuffix("/__init__"))
        self.is_committed = code.co_name == "commit" and bool(self.modules)

    def wait_for_rest(self) -> None:
        """Wait until nothing was called for a fifth of a second; at most as long as the gateway caches a key."""
        end = time.monotonic() + 4
        while (now := time.monotonic()) < end and now - self.last_call < 0.2:
            time.sleep(0.05)


def send(url: str, key: str, method: str, path: str, body: Any) -> None:
    address = urlsplit(url)
    connection = HTTPConnection(address.hostname or "", address.port)
    headers = {"x-secret-key": key, "content-type": "application/json"}
    connection.request(method, path, json.dumps(body), headers)
    answer = connection.getresponse()
    assert answer.status in (200, 201), answer.read()
    answer.read()
    connection.close()


def post_messages(url: str, home: Path, recorder: Recorder) -> None:
    """Post three messages in a space with an agent, and record the last one; then stop the gateway."""
    try:
        key = (home / "admin.key").read_text().strip()
        send(url, key, "POST", "/api/entities", {"name": "husam", "kind": "human"})
        send(url, key, "POST", "/api/agents", {"name": "analyst"})
        send(url, key, "POST", "/api/spaces", {"name": "q4", "members": ["husam", "analyst"]})
        for is_recorded in (False, False, True):
            recorder.wait_for_rest()
            recorder.is_on = is_recorded
            send(url, key, "POST", "/api/spaces/q4/messages", {"content": "Pull the Q4 numbers", "sender": "husam"})
            recorder.is_on = False
    finally:
        os.kill(os.getpid(), signal.SIGTERM)


def follow_message() -> list[str]:
    """Return the modules that a message enters, in the order in which it first enters them."""
    from gatepost.gateway.serve import serve

    logging.disable()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "GATEPOST_HOME": folder,
            "GATEPOST_STORE": f"sqlite:///{folder}/walk.db",
            "GATEPOST_JANITOR__INTERVAL": "1h",  # nothing else is to happen
        }
        threading.setprofile(recorder.on_event)
        sys.setprofile(recorder.on_event)

        def start(url: str, _link: str | None) -> None:
            threading.Thread(target=post_messages, args=(url, Path(folder), recorder)).start()

        try:
            asyncio.run(serve(settings.load(), "127.0.0.1", 0, ready=start, person=None))
        finally:
            sys.setprofile(None)
    return [module for module in dict.fromkeys(recorder.modules) if module not in PRIMITIVES]


def list_rooms(modules: list[str]) -> list[str]:
    """Return the rooms in the order in which the walk enters them."""
    return [room for room, _ in groupby(module.partition("/")[0] for module in modules)]


def main(arguments: list[str]) -> None:
    modules = follow_message()
    rooms = list_rooms(modules)
    outside_core = list_rooms([module for module in modules if not module.startswith("core/")])
    if "--summary" not in arguments:
        print(*modules, sep="\n")
        print(" -> ".join(rooms))
    print(
        f"{len(modules)} modules, {len(set(rooms))} rooms, {len(rooms) - 1} changes of room;"
        f" without core {len(outside_core) - 1} changes"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
