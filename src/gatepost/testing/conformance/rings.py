"""Commit, then ring: whoever hears the bell can already see why."""

import asyncio
import threading
from collections.abc import Sequence

from gatepost.core.ring import Ring
from gatepost.ports import Store, Transaction
from gatepost.testing.conformance.office import LANE, PATIENCE, Office, Open, tell, tell_and_refuse, together, told
from gatepost.testing.kit import FakeClock, RecordingBell


class Rings(Office):
    def test_who_hears_the_bell_sees_the_row(self, store: Store, other: Store, open: Open, clock: FakeClock) -> None:
        seen: list[list[str]] = []

        def look(rings: Sequence[Ring]) -> None:
            seen.append(other.query(told))

        ringing = open(clock=clock, bell=look)
        ringing.call(tell, "first")
        asyncio.run(ringing.run(tell, "second"))
        assert seen == [["first"], ["first", "second"]]

    def test_nothing_rings_before_the_commit(self, store: Store, bell: RecordingBell) -> None:
        def tell_and_listen(tx: Transaction) -> list[Ring]:
            tell(tx, "tea")
            return list(bell.rings)

        assert store.call(tell_and_listen) == []
        assert asyncio.run(store.run(tell_and_listen))[1:] == []
        assert len(bell.rings) == 2

    def test_it_has_rung_when_the_answer_comes(self, store: Store, bell: RecordingBell) -> None:
        store.call(tell, "first")
        assert [(ring.recipient, ring.cause) for ring in bell.rings] == [("ann", "event")]
        asyncio.run(store.run(tell, "second", "bob"))
        assert [ring.recipient for ring in bell.rings] == ["ann", "bob"]

    def test_rings_come_in_order_and_only_of_what_was_stored(self, store: Store, bell: RecordingBell) -> None:
        def ring(tx: Transaction, name: str) -> None:
            tx.after_commit(Ring(name, "test"))

        async def scene() -> None:
            await together(
                store,
                store.run(ring, "1", lane=LANE),
                store.run(tell_and_refuse, "never", lane=LANE),
                store.run(ring, "2", lane=LANE),
                store.run(ring, "3", lane=LANE),
            )

        asyncio.run(scene())
        assert [ring.recipient for ring in bell.rings] == ["1", "2", "3"]

    def test_a_bell_that_fails_changes_nothing(self, store: Store, open: Open, clock: FakeClock) -> None:
        def broken(rings: Sequence[Ring]) -> None:
            raise RuntimeError("the bell is broken")

        ringing = open(clock=clock, bell=broken)
        assert ringing.call(tell, "first") == "first"
        assert asyncio.run(ringing.run(tell, "second")) == "second"
        assert ringing.query(told) == ["first", "second"]
        assert ringing.signal_failures == 2

    def test_the_bell_may_use_the_store_it_belongs_to(self, store: Store, open: Open, clock: FakeClock) -> None:
        seen: list[list[str]] = []
        done = threading.Event()

        def look(rings: Sequence[Ring]) -> None:
            seen.append(ringing.query(told))
            done.set()

        ringing = open(clock=clock, bell=look)
        ringing.call(tell, "first")
        assert done.wait(PATIENCE)
        asyncio.run(ringing.run(tell, "second"))
        assert seen == [["first"], ["first", "second"]]
