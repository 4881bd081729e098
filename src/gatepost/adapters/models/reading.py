"""
How the demo reads what it is shown: lines of the inbox as `core/line.py` writes them, and of the system prompt only who
it is and where. What it does not know is passed over.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gatepost.core.mind import Prompt, Turn

_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_TITLE: Final = rf'(?:{_STRING}|[^"\[\]():,]+)'
_NOTES: Final = rf"(?: \(context {_STRING}\))?(?: \((?P<notes>.*)\))?"

_SAID: Final = re.compile(
    rf"\[{_TITLE}\] (?P<who>{_TITLE}) \((?P<kind>human|agent|service)\): (?P<text>{_STRING}){_NOTES}"
)
_DUE: Final = re.compile(rf"\[Plan: (?P<name>{_TITLE})\] (?P<text>{_STRING}){_NOTES}")
_CALLED: Final = re.compile(rf"\[Service: (?P<name>{_TITLE})\] (?P<payload>.*)")
_ANSWERED: Final = re.compile(
    rf"\[Decision {_TITLE}\] (?P<outcome>answered|defaulted|rejected|expired|withdrawn|orphaned|again)"
    rf"(?: by (?P<who>{_TITLE}))?(?:: (?P<text>{_STRING}))?{_NOTES}"
)
_SPACE: Final = re.compile(rf"space (?P<space>{_STRING}|[^,]+)(?:,|$)")

_SELF: Final = re.compile(
    rf"^You are (?P<display>{_TITLE}), an agent\. Your name here is (?P<name>\S+)\.$", re.MULTILINE
)
_PLACES: Final = re.compile(r"^YOUR SPACES\n(?P<lines>(?:[-(].*\n?)+)", re.MULTILINE)
_PLACE: Final = re.compile(rf"- {_STRING} \(id: (?P<id>[^)]+)\) -- (?P<members>.*)")
_AGENT: Final = re.compile(rf"({_TITLE}) \(agent\)")


@dataclass(frozen=True, slots=True)
class Said:
    """Somebody said something in a space."""

    who: str
    person: bool
    text: str
    space: str


@dataclass(frozen=True, slots=True)
class Due:
    name: str
    instruction: str


@dataclass(frozen=True, slots=True)
class Called:
    service: str
    payload: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A decision was answered, or ended otherwise, or was sent back."""

    outcome: str
    who: str
    text: str


News = Said | Due | Called | Answered


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Who the demo is, where it can speak, and which other agents there are."""

    name: str
    display: str
    spaces: tuple[str, ...]
    others: frozenset[str]


def news(turns: Sequence[Turn]) -> Iterator[News]:
    """What these turns tell of that the demo understands, in order."""
    for turn in turns:
        if isinstance(turn, Prompt) and turn.text.startswith("INBOX ("):
            for line in turn.text.split("\n")[1:]:
                yield from _news(line)


def surroundings(system: str) -> Surroundings:
    me, listed = _SELF.search(system), _PLACES.search(system)
    places = [place for line in listed["lines"].splitlines() if (place := _PLACE.match(line))] if listed else []
    return Surroundings(
        name=me["name"] if me else "",
        display=_plain(me["display"]) if me else "",
        spaces=tuple(place["id"] for place in places if "(archived:" not in place["members"]),
        others=frozenset(_plain(name.strip()) for place in places for name in _AGENT.findall(place["members"])),
    )


def _news(line: str) -> Iterator[News]:
    if found := _SAID.fullmatch(line):
        where = _SPACE.match(found["notes"] or "")
        if where:
            yield Said(_plain(found["who"]), found["kind"] == "human", _plain(found["text"]), _plain(where["space"]))
    elif found := _DUE.fullmatch(line):
        yield Due(_plain(found["name"]), _plain(found["text"]))
    elif found := _CALLED.fullmatch(line):
        yield Called(_plain(found["name"]), found["payload"])
    elif found := _ANSWERED.fullmatch(line):
        yield Answered(found["outcome"], _plain(found["who"] or "somebody"), _plain(found["text"] or ""))


def _plain(text: str) -> str:
    """What a quoted name or text says; one that is not quoted says itself."""
    if not text.startswith('"'):
        return text
    said = json.loads(text, strict=False)
    assert isinstance(said, str)
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
