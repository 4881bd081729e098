"""
Drive the program of a peer, in the environment of the peer: nothing here needs a package.

    python harness.py PROGRAM ROLE CONFIG

The roles are `prepare`, `send`, `read` (which prints what it receives), `both` and `drain`. A sender takes commands
from stdin and answers on stdout, a JSON document a line each.
"""

import asyncio
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

CONTENT = "The quarterly figures are in; please look them over before noon. ".ljust(200, ".")

#: sends a text with a key, or without one
Send = Callable[[str, str | None], Any]
AsyncSend = Callable[[str, str | None], Awaitable[Any]]

_print_lock = threading.Lock()


def report(**fields: Any) -> None:
    with _print_lock:
        os.write(1, json.dumps(fields).encode() + b"\n")


def receive(text: str) -> None:
    report(received=text, at=time.monotonic())


def create_text(caller: int, number: int) -> str:
    return f"{caller}-{number} {CONTENT}"[: len(CONTENT)]


def run_threads(send: Send, callers: int, seconds: float, *, tell: bool = False) -> int:
    """Let threads send one text after the other; return how many were accepted. All of them must be."""
    counts, end, errors = [0] * callers, time.monotonic() + seconds, list[Exception]()

    def run_caller(caller: int) -> None:
        while time.monotonic() < end and not errors:
            text = create_text(caller, counts[caller])
            try:
                send(text, None)
            except Exception as error:
                errors.append(error)
                return
            counts[caller] += 1
            if tell:
                report(accepted=text)

    threads = [threading.Thread(target=run_caller, args=(caller,), daemon=True) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return sum(counts)


async def run_tasks(send: AsyncSend, callers: int, seconds: float, *, tell: bool = False) -> int:
    counts, end = [0] * callers, time.monotonic() + seconds

    async def run_caller(caller: int) -> None:
        while time.monotonic() < end:
            text = create_text(caller, counts[caller])
            await send(text, None)
            counts[caller] += 1
            if tell:
                report(accepted=text)

    await asyncio.gather(*map(run_caller, range(callers)))
    return sum(counts)


def serve_commands(send: Send) -> None:
    report(ready=True)
    for line in sys.stdin:
        command = json.loads(line)
        start = time.monotonic()
        if command["do"] == "push":
            send(command["text"], command.get("key"))
            report(start=start)
            continue
        try:
            count = run_threads(send, command["callers"], command["seconds"], tell=command.get("tell", False))
        except Exception as error:  # the next turn may have fewer callers
            report(failed=f"{type(error).__name__}: {error}")
        else:
            report(rate=count / (time.monotonic() - start))


async def serve_commands_async(send: AsyncSend) -> None:
    report(ready=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        command = json.loads(line)
        start = time.monotonic()
        if command["do"] == "push":
            await send(command["text"], command.get("key"))
            report(start=start)
            continue
        try:
            count = await run_tasks(send, command["callers"], command["seconds"], tell=command.get("tell", False))
        except Exception as error:  # the next turn may have fewer callers
            report(failed=f"{type(error).__name__}: {error}")
        else:
            report(rate=count / (time.monotonic() - start))


async def run_async_sender(program: ModuleType, config: dict[str, Any]) -> None:
    async with program.open_async_sender(config) as send:
        await serve_commands_async(send)


def read(program: ModuleType, config: dict[str, Any]) -> None:
    if asyncio.iscoroutinefunction(program.work):
        asyncio.run(program.work(config, receive))
    else:
        program.work(config, receive)


def main(name: str, role: str, config: dict[str, Any]) -> None:
    sys.path[0] = str(Path(__file__).parents[3])
    program = importlib.import_module(f"bench.peers.programs.{name}")
    if role == "prepare":
        prepare = getattr(program, "prepare", None)
        if prepare is not None:
            prepare(config)
    elif role == "drain":
        report(ready=True)
        report(bytes=program.drain(config))
    elif role == "read":
        report(ready=True)
        read(program, config)
    elif hasattr(program, "open_async_sender"):
        asyncio.run(run_async_sender(program, config | ({"receive": receive} if role == "both" else {})))
    else:
        serve_commands(program.open_sender(config))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
