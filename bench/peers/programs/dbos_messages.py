"""DBOS: messages to a workflow that receives them one by one, each in a step; so a recovery does not repeat them."""

import os
import threading
from collections.abc import Callable
from typing import Any

from dbos import DBOS, DBOSClient, SetWorkflowID

READER = "reader"
TOPIC = "bench"


def launch(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    DBOS(
        config={
            "name": "bench",
            "system_database_url": config["dbos"],
            "application_version": "1",
            "run_admin_server": False,
            "log_level": "ERROR",
        }
    )

    @DBOS.step(name="handle")
    def handle(text: str) -> None:
        receive(text)

    @DBOS.workflow(name="read_messages")
    def read_messages() -> None:
        while True:
            text = DBOS.recv(TOPIC, timeout_seconds=3600)
            if text is not None:
                handle(text)

    DBOS.launch()  # it goes on with the workflow if there is one
    with SetWorkflowID(READER):
        DBOS.start_workflow(read_messages)


def prepare(config: dict[str, Any]) -> None:
    launch(config, lambda _: None)
    os._exit(0)  # the workflow never ends; the reader goes on with it


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    client = DBOSClient(system_database_url=config["dbos"])
    return lambda text, key: client.send(READER, text, topic=TOPIC, idempotency_key=key)


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    launch(config, receive)
    threading.Event().wait()
