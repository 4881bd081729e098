"""The verbs of a group run lane by lane, so that groups in different processes lock in one order."""

import asyncio

from gatepost.ports import Transaction
from gatepost.testing import Kit
from gatepost.testing.conformance.fixtures import BlockingVerb, yield_to_loop


async def test_lanes_in_order_and_calls_of_a_lane_in_theirs(kit: Kit) -> None:
    kit.store.query(lambda _: None)
    store = kit.open(writers=1)
    ran: list[str] = []

    def note(tx: Transaction, text: str) -> None:
        ran.append(text)

    hold = BlockingVerb()
    holding = asyncio.create_task(store.run(hold, lane="first"))
    assert await asyncio.to_thread(hold.started_event.wait, 20.0)
    calls = [("b", "b1"), ("c", "c1"), ("a", "a1"), ("b", "b2"), ("a", "a2")]
    waiting = [asyncio.create_task(store.run(note, text, lane=lane)) for lane, text in calls]
    await yield_to_loop()
    hold.release_event.set()
    await asyncio.gather(holding, *waiting)
    assert ran == ["a1", "a2", "b1", "b2", "c1"]
