"""taskiq on a stream of Redis, whose messages are acknowledged."""

from typing import Any

from taskiq_redis import RedisStreamBroker

from bench.peers.programs import taskiq_tasks


def build_broker(config: dict[str, Any]) -> RedisStreamBroker:
    return RedisStreamBroker(config["redis"])


open_async_sender, work = taskiq_tasks.build_program(build_broker)
