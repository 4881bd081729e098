"""
What a mind is made of, and how it is kept small.

A mind is a sequence of cycles; a cycle is a sequence of turns: what the agent was shown, what its model replied, what
its tools returned. When the mind outgrows its limit, the oldest cycles are replaced by the summaries the agent itself
ended them with. That is a pure function of what each cycle weighs, so that the rule can be read, and proved, alone:

    [carried summaries] [old cycle] [old cycle] [recent] ... [recent]
    [carried summaries + two more             ] [recent] ... [recent]

No model is called, and the journal keeps every cycle as it was.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from gatepost.core.agent import MindRules

_HEADING: Final = "[EARLIER CYCLES: your own summaries, oldest first]"
#: what is cut keeps so many characters
_CUT: Final = 500
#: tokens that every message takes, however short it is
_PER_MESSAGE: Final = 5


@dataclass(frozen=True, slots=True)
class Prompt:
    """Something the agent is shown: its inbox, or a note of ours."""

    text: str
    #: the events that are in it
    events: tuple[str, ...] = ()
    #: the gates whose instructions are in it
    gates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A tool the model wants to use."""

    id: str
    tool: str
    #: JSON, as the model wrote it: it may be anything
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    prompt: int = 0
    completion: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model said."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = Usage()
    #: the model that said it
    model: str = ""
    #: the message as the adapter of the model wants it back, word for word
    raw: str | None = None
    #: calls beyond the limit of one reply, which are not done
    dropped_calls: int = 0


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to: JSON."""

    call: str
    tool: str
    content: str
    ok: bool = True


Turn = Prompt | Reply | Result


@dataclass(frozen=True, slots=True)
class Weight:
    """What a cycle in the mind weighs, and what is left of it when it is old."""

    run: int
    tokens: int
    summary: str


@dataclass(frozen=True, slots=True)
class Carried:
    """What is left of the cycles up to and including `run`."""

    run: int = 0
    summaries: tuple[str, ...] = ()
    #: summaries that were let go in the end, because even they were too many
    dropped: int = 0

    @property
    def tokens(self) -> int:
        return sum(tokens(summary) for summary in self.summaries)


def tokens(text: str) -> int:
    """About how many tokens a text has: four bytes each, and a little for every message."""
    return (len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))) // 4 + _PER_MESSAGE


def byte_limit(most: int) -> int:
    """Return the bytes that a message of so many tokens may have."""
    return max(0, 4 * (most - _PER_MESSAGE))


def weigh(turn: Turn) -> int:
    match turn:
        case Prompt(text=text):
            return tokens(text)
        case Reply(text=text, calls=calls):
            return tokens(text) + sum(tokens(call.tool + call.arguments) for call in calls)
        case Result(content=content):
            return tokens(content)


def estimate_usage(usage: Usage, system: str, shown: Sequence[Turn], reply: Reply) -> Usage:
    """Return the usage with what is 0 in it estimated, by weight, where it cannot be 0."""
    said = bool(reply.text or reply.calls)
    return Usage(
        prompt=usage.prompt if usage.prompt > 0 else tokens(system) + sum(map(weigh, shown)),
        completion=usage.completion if usage.completion > 0 or not said else weigh(reply),
    )


def compact(cycles: Sequence[Weight], carried: Carried, rules: MindRules) -> Carried:
    """
    What to carry instead of old cycles, oldest first: the same as before while everything fits. What stays whole is
    the last `recent` cycles, or as many of them as fit into half the limit, and always the last one.
    """
    if carried.tokens + sum(cycle.tokens for cycle in cycles) <= rules.max_tokens:
        return carried
    room = rules.max_tokens // 2
    whole = 0
    for cycle in reversed(cycles[-rules.recent :]):
        room -= cycle.tokens
        if whole and room < 0:
            break
        whole += 1
    old = cycles[: len(cycles) - whole]
    if not old:
        return carried
    summaries = [*carried.summaries, *(cycle.summary for cycle in old if cycle.summary)]
    spare = rules.max_tokens // 4
    kept: list[str] = []
    for summary in reversed(summaries):
        spare -= tokens(summary)
        if spare < 0:
            break
        kept.append(summary)
    return Carried(old[-1].run, tuple(reversed(kept)), carried.dropped + len(summaries) - len(kept))


def recalled(carried: Carried) -> Prompt | None:
    """What is left of old cycles, as the agent is shown it."""
    if not carried.summaries and not carried.dropped:
        return None
    older = [f"({carried.dropped} older ones are in the audit only)"] if carried.dropped else []
    return Prompt("\n".join([_HEADING, *older, *(f"- {summary}" for summary in carried.summaries)]))


def fitted(turns: Sequence[Turn], most: int) -> list[Turn]:
    """
    The same turns, cut until they weigh no more than `most`, if that is enough: first the results of tools, from the
    oldest on, then what old calls were made with.
    """
    fit = list(turns)
    excess = sum(map(weigh, turns)) - most
    for cut in (_cut_result, _cut_calls):
        for place, turn in enumerate(fit):
            if excess <= 0:
                return fit
            if (shorter := cut(turn)) is not turn:
                fit[place] = shorter
                excess -= weigh(turn) - weigh(shorter)
    return fit


def recent(turns: Sequence[Turn], most: int) -> list[Turn]:
    """As many of the last turns as weigh no more than `most`, from a prompt on: no result stands without its call."""
    start, weight = len(turns), 0
    for place in reversed(range(len(turns))):
        weight += weigh(turns[place])
        if weight > most:
            break
        if isinstance(turns[place], Prompt):
            start = place
    return list(turns[start:])


def _cut_result(turn: Turn) -> Turn:
    if not isinstance(turn, Result) or len(turn.content) <= 2 * _CUT:
        return turn
    return Result(turn.call, turn.tool, _shortened(turn.content), turn.ok)


def _cut_calls(turn: Turn) -> Turn:
    """Arguments are JSON that a model wrote. Cut, they are other JSON, and the message is no longer word for word."""
    if not isinstance(turn, Reply) or all(len(call.arguments) <= 2 * _CUT for call in turn.calls):
        return turn
    calls = tuple(
        replace(call, arguments=json.dumps({"cut": _shortened(call.arguments)}))
        if len(call.arguments) > 2 * _CUT
        else call
        for call in turn.calls
    )
    return replace(turn, calls=calls, raw=None)


def _shortened(text: str) -> str:
    return f"{text[:_CUT]} ... ({len(text) - _CUT} more characters are in the audit)"
