"""
The compaction of a resident's mind: which old cycles are replaced by their summaries.

A mind is a sequence of cycles; a cycle is a sequence of turns (`residents/model_port.py`). When the mind exceeds its
limit, the oldest cycles are replaced by the summaries with which the agent itself ended them. That is a pure function
of the weights of the cycles, so the rule can be read and tested alone:

    [summaries] [old cycle] [old cycle] [recent] ... [recent]
    [summaries + two more             ] [recent] ... [recent]

No model is called, and the journal keeps every cycle as it was.
"""

import json
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.core.text import count_bytes
from gatepost.residents.agent_config import MindRules
from gatepost.residents.model_port import CallResult, ModelReply, Prompt, Turn, Usage

_HEADING: Final = "[EARLIER CYCLES: your own summaries, oldest first]"
#: characters that are kept of a text that is cut
_CUT_LENGTH: Final = 500
#: tokens that every message takes, however short it is
_TOKENS_PER_MESSAGE: Final = 5


class CycleWeight(Struct, frozen=True):
    """The tokens of a cycle in the mind, and the summary that replaces it when it is old."""

    run: int
    tokens: int
    summary: str


class MindSummaries(Struct, frozen=True, kw_only=True):
    """The summaries that replace the cycles up to and including `run`."""

    run: int = 0
    summaries: tuple[str, ...] = ()
    #: summaries that were dropped, because even they were too many
    dropped_count: int = 0

    @property
    def tokens(self) -> int:
        return sum(estimate_tokens(summary) for summary in self.summaries)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text has: one for four bytes, and a few for every message."""
    return count_bytes(text) // 4 + _TOKENS_PER_MESSAGE


def compute_byte_limit(token_limit: int) -> int:
    """Return the bytes that a message of a number of tokens may have."""
    return max(0, 4 * (token_limit - _TOKENS_PER_MESSAGE))


def weigh(turn: Turn) -> int:
    match turn:
        case Prompt(text=text):
            return estimate_tokens(text)
        case ModelReply(text=text, calls=calls):
            return estimate_tokens(text) + sum(estimate_tokens(call.tool + call.arguments) for call in calls)
        case CallResult(content=content):
            return estimate_tokens(content)


def estimate_usage(usage: Usage, system: str, turns: Sequence[Turn], reply: ModelReply) -> Usage:
    """Return the usage; numbers that are 0 and cannot be 0 are estimated from the weight."""
    has_output = bool(reply.text or reply.calls)
    return Usage(
        prompt=usage.prompt if usage.prompt > 0 else estimate_tokens(system) + sum(map(weigh, turns)),
        completion=usage.completion if usage.completion > 0 or not has_output else weigh(reply),
    )


def compact(cycles: Sequence[CycleWeight], mind_summaries: MindSummaries, rules: MindRules) -> MindSummaries:
    """
    Return the summaries that replace old cycles, oldest first; unchanged while everything fits. The last
    `rules.min_recent_cycles` cycles stay whole, or as many of them as fit into half the limit, and always the last one.
    """
    if mind_summaries.tokens + sum(cycle.tokens for cycle in cycles) <= rules.max_tokens:
        return mind_summaries
    room = rules.max_tokens // 2
    whole_count = 0
    for cycle in reversed(cycles[-rules.min_recent_cycles :]):
        room -= cycle.tokens
        if whole_count and room < 0:
            break
        whole_count += 1
    old_cycles = cycles[: len(cycles) - whole_count]
    if not old_cycles:
        return mind_summaries
    summaries = [*mind_summaries.summaries, *(cycle.summary for cycle in old_cycles if cycle.summary)]
    spare = rules.max_tokens // 4
    kept_summaries: list[str] = []
    for summary in reversed(summaries):
        spare -= estimate_tokens(summary)
        if spare < 0:
            break
        kept_summaries.append(summary)
    return MindSummaries(
        run=old_cycles[-1].run,
        summaries=tuple(reversed(kept_summaries)),
        dropped_count=mind_summaries.dropped_count + len(summaries) - len(kept_summaries),
    )


def render_summaries(mind_summaries: MindSummaries) -> Prompt | None:
    """Return the summaries of old cycles as the agent sees them; None if there are none."""
    if not mind_summaries.summaries and not mind_summaries.dropped_count:
        return None
    older_note = (
        [f"({mind_summaries.dropped_count} older ones are in the audit only)"] if mind_summaries.dropped_count else []
    )
    return Prompt("\n".join([_HEADING, *older_note, *(f"- {summary}" for summary in mind_summaries.summaries)]))


def trim_turns(turns: Sequence[Turn], token_limit: int) -> list[Turn]:
    """
    Return the turns, cut until they have at most `token_limit` tokens, if cutting is enough: first the results of
    tools, from the oldest on, then the arguments of old calls.
    """
    trimmed_turns = list(turns)
    excess = sum(map(weigh, turns)) - token_limit
    for cut_turn in (_cut_result, _cut_calls):
        for index, turn in enumerate(trimmed_turns):
            if excess <= 0:
                return trimmed_turns
            if (shorter := cut_turn(turn)) is not turn:
                trimmed_turns[index] = shorter
                excess -= weigh(turn) - weigh(shorter)
    return trimmed_turns


def take_recent_turns(turns: Sequence[Turn], token_limit: int) -> list[Turn]:
    """Return the last turns that have at most `token_limit` tokens, from a prompt on: no result lacks its call."""
    start, weight = len(turns), 0
    for index in reversed(range(len(turns))):
        weight += weigh(turns[index])
        if weight > token_limit:
            break
        if isinstance(turns[index], Prompt):
            start = index
    return list(turns[start:])


def _cut_result(turn: Turn) -> Turn:
    if not isinstance(turn, CallResult) or len(turn.content) <= 2 * _CUT_LENGTH:
        return turn
    return CallResult(turn.call, turn.tool, _shorten(turn.content), turn.ok)


def _cut_calls(turn: Turn) -> Turn:
    """Cut the arguments of long calls. They become other JSON, so the message is no longer unchanged (`raw`)."""
    if not isinstance(turn, ModelReply) or all(len(call.arguments) <= 2 * _CUT_LENGTH for call in turn.calls):
        return turn
    calls = tuple(
        replace(call, arguments=json.dumps({"cut": _shorten(call.arguments)}))
        if len(call.arguments) > 2 * _CUT_LENGTH
        else call
        for call in turn.calls
    )
    return replace(turn, calls=calls, raw=None)


def _shorten(text: str) -> str:
    return f"{text[:_CUT_LENGTH]} ... ({len(text) - _CUT_LENGTH} more characters are in the audit)"
