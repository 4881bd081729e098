"""How a mind is kept small: the rule alone, with any weights."""

from hypothesis import given
from hypothesis import strategies as st

from gatepost.core.agent import MindRules
from gatepost.core.mind import (
    CallResult,
    CycleWeight,
    MindSummaries,
    ModelReply,
    Prompt,
    Turn,
    compact,
    render_summaries,
    take_recent_turns,
    trim_turns,
    weigh,
)

RULES = st.builds(MindRules, max_tokens=st.integers(200, 2_000), min_recent_cycles=st.integers(1, 12))
CYCLES = st.lists(st.tuples(st.integers(1, 700), st.text(max_size=60)), max_size=60)


def total(carried: MindSummaries, cycles: list[CycleWeight]) -> int:
    return carried.tokens + sum(cycle.tokens for cycle in cycles)


@given(CYCLES, RULES)
def test_a_mind_stays_under_its_limit_cycle_by_cycle(given_: list[tuple[int, str]], rules: MindRules) -> None:
    carried, kept, said = MindSummaries(), [], []
    for number, (tokens, summary) in enumerate(given_, 1):
        kept.append(CycleWeight(number, tokens, summary))
        said.append(summary)
        before, carried = carried, compact(kept, carried, rules)
        kept = [cycle for cycle in kept if cycle.run > carried.run]
        assert kept, "the last cycle stays whole"
        assert kept[-1].run == number
        assert total(carried, kept) <= max(rules.max_tokens, rules.max_tokens // 4 + kept[-1].tokens)
        old = [summary for summary in said[: number - len(kept)] if summary]
        assert carried.dropped_count + len(carried.summaries) == len(old), "every summary is carried, or counted"
        assert list(carried.summaries) == old[carried.dropped_count :], "the newest are carried, in order"
        assert carried.dropped_count >= before.dropped_count


@given(CYCLES, RULES)
def test_while_everything_fits_nothing_changes(given_: list[tuple[int, str]], rules: MindRules) -> None:
    cycles = [CycleWeight(number, tokens, summary) for number, (tokens, summary) in enumerate(given_, 1)]
    changed = compact(cycles, MindSummaries(), rules) != MindSummaries()
    assert not (changed and total(MindSummaries(), cycles) <= rules.max_tokens)


@given(st.lists(st.integers(0, 20_000), max_size=12), st.integers(100, 5_000))
def test_results_are_cut_from_the_oldest_on_and_only_as_far_as_needed(sizes: list[int], most: int) -> None:
    turns: list[Turn] = [
        Prompt("INBOX"),
        ModelReply("thinking"),
        *(CallResult(str(n), "tool", "x" * size) for n, size in enumerate(sizes)),
    ]
    fit = trim_turns(turns, most)
    assert [type(turn) for turn in fit] == [type(turn) for turn in turns]
    assert fit[:2] == turns[:2]
    cut = [before != after for before, after in zip(turns, fit, strict=True)]
    if sum(map(weigh, turns)) <= most:
        assert not any(cut)
    whole = [n for n, turn in enumerate(turns) if isinstance(turn, CallResult) and len(turn.content) > 1_000]
    if sum(map(weigh, fit)) > most:
        assert all(cut[n] for n in whole), "all was cut that can be"
    assert [cut[n] for n in whole] == sorted((cut[n] for n in whole), reverse=True), "the oldest first"


@given(st.lists(st.sampled_from("prw"), max_size=40), st.integers(-10, 400))
def test_the_recent_past_is_as_long_as_fits_and_begins_with_a_prompt(kinds: list[str], most: int) -> None:
    made: dict[str, Turn] = {"p": Prompt("x" * 40), "r": ModelReply("x" * 80), "w": CallResult("1", "tool", "x" * 120)}
    turns = [made[kind] for kind in kinds]
    kept = take_recent_turns(turns, most)
    assert kept == turns[len(turns) - len(kept) :]
    assert sum(map(weigh, kept)) <= max(0, most)
    assert not kept or isinstance(kept[0], Prompt)
    longer = [place for place in range(len(turns) - len(kept)) if isinstance(turns[place], Prompt)]
    assert not longer or sum(map(weigh, turns[longer[-1] :])) > most


def test_what_is_carried_reads_as_the_agents_own_words() -> None:
    assert render_summaries(MindSummaries()) is None
    shown = render_summaries(MindSummaries(7, ("Responded to Ana about the plan.",), 3))
    assert shown is not None
    assert shown.text.splitlines() == [
        "[EARLIER CYCLES: your own summaries, oldest first]",
        "(3 older ones are in the audit only)",
        "- Responded to Ana about the plan.",
    ]
