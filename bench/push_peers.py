"""
Durable push in process beside the queues that people would pick instead, in the same run: huey and persist-queue with
16 threads on SQLite, and procrastinate's `defer` with one caller on PostgreSQL. `bench/peers` has their programs and
settings. Without `make bench-peers` they are not installed, and there are no rows.

Each turn has the same time, not the same number of pushes. The figures are what is accepted in a second.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Final

from bench.peers.installation import NotInstalled
from bench.peers.measurements import send_texts
from bench.peers.peer import PEERS
from bench.peers.setup import open_setup
from bench.support import fixtures, push_rates
from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.table import Row, at_least, rate
from gatepost import Gatepost
from gatepost.app import open_store
from tests.support.servers.private_servers import Postgres

#: seconds of a turn of a peer
_TURN_TIME: Final = 0.5


def main(effort: Effort = FULL) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-"))
        for number, (name, floor) in enumerate(
            (("huey, SQLite", "huey, 16 threads"), ("persist-queue", "persist-queue, 16 threads"))
        ):
            url = f"sqlite:///{folder}/{number}.db"
            yield from _compare("SQLite FULL", url, name, floor, 16, 1.0, effort)
        server = stack.enter_context(Postgres(fsync="on" if effort.fsync else "off"))
        post_url = stack.enter_context(server.create_database())
        yield from _compare("PostgreSQL", post_url, "procrastinate", "procrastinate's `defer`", 1, 1.5, effort)


def _compare(
    database: str, url: str, peer_name: str, floor: str, callers: int, min_ratio: float, effort: Effort
) -> Iterator[Row]:
    [peer] = [peer for peer in PEERS if peer.name == peer_name]
    count = min(effort.pushes, callers * push_rates.MAX_PUSHES_PER_CALLER)
    with ExitStack() as stack:
        try:
            setup = stack.enter_context(open_setup(peer))
        except NotInstalled as error:
            print(f"  {peer_name} is {error}", file=sys.stderr)
            return
        sender = stack.enter_context(setup.run("send"))
        fixtures.create_agents(open_store(url)).close()
        runner = stack.enter_context(asyncio.Runner())
        post = Gatepost(url)
        runner.run(post.__aenter__())
        stack.callback(lambda: runner.run(post.__aexit__(None, None, None)))

        def ours() -> float:
            pushes = [fixtures.build_request(number) for number in range(count)]
            return runner.run(push_rates.run_pushes(post, callers, pushes))

        yield Row(
            claim=f"durable push in process, {database}, callers: {callers}, beside {peer_name}",
            door="`Gatepost.send(PushEvent)`",
            floor=floor,
            measurement=measure_in_turns(lambda: send_texts(sender, callers, _TURN_TIME), ours, effort.rounds),
            unit=rate,
            target=at_least(min_ratio),
        )
