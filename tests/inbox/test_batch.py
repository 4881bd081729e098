"""Which items make a batch: the rule, looked at from every side."""

from collections import Counter
from random import Random

from hypothesis import given, strategies as st

from gatepost.inbox import batch_selection as batch
from gatepost.inbox.batch_selection import Candidate, SelectedItem, select_batch

SOURCES = ["ana", "ben", "ci", "deploy"]
PEOPLE = {"ana", "ben"}

sizes = st.one_of(st.integers(12, 400), st.integers(12, 20_000))
limits = st.integers(1, 12)
budgets = st.one_of(st.integers(batch.MIN_BUDGET, 3_000), st.just(batch.GUEST_BUDGET), st.just(10**9))
UNBOUND = 10**9


def build_candidate(arrival: int, priority: int, source: str, size: int) -> Candidate:
    return Candidate(arrival, priority, source in PEOPLE, source, size)


candidate_lists = st.lists(
    st.builds(build_candidate, st.integers(1, 1_000), st.integers(0, 4), st.sampled_from(SOURCES), sizes),
    unique_by=lambda item: item.arrival,
    max_size=25,
)


def get_rank(item: Candidate) -> tuple[int, bool, int]:
    return item.priority, not item.is_person, item.arrival


@given(candidate_lists, limits, budgets)
def test_what_got_in_is_shown_in_order_and_once(items: list[Candidate], limit: int, budget: int) -> None:
    by_arrival = {item.arrival: item for item in items}
    selected_items = select_batch(items, limit=limit, budget=budget)
    selected_candidates = [by_arrival[selected.arrival] for selected in selected_items]
    assert selected_candidates == sorted(selected_candidates, key=lambda item: (item.priority, item.arrival))
    assert len(set(selected_candidates)) == len(selected_candidates)


@given(candidate_lists, limits, budgets, st.randoms())
def test_neither_the_order_of_the_candidates_nor_repeats_matter(
    items: list[Candidate],
    limit: int,
    budget: int,
    random: Random,
) -> None:
    jumbled = [*items, *items[::2]]
    random.shuffle(jumbled)
    assert select_batch(jumbled, limit=limit, budget=budget) == select_batch(items, limit=limit, budget=budget)


@given(candidate_lists, limits, budgets)
def test_a_batch_is_empty_only_when_nothing_waits(items: list[Candidate], limit: int, budget: int) -> None:
    assert bool(select_batch(items, limit=limit, budget=budget)) == bool(items)


@given(candidate_lists, limits, budgets)
def test_the_budget_is_never_exceeded(items: list[Candidate], limit: int, budget: int) -> None:
    by_arrival = {item.arrival: item for item in items}
    selected_items = select_batch(items, limit=limit, budget=budget)
    sizes = [
        by_arrival[selected.arrival].size if selected.size_limit is None else selected.size_limit
        for selected in selected_items
    ]
    header = 80
    assert header + sum(size + 1 for size in sizes) <= budget + 1


@given(candidate_lists, limits, budgets)
def test_a_room_is_given_only_to_what_is_longer_and_is_enough_to_say_something(
    items: list[Candidate], limit: int, budget: int
) -> None:
    by_arrival = {item.arrival: item for item in items}
    for selected in select_batch(items, limit=limit, budget=budget):
        if selected.size_limit is not None:
            assert 160 <= selected.size_limit < by_arrival[selected.arrival].size


@given(candidate_lists, limits)
def test_critical_items_get_in_whatever_the_cap(items: list[Candidate], limit: int) -> None:
    selected_arrivals = {selected.arrival for selected in select_batch(items, limit=limit, budget=UNBOUND)}
    assert {item.arrival for item in items if item.priority == 0} <= selected_arrivals


@given(candidate_lists, limits, budgets)
def test_critical_items_come_before_all_others_as_the_budget_permits(
    items: list[Candidate], limit: int, budget: int
) -> None:
    selected_arrivals = {selected.arrival for selected in select_batch(items, limit=limit, budget=budget)}
    critical = {item.arrival for item in items if item.priority == 0}
    if not critical <= selected_arrivals:
        assert selected_arrivals <= critical


@given(candidate_lists, limits)
def test_the_cap_is_filled_and_only_critical_items_go_over_it(items: list[Candidate], limit: int) -> None:
    selected_items = select_batch(items, limit=limit, budget=UNBOUND)
    critical = sum(item.priority == 0 for item in items)
    assert len(selected_items) == min(len(items), max(limit, critical))


@given(candidate_lists, limits)
def test_no_source_takes_more_than_half_while_others_wait(items: list[Candidate], limit: int) -> None:
    selected_arrivals = {selected.arrival for selected in select_batch(items, limit=limit, budget=UNBOUND)}
    selected_candidates = [item for item in items if item.arrival in selected_arrivals]
    remaining = [item for item in items if item.arrival not in selected_arrivals]
    shares = Counter(item.source for item in selected_candidates)
    for source, share in shares.items():
        extra = share - sum(item.priority == 0 for item in selected_candidates if item.source == source)
        if share > max(1, limit // 2) and extra:
            assert all(shares[item.source] >= max(1, limit // 2) for item in remaining if item.source != source)


@given(candidate_lists, limits)
def test_within_a_source_nobody_is_overtaken(items: list[Candidate], limit: int) -> None:
    selected_arrivals = {selected.arrival for selected in select_batch(items, limit=limit, budget=UNBOUND)}
    for source in SOURCES:
        source_items = sorted((item for item in items if item.source == source), key=get_rank)
        is_selected = [item.arrival in selected_arrivals for item in source_items]
        assert is_selected == sorted(is_selected, reverse=True)


@given(candidate_lists, limits)
def test_people_come_first_where_the_priority_is_the_same(items: list[Candidate], limit: int) -> None:
    selected_arrivals = {selected.arrival for selected in select_batch(items, limit=limit, budget=UNBOUND)}
    shares = Counter(item.source for item in items if item.arrival in selected_arrivals)
    for person in items:
        if person.is_person and person.arrival not in selected_arrivals and shares[person.source] < max(1, limit // 2):
            overtakers = [item for item in items if item.arrival in selected_arrivals and not item.is_person]
            assert all(item.priority < person.priority for item in overtakers)


@given(candidate_lists, limits)
def test_without_need_nothing_is_held_back(items: list[Candidate], limit: int) -> None:
    assert len(select_batch(items, limit=max(limit, len(items)), budget=UNBOUND)) == len(items)


@given(candidate_lists, limits, budgets)
def test_what_is_left_over_is_chosen_in_the_end(items: list[Candidate], limit: int, budget: int) -> None:
    remaining, batches = set(items), 0
    while remaining:
        selected_arrivals = {selected.arrival for selected in select_batch(remaining, limit=limit, budget=budget)}
        remaining = {item for item in remaining if item.arrival not in selected_arrivals}
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
    assert [selected.arrival for selected in select_batch([*loud, *quiet], limit=4, budget=UNBOUND)] == [1, 2, 20, 21]


def test_a_person_goes_before_a_machine_and_is_shown_in_order() -> None:
    items = [Candidate(1, 2, False, "ci", 50), Candidate(2, 2, False, "deploy", 50), Candidate(3, 2, True, "ana", 50)]
    assert [selected.arrival for selected in select_batch(items, limit=2, budget=UNBOUND)] == [1, 3]


def test_a_long_item_is_cut_to_a_third_of_the_budget() -> None:
    assert select_batch([Candidate(1, 2, False, "ci", 50_000)], limit=5, budget=9_000) == [
        SelectedItem(1, (9_000 - 80) // 3)
    ]


def test_a_critical_item_is_cut_to_what_is_left() -> None:
    items = [Candidate(arrival, 0, False, "ci", 50_000) for arrival in range(1, 6)]
    selected_items = select_batch(items, limit=2, budget=1_000)
    assert [selected.arrival for selected in selected_items] == [1, 2, 3]
    assert all(selected.size_limit is not None for selected in selected_items)
