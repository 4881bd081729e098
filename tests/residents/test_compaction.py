"""How a mind is kept small: the rule alone, with any weights."""

from hypothesis import given, strategies as st

from gatepost.residents.agent_config import MindRules
from gatepost.residents.mind_compaction import (
    CycleWeight,
    MindSummaries,
    compact,
    render_summaries,
    take_recent_turns,
    trim_turns,
    weigh,
)
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, Turn

RULES = st.builds(MindRules, max_tokens=st.integers(200, 2_000), min_recent_cycles=st.integers(1, 12))
CYCLES = st.lists(st.tuples(st.integers(1, 700), st.text(max_size=60)), max_size=60)


def count_tokens(mind_summaries: MindSummaries, cycles: list[CycleWeight]) -> int:
    return mind_summaries.tokens + sum(cycle.tokens for cycle in cycles)


@given(CYCLES, RULES)
def test_a_mind_stays_under_its_limit_cycle_by_cycle(cycle_data: list[tuple[int, str]], rules: MindRules) -> None:
    mind_summaries, recent_cycles, summaries = MindSummaries(), [], []
    for number, (tokens, summary) in enumerate(cycle_data, 1):
        recent_cycles.append(CycleWeight(number, tokens, summary))
        summaries.append(summary)
        before, mind_summaries = mind_summaries, compact(recent_cycles, mind_summaries, rules)
        recent_cycles = [cycle for cycle in recent_cycles if cycle.run > mind_summaries.run]
        assert recent_cycles, "the last cycle stays whole"
        assert recent_cycles[-1].run == number
        assert count_tokens(mind_summaries, recent_cycles) <= max(
            rules.max_tokens, rules.max_tokens // 4 + recent_cycles[-1].tokens
        )
        old = [summary for summary in summaries[: number - len(recent_cycles)] if summary]
        assert mind_summaries.dropped_count + len(mind_summaries.summaries) == len(old), (
            "every summary is carried, or counted"
        )
        assert list(mind_summaries.summaries) == old[mind_summaries.dropped_count :], "the newest are carried, in order"
        assert mind_summaries.dropped_count >= before.dropped_count


@given(CYCLES, RULES)
def test_while_everything_fits_nothing_changes(cycle_data: list[tuple[int, str]], rules: MindRules) -> None:
    cycles = [CycleWeight(number, tokens, summary) for number, (tokens, summary) in enumerate(cycle_data, 1)]
    changed = compact(cycles, MindSummaries(), rules) != MindSummaries()
    assert not (changed and count_tokens(MindSummaries(), cycles) <= rules.max_tokens)


@given(st.lists(st.integers(0, 20_000), max_size=12), st.integers(100, 5_000))
def test_results_are_cut_from_the_oldest_on_and_only_as_far_as_needed(sizes: list[int], limit: int) -> None:
    turns: list[Turn] = [
        Prompt("INBOX"),
        ModelReply("thinking"),
        *(CallResult(str(n), "tool", "x" * size) for n, size in enumerate(sizes)),
    ]
    fitted_turns = trim_turns(turns, limit)
    assert [type(turn) for turn in fitted_turns] == [type(turn) for turn in turns]
    assert fitted_turns[:2] == turns[:2]
    is_truncated = [before != after for before, after in zip(turns, fitted_turns, strict=True)]
    if sum(map(weigh, turns)) <= limit:
        assert not any(is_truncated)
    long_results = [n for n, turn in enumerate(turns) if isinstance(turn, CallResult) and len(turn.content) > 1_000]
    if sum(map(weigh, fitted_turns)) > limit:
        assert all(is_truncated[n] for n in long_results), "all was cut that can be"
    assert [is_truncated[n] for n in long_results] == sorted((is_truncated[n] for n in long_results), reverse=True), (
        "the oldest first"
    )


@given(st.lists(st.sampled_from("prw"), max_size=40), st.integers(-10, 400))
def test_the_recent_past_is_as_long_as_fits_and_begins_with_a_prompt(kinds: list[str], limit: int) -> None:
    turn_by_kind: dict[str, Turn] = {
        "p": Prompt("x" * 40),
        "r": ModelReply("x" * 80),
        "w": CallResult("1", "tool", "x" * 120),
    }
    turns = [turn_by_kind[kind] for kind in kinds]
    recent_turns = take_recent_turns(turns, limit)
    assert recent_turns == turns[len(turns) - len(recent_turns) :]
    assert sum(map(weigh, recent_turns)) <= max(0, limit)
    assert not recent_turns or isinstance(recent_turns[0], Prompt)
    longer = [index for index in range(len(turns) - len(recent_turns)) if isinstance(turns[index], Prompt)]
    assert not longer or sum(map(weigh, turns[longer[-1] :])) > limit


def test_what_is_carried_reads_as_the_agents_own_words() -> None:
    assert render_summaries(MindSummaries()) is None
    prompt = render_summaries(MindSummaries(run=7, summaries=("Responded to Ana about the plan.",), dropped_count=3))
    assert prompt is not None
    assert prompt.text.splitlines() == [
        "[EARLIER CYCLES: your own summaries, oldest first]",
        "(3 older ones are in the audit only)",
        "- Responded to Ana about the plan.",
    ]
