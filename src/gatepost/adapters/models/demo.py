"""
The model that needs no key: it follows a few rules, always the same ones, and says that it is a demo.

    a person says something                    it answers in that space; "(demo)" stands before all it says
    ... and names another agent                it stays silent, and so it does when an agent speaks
    "remind us in 5 minutes", "every day at 9" it sets a plan as well
    "remember that ..."                        it keeps that as a memory as well
    "decide", "should we ...?"                 it asks for a decision as well, if it can
    a plan is due, a service calls, an answer  it says so in the space the plan was made in, else in its first one
    a gate reminds it before it ends           it says again what it said last, and waits

It answers everything in one reply of several calls, closes with its summary in the next, and skips if nothing is for
it. What it replies depends on what it is asked and on nothing else, the ids of its calls included.
"""

import json
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

from gatepost.adapters.models.reading import Answered, Called, Due, News, Said, Surroundings, news, surroundings
from gatepost.core.agent import DEMO
from gatepost.core.event import Json
from gatepost.core.gate import REMINDER
from gatepost.core.mind import Call, Prompt, Reply, Result, Turn, Usage, tokens, weigh
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput, TextDelta

_LABEL: Final = "(demo)"
#: characters of somebody's words that are said again
_CUT: Final = 200
#: characters of one streamed piece
_PIECE: Final = 24

_GREETING: Final = re.compile(r"(?:hi|hello|hey|good (?:morning|day|afternoon|evening))\b", re.IGNORECASE)
_REMEMBER: Final = re.compile(r"\bremember (?:that )?(?P<what>\S[^\n]*)", re.IGNORECASE)
_DECIDE: Final = re.compile(r"\b(?:decide|decision|should (?:we|i))\b", re.IGNORECASE)
_LATER: Final = re.compile(r"\bin (?P<wait>\d{1,4} (?:second|minute|hour|day|week)s?)\b", re.IGNORECASE)
_ASKED_LATER: Final = re.compile(r"\b(?:remind|tell|post|report|check|say|send)\b", re.IGNORECASE)
_AGAIN: Final = re.compile(
    r"\bevery (?P<day>day|morning|weekday|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"(?: at (?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>am|pm)?)?\b",
    re.IGNORECASE,
)
_DAYS: Final = {"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6}
_OUTCOMES: Final = {"defaulted": "left to its default", "again": "sent back"}
_MENTION: Final = re.compile(r"(?<!\w)@([\w.-]*\w)")
_ADDRESSED: Final = re.compile(r"(?:(?:hi|hello|hey|ok|dear) )?(?P<name>\w[\w .-]*?)[,:]", re.IGNORECASE)
_HERE: Final = re.compile(r"\(in space (?P<space>[^\s)]+)\)$")


@dataclass(frozen=True, slots=True)
class _Deed:
    """What the demo does about one piece of news: where it speaks, after what, and how it sums that up."""

    space: str
    says: str
    first: tuple[tuple[str, Json], ...]
    summary: str


class DemoModel:
    def __init__(self, name: str = DEMO) -> None:
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def respond(self, ask: ChatRequest) -> AsyncGenerator[ModelOutput]:
        text, calls = _answer(ask)
        for piece in _pieces(text):
            yield TextDelta(piece)
        for call in calls:
            written = ""
            for piece in _pieces(call.arguments):
                written += piece
                yield CallDelta(call.id, call.tool, written)
        read = tokens(ask.system) + sum(weigh(turn) for turn in ask.turns)
        yield Reply(text, calls, Usage(read, weigh(Reply(text, calls))), self._name)

    async def close(self) -> None:
        """There is nothing to close."""


def _answer(ask: ChatRequest) -> tuple[str, tuple[Call, ...]]:
    """The text and the calls of its reply, of which there is one or the other."""
    offered = {spec.name: spec.schema for spec in ask.tools}
    around = surroundings(ask.system)
    fresh = ask.turns[_after_last(ask.turns, closed=False) :]
    deeds = list(_deeds(news(fresh), around, offered))
    if deeds:
        return "", _numbered(ask, _uses(deeds, offered))
    if any(isinstance(turn, Prompt) and turn.text.startswith(REMINDER) for turn in fresh):
        return _closing(ask.turns), ()
    cycle = ask.turns[_after_last(ask.turns, closed=True) :]
    if len(cycle) == len(fresh) and "skip" in offered:
        return "", _numbered(ask, [("skip", {"reason": "nothing here is for me"})])
    return _summary(list(_deeds(news(cycle), around, offered)), cycle), ()


def _closing(turns: Sequence[Turn]) -> str:
    """What it said last: a gate reminds it, and there is nothing that it could do but wait."""
    return next(turn.text for turn in reversed(turns) if isinstance(turn, Reply))


def _after_last(turns: Sequence[Turn], *, closed: bool) -> int:
    """Where what came after the last reply begins; or, of those that closed a cycle, after the last of them."""
    for place in reversed(range(len(turns))):
        turn = turns[place]
        if isinstance(turn, Reply) and not (closed and turn.calls):
            return place + 1
    return 0


def _deeds(heard: Iterator[News], around: Surroundings, offered: dict[str, Json]) -> Iterator[_Deed]:
    for one in heard:
        match one:
            case Said() if one.person and not _for_another(one.text, around):
                yield _answered(one, around, offered)
            case Said():
                pass
            case Due(name=name, instruction=instruction):
                here = _HERE.search(instruction)
                words = _HERE.sub("", instruction).strip()
                space = here["space"] if here and here["space"] in around.spaces else None
                yield from _told(around, words or name, f"Acted on the plan {_quoted(name)}.", space)
            case Called(service=service, payload=payload):
                words = f"{service} reports: {_short(payload)}"
                yield from _told(around, words, f"Responded to {service} about its report.")
            case Answered(outcome="answered", who=who, text=text):
                words = f"{who} has decided: {_short(text)}"
                yield from _told(around, words, f"Responded to {who} about the decision.")
            case Answered(outcome=outcome, text=text):
                words = f"the decision was {_OUTCOMES.get(outcome, outcome)}" + (f": {_short(text)}" if text else "")
                yield from _told(around, words, f"Said that the decision was {_OUTCOMES.get(outcome, outcome)}.")


def _told(around: Surroundings, words: str, summary: str, space: str | None = None) -> Iterator[_Deed]:
    where = space or next(iter(around.spaces), None)
    if where is not None:
        yield _Deed(where, f"{_LABEL} {words}", (), summary)


def _answered(said: Said, around: Surroundings, offered: dict[str, Json]) -> _Deed:
    words = [f"{_LABEL} Hello {said.who}!"] if _GREETING.match(said.text) else [f"{_LABEL} {said.who},"]
    first: list[tuple[str, Json]] = []
    if (when := _when(said.text)) and "set_plans" in offered:
        instruction = f"{said.who} asked: {_short(said.text)} (in space {said.space})"
        plan: dict[str, Json] = {"name": _short(said.text, 60), "instruction": instruction, **when}
        first.append(("set_plans", {"plans": [plan]}))
        words.append("I have made a plan of it.")
    if (found := _REMEMBER.search(said.text)) and "set_memories" in offered:
        what = _short(found["what"].strip(), 1000)
        first.append(("set_memories", {"memories": [{"key": _key(what), "value": what}]}))
        words.append("I will remember that.")
    if _DECIDE.search(said.text) and "ask_decision" in offered:
        first.append(("ask_decision", _question(said.text, offered["ask_decision"])))
        words.append("I have asked for a decision.")
    if not first:
        words.append(f"I heard you say {_quoted(_short(said.text))}.")
        words.append(f"I am {around.display or 'a resident'}, and no language model: I follow a few rules.")
    pending = " A decision is pending." if any(tool == "ask_decision" for tool, _ in first) else " Nothing is pending."
    done = f"Used {', '.join(tool for tool, _ in first)}." if first else "Answered in the space."
    summary = f"Responded to {said.who} about {_quoted(_short(said.text, 60))}. {done}{pending}"
    return _Deed(said.space, " ".join(words), tuple(first), summary)


def _for_another(text: str, around: Surroundings) -> bool:
    """Whether the message names another agent, and not this one."""
    me = {around.name.lower(), around.display.lower()}
    named = {name.lower() for name in _MENTION.findall(text)}
    if addressed := _ADDRESSED.match(text):
        name = addressed["name"].strip().lower()
        if name in me or name in {other.lower() for other in around.others}:
            named.add(name)
    return bool(named) and not named & (me | {"all", "everyone", "everybody"})


def _when(text: str) -> dict[str, Json] | None:
    """What kind of plan somebody asks for, if it is one."""
    if again := _AGAIN.search(text):
        hour = int(again["hour"] or 9) % 24
        if again["half"]:
            hour = hour % 12 + (12 if again["half"].lower() == "pm" else 0)
        day = again["day"].lower()
        days = "*" if day in {"day", "morning"} else "1-5" if day == "weekday" else str(_DAYS[day])
        return {"cron": f"{int(again['minute'] or 0) % 60} {hour} * * {days}"}
    if (later := _LATER.search(text)) and _ASKED_LATER.search(text):
        return {"runAfter": later["wait"].lower()}
    return None


def _question(text: str, schema: Json) -> Json:
    """The arguments for `ask_decision`, as far as its schema has a place for them."""
    known: Any = schema.get("properties") if isinstance(schema, dict) else None
    names = known if isinstance(known, dict) else {}
    asked: dict[str, Json] = {name: text for name in ("question", "text") if name in names}
    if len(asked) != 1:
        asked = {"question": text}
    if "options" in names:
        asked["options"] = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
    return asked


def _uses(deeds: Sequence[_Deed], offered: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    """The calls of all deeds in order; a space is entered once for all that is said there in a row."""
    where: str | None = None
    for deed in deeds:
        yield from deed.first
        if "enter_space" in offered and deed.space != where:
            yield "enter_space", {"spaceId": deed.space}
            where = deed.space
        if "send_message" in offered:
            yield "send_message", {"text": deed.says}


def _numbered(ask: ChatRequest, uses: Iterator[tuple[str, Json]] | Sequence[tuple[str, Json]]) -> tuple[Call, ...]:
    """The calls, with ids that nobody else has: they stem from all that was asked."""
    seed = blake2b(ask.system.encode(), digest_size=16)
    for turn in ask.turns:
        seed.update(repr(turn).encode())
    calls = []
    for tool, arguments in uses:
        seed.update(tool.encode())
        calls.append(Call(f"call_{seed.hexdigest()}", tool, json.dumps(arguments, ensure_ascii=False)))
    return tuple(calls)


def _summary(deeds: Sequence[_Deed], cycle: Sequence[Turn]) -> str:
    if not deeds:
        return "Responded to nobody. Nothing is pending."
    failed = sum(isinstance(turn, Result) and not turn.ok for turn in cycle)
    return " ".join([deed.summary for deed in deeds] + ([f"{failed} of the calls failed."] if failed else []))


def _key(what: str) -> str:
    return "-".join(re.findall(r"\w+", what.lower())[:5])[:100] or "note"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _short(text: str, most: int = _CUT) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."


def _pieces(text: str) -> Iterator[str]:
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
