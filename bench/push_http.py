"""
Durable push over HTTP: `POST /api/inbox` to one worker on SQLite FULL, from 64 connections that stay open. Each awaits
its answer before its next request. The floor is the same application and route with a store that answers at once and
writes nothing: the same parsing, the same credential, the same answer. Both are processes of their own, and so is the
caller.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Final

from bench.support import fixtures
from bench.support.gateway import Gateway, run_gateway
from bench.support.http_callers import Caller, close_callers, open_callers
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.processes import create_runner
from bench.support.raw_databases import RawSqlite
from bench.support.table import Row, at_least, rate

CONNECTIONS: Final = 64


def main(effort: Effort = FULL) -> Iterator[Row]:
    with (
        run_gateway(has_store=False) as storeless_gateway,
        run_gateway() as gateway,
        create_runner() as loop,
        closing(RawSqlite(gateway.store)) as raw,
    ):
        floor, ours = (_build_turn(loop, served, effort) for served in (storeless_gateway, gateway))
        yield Row(
            claim=f"durable push over HTTP, one worker, SQLite FULL, {CONNECTIONS} connections",
            door="`POST /api/inbox`",
            floor="the same route without a store",
            measurement=measure_in_turns(floor, ours, effort.rounds),
            unit=rate,
            target=at_least(0.60),
        )
        [[item_count]] = raw.execute("SELECT count(*) FROM items")
        assert item_count == effort.pushes * (effort.rounds + 1)


def _build_turn(loop: asyncio.Runner, gateway: Gateway, effort: Effort) -> Callable[[], float]:
    def measure() -> float:
        requests = [gateway.request("POST", "/api/inbox", _build_body(number)) for number in range(effort.pushes)]
        # New connections for each turn: the gateway closes those that are idle while the other has its turn.
        connections = loop.run(open_callers(gateway.port, CONNECTIONS))
        try:
            return loop.run(push_all(connections, requests))
        finally:
            loop.run(close_callers(connections))

    return measure


async def push_all(connections: Sequence[Caller], requests: Sequence[bytes]) -> float:
    """Share these among the connections; return how many were answered a second."""
    shares = [requests[number :: len(connections)] for number in range(len(connections))]
    start = time.perf_counter()
    await asyncio.gather(*(caller.send_requests(share) for caller, share in zip(connections, shares, strict=True)))
    return len(requests) / (time.perf_counter() - start)


def _build_body(number: int) -> bytes:
    push = fixtures.build_push(number)
    return json.dumps({"to": push.to, "content": push.content, "dedupKey": push.dedup_key}).encode()
