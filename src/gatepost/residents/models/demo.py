"""
The demo model, which needs no key: it follows a few fixed rules, and says that it is a demo.

    a person posts a message                   it answers in that space; all its messages begin with "(demo)"
    ... and names another agent                it stays silent, as it does when an agent posts
    "remind us in 5 minutes", "every day at 9" it also sets a plan
    "remember that ..."                        it also stores a memory
    "decide", "should we ...?"                 it also asks for a decision, if it has the tool
    a plan is due, a service calls, an answer  it reports that in the space of the plan, or else in its first space
    a person writes on a channel               it answers there; what it asks, it asks there
    a gate reminds it before it ends           it repeats its last reply, and waits

It answers everything in one reply of several calls, ends with its summary in the next, and skips if nothing is for it.
Its reply depends on the request and on nothing else, including the ids of its calls.
"""

import json
import re
from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Final

from gatepost.core.json_limits import Json
from gatepost.gates.gate import REMINDER_HEADING
from gatepost.inbox.event import USER_CHANNELS
from gatepost.residents.agent_config import DEMO
from gatepost.residents.mind_compaction import estimate_tokens, weigh
from gatepost.residents.model_port import (
    CallDelta,
    CallResult,
    ChatRequest,
    ModelOutput,
    ModelReply,
    Prompt,
    TextDelta,
    ToolCall,
    Turn,
    Usage,
)

_LABEL: Final = "(demo)"
#: characters of a quoted message
_MAX_QUOTE: Final = 200
#: characters of one streamed chunk
_CHUNK_SIZE: Final = 24

_GREETING: Final = re.compile(r"(?:hi|hello|hey|good (?:morning|day|afternoon|evening))\b", re.IGNORECASE)
_REMEMBER: Final = re.compile(r"\bremember (?:that )?(?P<what>\S[^\n]*)", re.IGNORECASE)
_DECIDE: Final = re.compile(r"\b(?:decide|decision|should (?:we|i))\b", re.IGNORECASE)
_DELAY: Final = re.compile(r"\bin (?P<wait>\d{1,4} (?:second|minute|hour|day|week)s?)\b", re.IGNORECASE)
_REMINDER_VERB: Final = re.compile(r"\b(?:remind|tell|post|report|check|say|send)\b", re.IGNORECASE)
_RECURRENCE: Final = re.compile(
    r"\bevery (?P<day>day|morning|weekday|monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
    r"(?: at (?P<hour>\d{1,2})(?::(?P<minute>\d\d))? ?(?P<half>am|pm)?)?\b",
    re.IGNORECASE,
)
_DAYS: Final = {"sunday": 0, "monday": 1, "tuesday": 2, "wednesday": 3, "thursday": 4, "friday": 5, "saturday": 6}
_OUTCOME_TEXTS: Final = {"defaulted": "left to its default", "again": "sent back"}
_MENTION: Final = re.compile(r"(?<!\w)@([\w.-]*\w)")
_ADDRESSEE: Final = re.compile(r"(?:(?:hi|hello|hey|ok|dear) )?(?P<name>\w[\w .-]*?)[,:]", re.IGNORECASE)
_SPACE_SUFFIX: Final = re.compile(r"\(in space (?P<space>[^\s)]+)\)$")

#: inbox lines as `inbox/event_rendering.py` writes them; lines in another form are skipped
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_TITLE: Final = rf'(?:{_STRING}|[^"\[\]():,]+)'
_NOTES: Final = rf"(?: \(context {_STRING}\))?(?: \((?P<notes>.*)\))?"

_MESSAGE_LINE: Final = re.compile(
    rf"\[{_TITLE}\] (?P<who>{_TITLE}) \((?P<kind>human|agent|service)\): (?P<text>{_STRING}){_NOTES}"
)
_CHANNEL_LINE: Final = re.compile(
    rf"\[(?:{'|'.join(map(str.title, USER_CHANNELS))})\] "
    rf"(?P<who>{_TITLE})(?: \((?:human|agent|service)\))?: (?P<text>{_STRING}){_NOTES}"
)
_PLAN_LINE: Final = re.compile(rf"\[Plan: (?P<name>{_TITLE})\] (?P<text>{_STRING}){_NOTES}")
_WEBHOOK_LINE: Final = re.compile(rf"\[Service: (?P<name>{_TITLE})\] (?P<payload>.*)")
_DECISION_LINE: Final = re.compile(
    rf"\[Decision (?P<decision>{_TITLE})\] (?P<outcome>answered|defaulted|rejected|expired|withdrawn|orphaned|again)"
    rf"(?: by (?P<who>{_TITLE}))?(?:: (?P<text>{_STRING}))?{_NOTES}"
)
_SESSION_NOTE: Final = re.compile(rf"session (?P<session>{_STRING}|[^,]+)(?:,|$)")
_SPACE_NOTE: Final = re.compile(rf"space (?P<space>{_STRING}|[^,]+)(?:,|$)")

_SELF_LINE: Final = re.compile(
    rf"^You are (?P<display>{_TITLE}), an agent\. Your name here is (?P<name>\S+)\.$", re.MULTILINE
)
_SPACES_SECTION: Final = re.compile(r"^YOUR SPACES\n(?P<lines>(?:[-(].*\n?)+)", re.MULTILINE)
_SPACE_LINE: Final = re.compile(rf"- {_STRING} \(id: (?P<id>[^)]+)\) -- (?P<members>.*)")
_AGENT: Final = re.compile(rf"({_TITLE}) \(agent\)")


@dataclass(frozen=True, slots=True)
class _DemoContext:
    """The names of the demo, the spaces it can post to, and the other agents in them."""

    name: str
    display_name: str
    spaces: tuple[str, ...]
    other_agents: frozenset[str]
    #: by the id of a decision: the channel session in which it asked
    sessions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Reaction:
    """What the demo does about one inbox line: the calls it makes, the message it then posts, and its summary."""

    #: where it posts; None if it replies in a channel session
    space: str | None
    text: str
    tool_calls: tuple[tuple[str, Json], ...]
    summary: str
    session: str | None = None


class DemoModel:
    def __init__(self, name: str = DEMO) -> None:
        self.name = name

    async def respond(self, request: ChatRequest) -> AsyncGenerator[ModelOutput]:
        text, calls = _build_answer(request)
        for chunk in _split_chunks(text):
            yield TextDelta(chunk)
        for call in calls:
            arguments = ""
            for chunk in _split_chunks(call.arguments):
                arguments += chunk
                yield CallDelta(call.id, call.tool, arguments)
        prompt_tokens = estimate_tokens(request.system) + sum(weigh(turn) for turn in request.turns)
        yield ModelReply(text, calls, Usage(prompt_tokens, weigh(ModelReply(text, calls))), self.name)

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _build_answer(request: ChatRequest) -> tuple[str, tuple[ToolCall, ...]]:
    """Return the text and the calls of the reply; one of both is empty."""
    tools = {spec.name for spec in request.tools}
    context = replace(_parse_system_prompt(request.system), sessions=_find_sessions(request.turns))
    new_turns = request.turns[_index_after_last_reply(request.turns, only_final=False) :]
    if reactions := _plan_reactions(new_turns, context, tools):
        return "", _assign_ids(request, _list_tool_calls(reactions, tools))
    if any(isinstance(turn, Prompt) and turn.text.startswith(REMINDER_HEADING) for turn in new_turns):
        return next(turn.text for turn in reversed(request.turns) if isinstance(turn, ModelReply)), ()
    cycle_turns = request.turns[_index_after_last_reply(request.turns, only_final=True) :]
    if len(cycle_turns) == len(new_turns) and "skip" in tools:
        return "", _assign_ids(request, [("skip", {"reason": "nothing here is for me"})])
    return _summarize(_plan_reactions(cycle_turns, context, tools), cycle_turns), ()


def _find_sessions(turns: Sequence[Turn]) -> dict[str, str]:
    """Return the channel session of each decision that was asked on a channel."""
    calls = {call.id: call for turn in turns if isinstance(turn, ModelReply) for call in turn.calls}
    sessions = {}
    for turn in turns:
        if isinstance(turn, CallResult) and turn.ok and turn.tool == "ask_decision" and turn.call in calls:
            session = json.loads(calls[turn.call].arguments).get("event")
            if session is not None:
                sessions[str(json.loads(turn.content).get("decisionId"))] = str(session)
    return sessions


def _index_after_last_reply(turns: Sequence[Turn], *, only_final: bool) -> int:
    """Return the index after the last reply or, with `only_final`, after the last reply that ended a cycle."""
    for index in reversed(range(len(turns))):
        turn = turns[index]
        if isinstance(turn, ModelReply) and not (only_final and turn.calls):
            return index + 1
    return 0


def _plan_reactions(turns: Sequence[Turn], context: _DemoContext, tools: Collection[str]) -> list[_Reaction]:
    """Return what the demo does about the inbox lines of these turns that it understands, in order."""
    prompts = [turn.text for turn in turns if isinstance(turn, Prompt) and turn.text.startswith("INBOX (")]
    lines = [line for prompt in prompts for line in prompt.split("\n")[1:]]
    return [reaction for line in lines if (reaction := _react(line, context, tools)) is not None]


def _react(line: str, context: _DemoContext, tools: Collection[str]) -> _Reaction | None:
    if match := _CHANNEL_LINE.fullmatch(line):
        session_match = _SESSION_NOTE.match(match["notes"] or "")
        if session_match is None or "reply" not in tools or ", reset" in match["notes"]:
            return None
        session = _unquote(session_match["session"])
        return _answer_message(_unquote(match["who"]), _unquote(match["text"]), None, context, tools, session=session)
    if match := _MESSAGE_LINE.fullmatch(line):
        sender, text = _unquote(match["who"]), _unquote(match["text"])
        space_match = _SPACE_NOTE.match(match["notes"] or "")
        if space_match is None or match["kind"] != "human" or _is_for_another(text, context):
            return None
        return _answer_message(sender, text, _unquote(space_match["space"]), context, tools)
    if match := _PLAN_LINE.fullmatch(line):
        name, instruction = _unquote(match["name"]), _unquote(match["text"])
        space_match = _SPACE_SUFFIX.search(instruction)
        space = space_match["space"] if space_match and space_match["space"] in context.spaces else None
        message = _SPACE_SUFFIX.sub("", instruction).strip() or name
        return _announce(context, message, f"Acted on the plan {_quote(name)}.", space)
    if match := _WEBHOOK_LINE.fullmatch(line):
        service = _unquote(match["name"])
        message = f"{service} reports: {_shorten(match['payload'])}"
        return _announce(context, message, f"Responded to {service} about its report.")
    if match := _DECISION_LINE.fullmatch(line):
        outcome, text = match["outcome"], _unquote(match["text"] or "")
        asked_in = context.sessions.get(match["decision"])
        if outcome == "answered":
            author = _unquote(match["who"] or "somebody")
            message = f"{author} has decided: {_shorten(text)}"
            return _announce(context, message, f"Responded to {author} about the decision.", session=asked_in)
        result = f"the decision was {_OUTCOME_TEXTS.get(outcome, outcome)}"
        message = f"{result}: {_shorten(text)}" if text else result
        return _announce(context, message, f"Said that {result}.", session=asked_in)
    return None


def _announce(
    context: _DemoContext, text: str, summary: str, space: str | None = None, *, session: str | None = None
) -> _Reaction | None:
    if session is not None:
        return _Reaction(None, f"{_LABEL} {text}", (), summary, session)
    target_space = space or next(iter(context.spaces), None)
    return None if target_space is None else _Reaction(target_space, f"{_LABEL} {text}", (), summary)


def _answer_message(
    sender: str,
    text: str,
    space: str | None,
    context: _DemoContext,
    tools: Collection[str],
    *,
    session: str | None = None,
) -> _Reaction:
    greeting = f"Hello {sender}!" if _GREETING.match(text) else f"{sender},"
    sentences = [f"{_LABEL} {greeting}"]
    tool_calls: list[tuple[str, Json]] = []
    if (schedule := _parse_schedule(text)) and "set_plans" in tools:
        place = f" (in space {space})" if space is not None else ""
        instruction = f"{sender} asked: {_shorten(text)}{place}"
        plan: dict[str, Json] = {"name": _shorten(text, 60), "instruction": instruction, **schedule}
        tool_calls.append(("set_plans", {"plans": [plan]}))
        sentences.append("I have made a plan of it.")
    if (match := _REMEMBER.search(text)) and "set_memories" in tools:
        fact = _shorten(match["what"].strip(), 1000)
        key = "-".join(re.findall(r"\w+", fact.lower())[:5])[:100] or "note"
        tool_calls.append(("set_memories", {"memories": [{"key": key, "value": fact}]}))
        sentences.append("I will remember that.")
    if _DECIDE.search(text) and "ask_decision" in tools:
        options: list[Json] = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]
        route: dict[str, Json] = {"event": session} if session is not None else {}
        tool_calls.append(("ask_decision", {"question": text, "options": options, **route}))
        sentences.append("I have asked for a decision.")
    if not tool_calls:
        sentences.append(f"I heard you say {_quote(_shorten(text))}.")
        sentences.append(f"I am {context.display_name or 'a resident'}, and no language model: I follow a few rules.")
    used_tools = [tool for tool, _ in tool_calls]
    pending_note = "A decision is pending." if "ask_decision" in used_tools else "Nothing is pending."
    answer_note = "Answered in the space." if session is None else "Answered on the channel."
    action_note = f"Used {', '.join(used_tools)}." if used_tools else answer_note
    summary = f"Responded to {sender} about {_quote(_shorten(text, 60))}. {action_note} {pending_note}"
    return _Reaction(space, " ".join(sentences), tuple(tool_calls), summary, session)


def _is_for_another(text: str, context: _DemoContext) -> bool:
    """Return True if the message names another agent, and not this one."""
    own_names = {context.name.lower(), context.display_name.lower()}
    mentions = {name.lower() for name in _MENTION.findall(text)}
    if addressee := _ADDRESSEE.match(text):
        name = addressee["name"].strip().lower()
        if name in own_names or name in {other.lower() for other in context.other_agents}:
            mentions.add(name)
    return bool(mentions) and not mentions & (own_names | {"all", "everyone", "everybody"})


def _parse_schedule(text: str) -> dict[str, Json] | None:
    """Return the schedule that the text asks for, as arguments of `set_plans`; None if it asks for none."""
    if recurrence := _RECURRENCE.search(text):
        hour = int(recurrence["hour"] or 9) % 24
        if recurrence["half"]:
            hour = hour % 12 + (12 if recurrence["half"].lower() == "pm" else 0)
        day = recurrence["day"].lower()
        days = "*" if day in {"day", "morning"} else "1-5" if day == "weekday" else str(_DAYS[day])
        return {"cron": f"{int(recurrence['minute'] or 0) % 60} {hour} * * {days}"}
    if (delay := _DELAY.search(text)) and _REMINDER_VERB.search(text):
        return {"runAfter": delay["wait"].lower()}
    return None


def _list_tool_calls(reactions: Sequence[_Reaction], tools: Collection[str]) -> Iterator[tuple[str, Json]]:
    """Yield the calls of all reactions in order; consecutive messages to one space enter it once."""
    current_space: str | None = None
    for reaction in reactions:
        yield from reaction.tool_calls
        if reaction.session is not None:
            yield "reply", {"event": reaction.session, "text": reaction.text}
            continue
        if "enter_space" in tools and reaction.space != current_space:
            yield "enter_space", {"spaceId": reaction.space}
            current_space = reaction.space
        if "send_message" in tools:
            yield "send_message", {"text": reaction.text}


def _assign_ids(request: ChatRequest, tool_calls: Iterable[tuple[str, Json]]) -> tuple[ToolCall, ...]:
    """Return the calls with unique ids, which are derived from the request and the calls before."""
    seed = blake2b(request.system.encode(), digest_size=16)
    for turn in request.turns:
        seed.update(repr(turn).encode())
    calls = []
    for tool, arguments in tool_calls:
        seed.update(tool.encode())
        calls.append(ToolCall(f"call_{seed.hexdigest()}", tool, json.dumps(arguments, ensure_ascii=False)))
    return tuple(calls)


def _summarize(reactions: Sequence[_Reaction], cycle_turns: Sequence[Turn]) -> str:
    if not reactions:
        return "Responded to nobody. Nothing is pending."
    failed_count = sum(isinstance(turn, CallResult) and not turn.ok for turn in cycle_turns)
    failure_note = [f"{failed_count} of the calls failed."] if failed_count else []
    return " ".join([reaction.summary for reaction in reactions] + failure_note)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _shorten(text: str, limit: int = _MAX_QUOTE) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 4]} ..."


def _split_chunks(text: str) -> Iterator[str]:
    return (text[start : start + _CHUNK_SIZE] for start in range(0, len(text), _CHUNK_SIZE))


def _parse_system_prompt(system: str) -> _DemoContext:
    """Return what the system prompt says about the agent; fields that it does not have are empty."""
    self_match, section = _SELF_LINE.search(system), _SPACES_SECTION.search(system)
    lines = section["lines"].splitlines() if section else []
    space_matches = [space_match for line in lines if (space_match := _SPACE_LINE.match(line))]
    return _DemoContext(
        name=self_match["name"] if self_match else "",
        display_name=_unquote(self_match["display"]) if self_match else "",
        spaces=tuple(space_match["id"] for space_match in space_matches if "(archived:" not in space_match["members"]),
        other_agents=frozenset(
            _unquote(name.strip()) for space_match in space_matches for name in _AGENT.findall(space_match["members"])
        ),
    )


def _unquote(text: str) -> str:
    """Return the value of a quoted name or text; text without quotes is returned unchanged."""
    if not text.startswith('"'):
        return text
    value = json.loads(text, strict=False)
    assert isinstance(value, str)
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
