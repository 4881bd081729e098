"""Which items a claim takes of a crowded inbox: the store looks at few of them, and yet chooses as the rule says."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gatepost.actions import directory, inbox, push
from gatepost.actions.directory import EntitySpec
from gatepost.core import event as core
from gatepost.core import render
from gatepost.core.entity import EntityKind
from gatepost.core.event import Priority, Push
from gatepost.testing import Kit
from tests.property.model import Event, Model

PEOPLE = {"husam": "husam"}

#: Who pushes how many, and how urgent they are.
crowds = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", "husam"]), st.integers(1, 40), st.sampled_from(Priority)),
    min_size=1,
    max_size=6,
)


@pytest.fixture(scope="module")
def kit() -> Iterator[Kit]:
    with Kit() as kit:
        kit.store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        yield kit


names = (f"agent-{number}" for number in count())


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(crowds, st.integers(1, 24), st.sampled_from([600, 2_000, 9_000, 10**6]))
def test_a_claim_takes_what_the_rule_says(
    kit: Kit, crowds: list[tuple[str, int, Priority]], cap: int, budget: int
) -> None:
    name = next(names)
    kit.store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    model = Model()
    model.register(name, EntityKind.AGENT, None)
    wishes = [
        Push(
            to=name,
            source=source,
            sender="husam" if source == "husam" else None,
            content=str(number),
            priority=priority,
        )
        for source, size, priority in crowds
        for number in range(size)
    ]
    for arrival, (wish, outcome) in enumerate(zip(wishes, kit.store.call(push.push_all, wishes), strict=True)):
        assert isinstance(outcome, core.PushResult)
        sender = core.Sender("husam", "husam", EntityKind.HUMAN) if wish.sender else None
        told = core.Event(
            id=outcome.event,
            type=wish.type,
            source=wish.source,
            sender=sender,
            content=wish.content,
            priority=wish.priority,
            created_at=kit.clock.now(),
        )
        model.accept(
            name,
            Event(told, arrival, wish.source, sender is not None, len(render.render_event(told).encode())),
            None,
            None,
        )

    batch = kit.store.call(inbox.claim, name, owner="me", limit=cap, budget=budget)

    ids = {item.event.arrival: item.event.told.id for item in model.items}
    chosen = model.chosen(name, cap, budget, kit.clock.now())
    assert [item.event.id for item in batch.items] == [ids[one.arrival] for one in chosen]
    assert list(batch.size_limits) == [one.size_limit for one in chosen]
    assert batch.deferred_count == min(1_000, len(wishes) - len(chosen))
