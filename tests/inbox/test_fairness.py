"""Which items a claim takes of a crowded inbox: the store looks at few of them, and yet chooses as the rule says."""

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox, event as core, event_rendering as render
from gatepost.inbox.event import Priority, Push
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import Kit
from tests.property.inbox_model import EventModel, InboxModel

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
        kit.store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        yield kit


names = (f"agent-{number}" for number in count())


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(crowds, st.integers(1, 24), st.sampled_from([600, 2_000, 9_000, 10**6]))
def test_a_claim_takes_what_the_rule_says(
    kit: Kit, crowds: list[tuple[str, int, Priority]], limit: int, budget: int
) -> None:
    name = next(names)
    kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    model = InboxModel()
    model.register(name, EntityKind.AGENT, None)
    pushes = [
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
    for arrival, (push, outcome) in enumerate(
        zip(pushes, kit.store.run_sync(push_actions.push_all, pushes), strict=True)
    ):
        assert isinstance(outcome, core.PushResult)
        sender = core.Sender("husam", "husam", EntityKind.HUMAN) if push.sender else None
        core_event = core.Event(
            id=outcome.event,
            type=push.type,
            source=push.source,
            sender=sender,
            content=push.content,
            priority=push.priority,
            created_at=kit.clock.now(),
        )
        model.accept(
            name,
            EventModel(
                core_event, arrival, push.source, sender is not None, len(render.render_event(core_event).encode())
            ),
            None,
            None,
        )

    batch = kit.store.run_sync(inbox.claim, name, owner="me", limit=limit, budget=budget)

    ids = {item.event.arrival: item.event.core_event.id for item in model.items}
    selected_items = model.select(name, limit, budget, kit.clock.now())
    assert [item.event.id for item in batch.items] == [ids[selected.arrival] for selected in selected_items]
    assert list(batch.size_limits) == [selected.size_limit for selected in selected_items]
    assert batch.deferred_count == min(1_000, len(pushes) - len(selected_items))
