"""taskiq on a JetStream of NATS, from which a worker pulls."""

from typing import Any

from taskiq_nats import PullBasedJetStreamBroker

from bench.peers.programs import taskiq_tasks


def build_broker(config: dict[str, Any]) -> PullBasedJetStreamBroker:
    return PullBasedJetStreamBroker([config["nats"]], queue="bench")


open_async_sender, work = taskiq_tasks.build_program(build_broker)
