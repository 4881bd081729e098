"""
A mail that is also appended to the local ledger, against the same mail without a ledger; and the verification of a
topic, against SHA-384 of the same messages.

A send is timed from the call to the answer, with its durable commit. The two stores are separate files.
"""

import tempfile
import time
from base64 import b64decode
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha384
from pathlib import Path
from typing import Final

from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.table import Row, at_most, millis
from gatepost.client import LocalClient
from gatepost.core.policy import Policy
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.ledger.topic import TopicKind
from gatepost.ledger.topic_api import ListTopicMessages, ListTopics, VerifyTopic
from gatepost.mail.mail_api import SendMail
from gatepost.stores.clock import SystemClock
from gatepost.stores.sqlite import SqliteStore

SENDS: Final = 20
#: bytes of the text of a mail
TEXT: Final = "x" * 200


def main(effort: Effort = FULL) -> Iterator[Row]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plain, recorded = (_open_client(stack, folder / f"{kind}.db", kind) for kind in ("off", "local:"))
        for store in (plain, recorded):
            _time_sends(store)
        yield Row(
            claim="send of mail with the local ledger, SQLite FULL",
            door="`LocalClient.send(SendMail)`",
            floor="itself without a ledger",
            measurement=measure_in_turns(
                lambda: _time_sends(plain), lambda: _time_sends(recorded), effort.untargeted_rounds * 3
            ),
            unit=millis,
            target=at_most(2.0),
        )
        topic = next(topic for topic in recorded.list_all(ListTopics(kind=TopicKind.INBOUND)) if topic.entity == "bob")
        contents = [b64decode(message.message) for message in recorded.list_all(ListTopicMessages(id=topic.id))]

        def hash_contents() -> float:
            begin = time.perf_counter()
            for content in contents:
                sha384(sha384(content).digest()).digest()
            return time.perf_counter() - begin

        def verify() -> float:
            begin = time.perf_counter()
            assert recorded.send(VerifyTopic(id=topic.id)).proved == len(contents)
            return time.perf_counter() - begin

        yield Row(
            claim=f"verification of a topic with {len(contents):,} messages",
            door="`LocalClient.send(VerifyTopic)`",
            floor="SHA-384 twice of each message",
            measurement=measure_in_turns(hash_contents, verify, effort.untargeted_rounds),
            unit=millis,
        )


def _open_client(stack: ExitStack, file: Path, kind: str) -> LocalClient:
    store = SqliteStore(file, clock=SystemClock(), policy=Policy(ledger=kind))
    stack.callback(store.close)
    store.migrate()
    for name in ("admin", "ann", "bob"):
        entity_kind = EntityKind.HUMAN if name == "admin" else EntityKind.AGENT
        store.run_sync(directory.register, EntitySpec(name=name, kind=entity_kind))
    return LocalClient(store)


def _time_sends(client: LocalClient) -> float:
    """Return the seconds of one send, over several."""
    begin = time.perf_counter()
    for _ in range(SENDS):
        client.send(SendMail(to="bob", text=TEXT, subject="Bench", sender="ann"))
    return (time.perf_counter() - begin) / SENDS
