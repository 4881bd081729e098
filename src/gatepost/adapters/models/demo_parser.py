"""
Parses the prompt for the demo model: inbox lines as `core/render.py` writes them, and from the system prompt the name
of the agent and its spaces. Lines in an unknown form are skipped.
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

_MESSAGE_LINE: Final = re.compile(
    rf"\[{_TITLE}\] (?P<who>{_TITLE}) \((?P<kind>human|agent|service)\): (?P<text>{_STRING}){_NOTES}"
)
_PLAN_LINE: Final = re.compile(rf"\[Plan: (?P<name>{_TITLE})\] (?P<text>{_STRING}){_NOTES}")
_WEBHOOK_LINE: Final = re.compile(rf"\[Service: (?P<name>{_TITLE})\] (?P<payload>.*)")
_DECISION_LINE: Final = re.compile(
    rf"\[Decision {_TITLE}\] (?P<outcome>answered|defaulted|rejected|expired|withdrawn|orphaned|again)"
    rf"(?: by (?P<who>{_TITLE}))?(?:: (?P<text>{_STRING}))?{_NOTES}"
)
_SPACE_NOTE: Final = re.compile(rf"space (?P<space>{_STRING}|[^,]+)(?:,|$)")

_SELF_LINE: Final = re.compile(
    rf"^You are (?P<display>{_TITLE}), an agent\. Your name here is (?P<name>\S+)\.$", re.MULTILINE
)
_SPACES_SECTION: Final = re.compile(r"^YOUR SPACES\n(?P<lines>(?:[-(].*\n?)+)", re.MULTILINE)
_SPACE_LINE: Final = re.compile(rf"- {_STRING} \(id: (?P<id>[^)]+)\) -- (?P<members>.*)")
_AGENT: Final = re.compile(rf"({_TITLE}) \(agent\)")


@dataclass(frozen=True, slots=True)
class InboxMessage:
    """A message in a space."""

    sender: str
    is_person: bool
    text: str
    space: str


@dataclass(frozen=True, slots=True)
class InboxPlan:
    name: str
    instruction: str


@dataclass(frozen=True, slots=True)
class InboxWebhook:
    service: str
    payload: str


@dataclass(frozen=True, slots=True)
class InboxDecision:
    """A decision that was answered, ended in another way, or was sent back."""

    outcome: str
    author: str
    text: str


InboxLine = InboxMessage | InboxPlan | InboxWebhook | InboxDecision


@dataclass(frozen=True, slots=True)
class DemoContext:
    """The names of the demo, the spaces it can post to, and the other agents in them."""

    name: str
    display_name: str
    spaces: tuple[str, ...]
    other_agents: frozenset[str]


def parse_inbox(turns: Sequence[Turn]) -> Iterator[InboxLine]:
    """Yield the inbox lines of these turns that the demo understands, in order."""
    for turn in turns:
        if isinstance(turn, Prompt) and turn.text.startswith("INBOX ("):
            for line in turn.text.split("\n")[1:]:
                yield from _parse_line(line)


def parse_system_prompt(system: str) -> DemoContext:
    """Return what the system prompt says about the agent; fields that it does not have are empty."""
    self_match, section = _SELF_LINE.search(system), _SPACES_SECTION.search(system)
    space_matches = (
        [space_match for line in section["lines"].splitlines() if (space_match := _SPACE_LINE.match(line))]
        if section
        else []
    )
    return DemoContext(
        name=self_match["name"] if self_match else "",
        display_name=_unquote(self_match["display"]) if self_match else "",
        spaces=tuple(space_match["id"] for space_match in space_matches if "(archived:" not in space_match["members"]),
        other_agents=frozenset(
            _unquote(name.strip()) for space_match in space_matches for name in _AGENT.findall(space_match["members"])
        ),
    )


def _parse_line(line: str) -> Iterator[InboxLine]:
    if match := _MESSAGE_LINE.fullmatch(line):
        space_match = _SPACE_NOTE.match(match["notes"] or "")
        if space_match:
            yield InboxMessage(
                _unquote(match["who"]),
                match["kind"] == "human",
                _unquote(match["text"]),
                _unquote(space_match["space"]),
            )
    elif match := _PLAN_LINE.fullmatch(line):
        yield InboxPlan(_unquote(match["name"]), _unquote(match["text"]))
    elif match := _WEBHOOK_LINE.fullmatch(line):
        yield InboxWebhook(_unquote(match["name"]), match["payload"])
    elif match := _DECISION_LINE.fullmatch(line):
        yield InboxDecision(match["outcome"], _unquote(match["who"] or "somebody"), _unquote(match["text"] or ""))


def _unquote(text: str) -> str:
    """Return the value of a quoted name or text; text without quotes is returned unchanged."""
    if not text.startswith('"'):
        return text
    value = json.loads(text, strict=False)
    assert isinstance(value, str)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
