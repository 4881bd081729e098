"""The cost of a durable push over HTTP against the number of gateways on one PostgreSQL, with 16 connections each."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.growth._curve import Effort, Plot, Step, measure_curves
from bench.push_http import push_all
from bench.support import fixtures
from bench.support.commands import build_environment, run_gateway
from bench.support.gateway import Gateway
from bench.support.http_callers import close_callers, open_callers
from bench.support.processes import create_runner
from gatepost.app import open_store
from gatepost.settings.gateway_files import read_admin_key
from tests.support.servers.private_servers import Postgres

_CONNECTIONS = 16


def main(effort: Effort) -> Iterator[Plot]:
    with ExitStack() as stack:
        server, loop = stack.enter_context(Postgres()), stack.enter_context(create_runner())
        url = stack.enter_context(server.create_database())
        fixtures.create_agents(open_store(url)).close()
        gateways = [_open_gateway(stack, url) for _ in range(max(effort.gateways))]
        steps = {
            size: {"POST /api/inbox, a push of all together": _build_step(loop, gateways[:size], effort)}
            for size in effort.gateways
        }
        yield Plot("gateways", "Gateways on one PostgreSQL", "gateways", measure_curves(steps, effort))


def _open_gateway(stack: ExitStack, url: str) -> Gateway:
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-")))
    environ = build_environment(folder) | {"GATEPOST_STORE": url}
    port = stack.enter_context(run_gateway(environ))
    return Gateway(port, read_admin_key(Path(environ["GATEPOST_HOME"])), url)


def _build_step(loop: asyncio.Runner, gateways: list[Gateway], effort: Effort) -> Step:
    def measure() -> float:
        """Return the seconds of a push, of all that are made at the same time."""
        connections, requests = [], []
        for gateway in gateways:
            connections += loop.run(open_callers(gateway.port, _CONNECTIONS))
        for number in range(effort.pushes):
            push = fixtures.build_push(number)
            body = json.dumps({"to": push.to, "content": push.content, "dedupKey": push.dedup_key}).encode()
            # the requests are shared among the connections in turn, so that each goes to the gateway of its key
            gateway = gateways[number % len(connections) // _CONNECTIONS]
            requests.append(gateway.request("POST", "/api/inbox", body))
        try:
            return 1 / loop.run(push_all(connections, requests))
        finally:
            loop.run(close_callers(connections))

    return measure
