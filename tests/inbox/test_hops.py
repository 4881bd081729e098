"""I13: whatever reached an inbox, in whichever order, the hops of what its agent sends next are those of the rule."""

from typing import NamedTuple

from hypothesis import HealthCheck, given, settings, strategies as st

from gatepost.core.times import HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import MAX_HOPS, Push, compute_next_hops
from gatepost.inbox.push import actions as push
from gatepost.inbox.push.hop_actions import build_alert_topic
from gatepost.testing import Kit


class Arrival(NamedTuple):
    """Something that happens to an inbox."""

    #: a sender, or `read`: the agent claims all that waits
    kind: str
    hops: int
    #: how long after the one before
    delay: int


arrival_lists = st.lists(
    st.builds(
        Arrival,
        st.sampled_from(["agent", "person", "service", "itself", "read"]),
        st.sampled_from([0, 0, 1, 5, 16, 17, MAX_HOPS]),
        st.sampled_from([0, 1, MINUTE, 3 * MINUTE]),
    ),
    max_size=12,
)


def expected_hops(history: list[tuple[str, int, int, bool]], now: int) -> int:
    """The rule as it is written: (kind, hops, time, read) of every item, oldest first."""
    recent = [item for item in history if now - item[2] < 5 * MINUTE]
    person_indexes = [index for index, (kind, hops, *_) in enumerate(recent) if kind == "person" and hops == 0]
    chain = recent[person_indexes[-1] :] if person_indexes else recent
    previous_hops = [hops if kind != "itself" or read else hops - 1 for kind, hops, _, read in chain]
    return min(1 + max(previous_hops), MAX_HOPS) if previous_hops else 0


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(arrivals=arrival_lists, last=st.sampled_from([0, 1, MINUTE, 5 * MINUTE - 1, 5 * MINUTE]))
def test_what_an_agent_sends_continues_the_longest_chain(kit: Kit, arrivals: list[Arrival], last: int) -> None:
    """Every example has an agent of its own, because the store stays."""
    name = f"agent-{kit.store.run_sync(lambda tx: tx.new_id('run')).removeprefix('run_')}"
    known_names = {entity.name for entity in kit.store.read_sync(directory.list_page)}
    for other, kind in (("other", EntityKind.AGENT), ("husam", EntityKind.HUMAN)):
        if other not in known_names:
            kit.store.run_sync(directory.register, EntitySpec(name=other, kind=kind))
    kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    senders = {"agent": "other", "person": "husam", "service": None, "itself": name}
    history: list[tuple[str, int, int, bool]] = []
    for sender_kind, hops, delay in arrivals:
        kit.clock.advance(delay)
        if sender_kind == "read":
            kit.store.run_sync(inbox.claim, name, owner="me", limit=100)
            history = [(*item[:3], True) for item in history]
            continue
        result = kit.store.run_sync(
            push.push_event, Push(to=name, source="test", sender=senders[sender_kind], content="x", hops=hops)
        )
        [item] = kit.store.read_sync(inbox_items.show, result.event)
        history.append((sender_kind, item.event.hops, kit.clock.now(), False))
    kit.clock.advance(last)
    sent_result = kit.store.run_sync(push.push_event, Push(to="husam", source="test", sender=name, content="x"))
    [item] = kit.store.read_sync(inbox_items.show, sent_result.event)
    assert item.event.hops == expected_hops(history, kit.clock.now())


@given(st.integers(-1, MAX_HOPS))
def test_a_chain_grows_by_one_up_to_its_longest(longest: int) -> None:
    assert compute_next_hops(longest) == (longest + 1 if longest < MAX_HOPS else MAX_HOPS)


@given(st.integers(0, 10**16), st.integers(0, 2 * HOUR))
def test_events_of_one_pair_share_an_alert_within_an_hour(now: int, later: int) -> None:
    first, second = build_alert_topic("a", "b", now), build_alert_topic("a", "b", now + later)
    assert (first == second) == (now // HOUR == (now + later) // HOUR)
    assert len({build_alert_topic(sender, to, now) for sender in ("a", "b", None) for to in ("a", "b")}) == 6
