"""However pushes, broadcasts and drains interleave, whoever follows an inbox sees each item once."""

import random
import threading
from collections import Counter
from collections.abc import Callable

import pytest

from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox, feed_actions as inbox_feed
from gatepost.inbox.event import Push
from gatepost.inbox.feed_actions import Position
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit

WRITERS = 4
ROUNDS = 40


def push_batches(store: Store, writer: int) -> None:
    """Push several to one transaction, some of them to everybody, and now and then fail."""
    rng = random.Random(writer)

    def push_texts(tx: Transaction, texts: list[str]) -> None:
        for text in texts:
            push.push_event(tx, Push(to=rng.choice(("ann", "ann", "bob", "*")), source="test", content=text))
        if not texts:
            raise LookupError

    for number in range(ROUNDS):
        texts = [f"{writer}.{number}.{index}" for index in range(rng.randrange(4))]
        if texts:
            store.run_sync(push_texts, texts)
        else:
            with pytest.raises(LookupError):
                store.run_sync(push_texts, texts)


def claim_and_ack(store: Store) -> None:
    """Take what there is, broadcasts too, while it comes."""
    for number in range(ROUNDS):
        batch = store.run_sync(inbox.claim, "ann", owner=f"session {number}")
        if batch.claim:
            store.run_sync(inbox.ack, batch.claim.id, owner=batch.claim.owner, fence=batch.claim.fence)


def follow_feed(store: Store, start: Position, is_busy: Callable[[], bool], rng: random.Random) -> list[str]:
    """Come back again and again with the last position as text, until there is nothing more to come."""
    contents: list[str] = []
    position = start
    while True:
        is_last = not is_busy()
        page = store.read_sync(inbox_feed.read_page, "ann", Position.parse(str(position)), rng.randrange(1, 20))
        entries = page.entries[: rng.randrange(1, 20)]
        contents += [item.event.content for item, _ in entries]
        position = entries[-1][1] if len(entries) < len(page.entries) else page.position
        if is_last and not page.entries and not page.has_delayed_items:
            return contents


def test_each_item_is_seen_once_while_writers_race(kit: Kit) -> None:
    store = kit.store
    for name in ("ann", "bob"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    start = store.read_sync(inbox_feed.read_end)
    threads = [threading.Thread(target=push_batches, args=(store, writer)) for writer in range(WRITERS)]
    threads.append(threading.Thread(target=claim_and_ack, args=(store,)))
    for thread in threads:
        thread.start()

    followed = follow_feed(store, start, lambda: any(thread.is_alive() for thread in threads), random.Random(0))

    stored = [item.event.content for item in store.read_sync(inbox.list_page, "ann", limit=10_000)]
    assert Counter(followed) == Counter(stored)
    assert len(stored) > ROUNDS
    for writer in range(WRITERS):
        writer_numbers = [tuple(map(int, text.split("."))) for text in followed if text.startswith(f"{writer}.")]
        assert writer_numbers == sorted(writer_numbers), "what one writer pushed comes in its order"
