"""Which items make a batch: the rule, looked at from every side."""

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from gatepost.core import batch
from gatepost.core.batch import Candidate, SelectedItem, select_batch

SOURCES = ["ana", "ben", "ci", "deploy"]
PEOPLE = {"ana", "ben"}

sizes = st.one_of(st.integers(12, 400), st.integers(12, 20_000))
caps = st.integers(1, 12)
budgets = st.one_of(st.integers(batch.MIN_BUDGET, 3_000), st.just(batch.GUEST_BUDGET), st.just(10**9))
UNBOUND = 10**9


def candidate(arrival: int, priority: int, source: str, size: int) -> Candidate:
    return Candidate(arrival, priority, source in PEOPLE, source, size)


waiting = st.lists(
    st.builds(candidate, st.integers(1, 1_000), st.integers(0, 4), st.sampled_from(SOURCES), sizes),
    unique_by=lambda item: item.arrival,
    max_size=25,
)


def rank(item: Candidate) -> tuple[int, bool, int]:
    return item.priority, not item.is_person, item.arrival


@given(waiting, caps, budgets)
def test_what_got_in_is_shown_in_order_and_once(items: list[Candidate], cap: int, budget: int) -> None:
    known = {item.arrival: item for item in items}
    chosen = select_batch(items, limit=cap, budget=budget)
    shown = [known[one.arrival] for one in chosen]
    assert shown == sorted(shown, key=lambda item: (item.priority, item.arrival))
    assert len(set(shown)) == len(shown)


@given(waiting, caps, budgets, st.randoms())
def test_neither_the_order_of_the_candidates_nor_repeats_matter(
    items: list[Candidate],
    cap: int,
    budget: int,
    random: Random,
) -> None:
    jumbled = [*items, *items[::2]]
    random.shuffle(jumbled)
    assert select_batch(jumbled, limit=cap, budget=budget) == select_batch(items, limit=cap, budget=budget)


@given(waiting, caps, budgets)
def test_a_batch_is_empty_only_when_nothing_waits(items: list[Candidate], cap: int, budget: int) -> None:
    assert bool(select_batch(items, limit=cap, budget=budget)) == bool(items)


@given(waiting, caps, budgets)
def test_the_budget_is_never_exceeded(items: list[Candidate], cap: int, budget: int) -> None:
    known = {item.arrival: item for item in items}
    chosen = select_batch(items, limit=cap, budget=budget)
    shown = [known[one.arrival].size if one.size_limit is None else one.size_limit for one in chosen]
    header = 80
    assert header + sum(size + 1 for size in shown) <= budget + 1


@given(waiting, caps, budgets)
def test_a_room_is_given_only_to_what_is_longer_and_is_enough_to_say_something(
    items: list[Candidate], cap: int, budget: int
) -> None:
    known = {item.arrival: item for item in items}
    for one in select_batch(items, limit=cap, budget=budget):
        if one.size_limit is not None:
            assert 160 <= one.size_limit < known[one.arrival].size


@given(waiting, caps)
def test_critical_items_get_in_whatever_the_cap(items: list[Candidate], cap: int) -> None:
    chosen = {one.arrival for one in select_batch(items, limit=cap, budget=UNBOUND)}
    assert {item.arrival for item in items if item.priority == 0} <= chosen


@given(waiting, caps, budgets)
def test_critical_items_come_before_all_others_as_the_budget_permits(
    items: list[Candidate], cap: int, budget: int
) -> None:
    chosen = {one.arrival for one in select_batch(items, limit=cap, budget=budget)}
    critical = {item.arrival for item in items if item.priority == 0}
    if not critical <= chosen:
        assert chosen <= critical


@given(waiting, caps)
def test_the_cap_is_filled_and_only_critical_items_go_over_it(items: list[Candidate], cap: int) -> None:
    chosen = select_batch(items, limit=cap, budget=UNBOUND)
    critical = sum(item.priority == 0 for item in items)
    assert len(chosen) == min(len(items), max(cap, critical))


@given(waiting, caps)
def test_no_source_takes_more_than_half_while_others_wait(items: list[Candidate], cap: int) -> None:
    chosen = {one.arrival for one in select_batch(items, limit=cap, budget=UNBOUND)}
    taken = [item for item in items if item.arrival in chosen]
    left = [item for item in items if item.arrival not in chosen]
    shares = Counter(item.source for item in taken)
    for source, share in shares.items():
        extra = share - sum(item.priority == 0 for item in taken if item.source == source)
        if share > max(1, cap // 2) and extra:
            assert all(shares[item.source] >= max(1, cap // 2) for item in left if item.source != source)


@given(waiting, caps)
def test_within_a_source_nobody_is_overtaken(items: list[Candidate], cap: int) -> None:
    chosen = {one.arrival for one in select_batch(items, limit=cap, budget=UNBOUND)}
    for source in SOURCES:
        own = sorted((item for item in items if item.source == source), key=rank)
        got_in = [item.arrival in chosen for item in own]
        assert got_in == sorted(got_in, reverse=True)


@given(waiting, caps)
def test_people_come_first_where_the_priority_is_the_same(items: list[Candidate], cap: int) -> None:
    chosen = {one.arrival for one in select_batch(items, limit=cap, budget=UNBOUND)}
    shares = Counter(item.source for item in items if item.arrival in chosen)
    for person in items:
        if person.is_person and person.arrival not in chosen and shares[person.source] < max(1, cap // 2):
            overtakers = [item for item in items if item.arrival in chosen and not item.is_person]
            assert all(item.priority < person.priority for item in overtakers)


@given(waiting, caps)
def test_without_need_nothing_is_held_back(items: list[Candidate], cap: int) -> None:
    assert len(select_batch(items, limit=max(cap, len(items)), budget=UNBOUND)) == len(items)


@given(waiting, caps, budgets)
def test_what_is_left_over_is_chosen_in_the_end(items: list[Candidate], cap: int, budget: int) -> None:
    left, batches = set(items), 0
    while left:
        chosen = {one.arrival for one in select_batch(left, limit=cap, budget=budget)}
        left = {item for item in left if item.arrival not in chosen}
        batches += 1
        assert batches <= len(items)


def test_a_batch_of_one_source_is_full() -> None:
    items = [Candidate(arrival, 2, False, "ci", 50) for arrival in range(1, 11)]
    assert select_batch(items, limit=4, budget=UNBOUND) == [
        SelectedItem(1),
        SelectedItem(2),
        SelectedItem(3),
        SelectedItem(4),
    ]


def test_a_loud_source_leaves_half_to_the_others() -> None:
    loud = [Candidate(arrival, 1, False, "ci", 50) for arrival in range(1, 11)]
    quiet = [Candidate(20, 3, False, "ben", 50), Candidate(21, 4, True, "ana", 50)]
    assert [one.arrival for one in select_batch([*loud, *quiet], limit=4, budget=UNBOUND)] == [1, 2, 20, 21]


def test_a_person_goes_before_a_machine_and_is_shown_in_order() -> None:
    items = [Candidate(1, 2, False, "ci", 50), Candidate(2, 2, False, "deploy", 50), Candidate(3, 2, True, "ana", 50)]
    assert [one.arrival for one in select_batch(items, limit=2, budget=UNBOUND)] == [1, 3]


def test_a_long_item_is_cut_to_a_third_of_the_budget() -> None:
    assert select_batch([Candidate(1, 2, False, "ci", 50_000)], limit=5, budget=9_000) == [
        SelectedItem(1, (9_000 - 80) // 3)
    ]


def test_a_critical_item_is_cut_to_what_is_left() -> None:
    items = [Candidate(arrival, 0, False, "ci", 50_000) for arrival in range(1, 6)]
    chosen = select_batch(items, limit=2, budget=1_000)
    assert [one.arrival for one in chosen] == [1, 2, 3]
    assert all(one.size_limit is not None for one in chosen)
