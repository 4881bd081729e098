"""
Durable push over HTTP: `POST /api/inbox` to one worker on SQLite FULL, from 64 connections that are kept, each awaiting
its answer before its next request. The floor is the same application and route, whose store answers at once and writes
nothing: the same parsing, the same credential, the same answer. Both are processes of their own, and so is the caller.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Final

from bench import _office
from bench._gateway import Gateway, running
from bench._http import Caller, callers, hang_up
from bench._measure import FULL, Effort, in_turns
from bench._process import runner
from bench._raw import RawSqlite
from bench._table import Row, at_least, rate

CONNECTIONS: Final = 64


def main(effort: Effort = FULL) -> Iterator[Row]:
    with (
        running(stores=False) as without,
        running() as gateway,
        runner() as loop,
        _turn(loop, without, effort) as floor,
        _turn(loop, gateway, effort) as ours,
        closing(RawSqlite(gateway.store)) as raw,
    ):
        yield Row(
            claim=f"durable push over HTTP, one worker, SQLite FULL, {CONNECTIONS} connections",
            floor="the same route without a store",
            measured=in_turns(floor, ours, effort.rounds),
            unit=rate,
            target=at_least(0.60),
        )
        [[stored]] = raw.rows("SELECT count(*) FROM items")
        assert stored == effort.pushes * (effort.rounds + 1)


@contextmanager
def _turn(loop: asyncio.Runner, gateway: Gateway, effort: Effort) -> Iterator[Callable[[], float]]:
    connections = loop.run(callers(gateway.port, CONNECTIONS))

    def measure() -> float:
        requests = [gateway.request("POST", "/api/inbox", _body(number)) for number in range(effort.pushes)]
        return loop.run(_push(connections, requests))

    try:
        yield measure
    finally:
        loop.run(hang_up(connections))


async def _push(connections: Sequence[Caller], requests: Sequence[bytes]) -> float:
    """Share these among the connections; return how many were answered a second."""
    shares = [requests[number :: len(connections)] for number in range(len(connections))]
    began = time.perf_counter()
    await asyncio.gather(*(each.ask(share) for each, share in zip(connections, shares, strict=True)))
    return len(requests) / (time.perf_counter() - began)


def _body(number: int) -> bytes:
    wish = _office.wish(number)
    return json.dumps({"to": wish.to, "content": wish.content, "dedupKey": wish.key}).encode()
