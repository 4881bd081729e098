"""The verbs of a group run lane by lane, so that groups in different processes lock in one order."""

import asyncio

from gatepost.core.ports import Transaction
from gatepost.testing import Kit
from gatepost.testing.conformance.fixtures import BlockingVerb, yield_to_loop


async def test_lanes_in_order_and_calls_of_a_lane_in_theirs(kit: Kit) -> None:
    kit.store.read_sync(lambda _: None)
    store = kit.open(writers=1)
    order: list[str] = []

    def record_text(tx: Transaction, text: str) -> None:
        order.append(text)

    blocking_verb = BlockingVerb()
    blocking_task = asyncio.create_task(store.run(blocking_verb, lane="first"))
    assert await asyncio.to_thread(blocking_verb.started_event.wait, 20.0)
    calls = [("b", "b1"), ("c", "c1"), ("a", "a1"), ("b", "b2"), ("a", "a2")]
    tasks = [asyncio.create_task(store.run(record_text, text, lane=lane)) for lane, text in calls]
    await yield_to_loop()
    blocking_verb.release_event.set()
    await asyncio.gather(blocking_task, *tasks)
    assert order == ["a1", "a2", "b1", "b2", "c1"]
