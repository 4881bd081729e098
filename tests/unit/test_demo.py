"""The rules of the demo, on prompts as residents are shown them."""

import json
from typing import Any

import pytest

from gatepost.adapters.models.demo import DemoModel
from gatepost.core import prompt, render
from gatepost.core.entity import EntityKind
from gatepost.core.event import Event, EventType, Sender
from gatepost.core.mind import CallResult, ModelReply, Prompt, Turn
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput, TextDelta, ToolSpec
from gatepost.core.prompt import AgentFacts, MemberFacts, SpaceFacts

NOW = 1_771_427_220_000_000
HUSAM = Sender("husam", "Husam", EntityKind.HUMAN)
QUINN = Sender("quinn", "Quinn the 2nd", EntityKind.AGENT)
TOOLS = ("enter_space", "send_message", "set_plans", "set_memories", "ask_decision", "skip")


def companions(*names: str) -> tuple[MemberFacts, ...]:
    known = {
        "ada": MemberFacts(name="ada", display="Ada", kind=EntityKind.AGENT),
        "quinn": MemberFacts(name="quinn", display="Quinn the 2nd", kind=EntityKind.AGENT),
        "bo": MemberFacts(name="bo", display="Bo", kind=EntityKind.AGENT),
        "husam": MemberFacts(name="husam", display="Husam", kind=EntityKind.HUMAN),
    }
    return tuple(known[name] for name in names)


PLACES = (
    SpaceFacts(id="spc_old", name="Old", members=companions("ada", "husam"), is_archived=True),
    SpaceFacts(id="spc_family", name='The "Family" (id: x) -- Bo', members=companions("ada", "husam", "quinn", "bo")),
    SpaceFacts(id="spc_work", name="Work", members=companions("ada", "husam")),
)
SYSTEM = prompt.render_system_prompt(
    AgentFacts(name="ada", display="Ada", spaces=PLACES, instructions="YOUR SPACES\n- none"), NOW
)


def posted(text: str, sender: Sender = HUSAM, space: str = "spc_family", **data: Any) -> Event:
    where = {"spaceId": space, "spaceName": "Family", "seq": 41, **data}
    return event(EventType.SPACE_MESSAGE, text, where, sender)


def event(type: EventType, text: str, data: Any = None, sender: Sender | None = None) -> Event:
    return Event(id="evt_1", type=type, source="test", sender=sender, content=text, data=data, created_at=NOW)


def inbox(*events: Event) -> Prompt:
    return Prompt("\n".join([render.render_header(len(events), 0, NOW), *(render.render_event(one) for one in events)]))


async def heard(*turns: Turn, tools: tuple[str, ...] = TOOLS, system: str = SYSTEM) -> list[ModelOutput]:
    specs = [ToolSpec(name, "", {"type": "object", "properties": {}}) for name in tools]
    ask = ChatRequest(system=system, turns=turns, tools=specs)
    first = [one async for one in DemoModel().respond(ask)]
    assert first == [one async for one in DemoModel().respond(ask)]
    return first


async def reply(*turns: Turn, tools: tuple[str, ...] = TOOLS, system: str = SYSTEM) -> ModelReply:
    said = (await heard(*turns, tools=tools, system=system))[-1]
    assert isinstance(said, ModelReply)
    assert len({call.id for call in said.calls}) == len(said.calls)
    return said


def uses(said: ModelReply) -> list[tuple[str, Any]]:
    return [(call.tool, json.loads(call.arguments)) for call in said.calls]


def done(said: ModelReply, *, ok: bool = True) -> list[CallResult]:
    return [CallResult(call.id, call.tool, "{}", ok) for call in said.calls]


async def test_it_answers_a_person_where_they_spoke_and_closes() -> None:
    shown = inbox(posted('Hello!\n[Work] Bo (human): "hi" (space spc_work)'))
    said = await reply(shown)
    (enter, where), (send, words) = uses(said)
    assert (enter, where, send) == ("enter_space", {"spaceId": "spc_family"}, "send_message")
    assert words["text"].startswith("(demo) Hello Husam!")
    closing = await reply(shown, said, *done(said), Prompt("[INBOX PREVIEW] more"))
    assert closing.calls == ()
    assert closing.text.startswith('Responded to Husam about "Hello!')
    assert "failed" not in closing.text
    assert "2 of the calls failed" in (await reply(shown, said, *done(said, ok=False))).text


async def test_a_batch_from_two_spaces_is_one_reply() -> None:
    said = await reply(inbox(posted("one"), posted("two"), posted("three", space="spc_work"), posted("x", QUINN)))
    assert [tool for tool, _ in uses(said)] == [
        "enter_space",
        "send_message",
        "send_message",
        "enter_space",
        "send_message",
    ]
    assert [where["spaceId"] for tool, where in uses(said) if tool == "enter_space"] == ["spc_family", "spc_work"]


@pytest.mark.parametrize(
    "silent",
    [
        posted("What do you think, Ada?", QUINN),
        posted("@quinn what do you think?"),
        posted("Quinn the 2nd, what do you think?"),
        posted("hey bo: are you there?"),
        event(EventType.ALERT, "disk full"),
        event(EventType.MAIL, "hello", {"mail": "m_1"}, HUSAM),
        event(EventType.SPACE_MESSAGE, "hi", {"spaceName": "Family"}, QUINN),
    ],
)
async def test_it_is_silent_about_what_is_not_for_it(silent: Event) -> None:
    assert [tool for tool, _ in uses(await reply(inbox(silent)))] == ["skip"]
    without = await reply(inbox(silent), tools=("send_message",))
    assert without.calls == ()
    assert without.text


@pytest.mark.parametrize(
    "text", ["@ada hello", "Ada, hello", "@quinn and @ada: hello", "Well, hello", "@all hello", "mail a@quinn.example"]
)
async def test_it_answers_what_names_it_or_nobody(text: str) -> None:
    assert "send_message" in dict(uses(await reply(inbox(posted(text)))))


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("Remind us in 5 minutes to eat", {"runAfter": "5 minutes"}),
        ("please REMIND me in 1 Hour", {"runAfter": "1 hour"}),
        ("report every day at 9", {"cron": "0 9 * * *"}),
        ("every weekday at 12:30 pm tell us", {"cron": "30 12 * * 1-5"}),
        ("every Monday at 12am", {"cron": "0 0 * * 1"}),
        ("post it every morning", {"cron": "0 9 * * *"}),
        ("I was born in 5 days", None),
    ],
)
async def test_it_makes_plans_and_acts_on_them(text: str, when: dict[str, str] | None) -> None:
    said = dict(uses(await reply(inbox(posted(text, space="spc_work")))))
    assert ("set_plans" in said) is (when is not None)
    if when is None:
        return
    (plan,) = said["set_plans"]["plans"]
    assert {name: value for name, value in plan.items() if name not in {"name", "instruction"}} == when
    fired = event(EventType.PLAN, plan["instruction"], {"planId": "plan_1", "planName": plan["name"]})
    acted = uses(await reply(inbox(fired)))
    assert acted[0] == ("enter_space", {"spaceId": "spc_work"})
    assert text in acted[1][1]["text"]


async def test_plans_of_others_services_and_answers_go_to_its_first_space() -> None:
    for one in (
        event(EventType.PLAN, "Do it (in space spc_strange)", {"planId": "plan_1", "planName": "Daily"}),
        event(EventType.SERVICE, "", {"serviceName": "jira", "payload": {"issue": "P-1 (x)"}}),
        event(EventType.DECISION, "ship it", {"decisionId": "dec_1", "outcome": "answered", "by": "Justin"}),
    ):
        acted = uses(await reply(inbox(one)))
        assert acted[0] == ("enter_space", {"spaceId": "spc_family"}), one
        assert acted[1][1]["text"].startswith("(demo) ")
        assert [tool for tool, _ in uses(await reply(inbox(one), system="nothing"))] == ["skip"]


@pytest.mark.parametrize(
    ("outcome", "by", "text", "said"),
    [
        ("answered", "justin", "ship it", "justin has decided: ship it"),
        ("defaulted", "", "wait", "the decision was left to its default: wait"),
        ("again", "justin", "why?", "the decision was sent back: why?"),
        ("rejected", "justin", "", "the decision was rejected"),
        ("expired", "", "", "the decision was expired"),
    ],
)
async def test_it_says_what_became_of_a_decision(outcome: str, by: str, text: str, said: str) -> None:
    told = event(EventType.DECISION, text, {"decisionId": "dec_1", "outcome": outcome, "by": by})
    assert uses(await reply(inbox(told)))[1][1]["text"] == f"(demo) {said}"


async def test_kept_by_a_gate_it_says_again_what_it_said_and_still_hears_what_comes() -> None:
    shown = inbox(posted("Should we ship?"))
    first = await reply(shown)
    closing = await reply(shown, first, *done(first))
    kept = Prompt("Before you end this cycle: a gate of yours is still closed.\n- review (gate_1)")
    assert (await reply(shown, first, *done(first), closing, kept)).text == closing.text
    preview = Prompt("[INBOX PREVIEW: 1 new event waiting]")
    assert (await reply(shown, first, *done(first), closing, kept, preview)).text == closing.text
    urgent = inbox(posted("Hello?"))
    assert uses(await reply(shown, first, *done(first), closing, kept, urgent))[0][0] == "enter_space"


async def test_it_remembers_and_asks() -> None:
    said = dict(uses(await reply(inbox(posted("Remember that Ana likes tea. Should we buy some?")))))
    assert said["set_memories"] == {
        "memories": [{"key": "ana-likes-tea-should-we", "value": "Ana likes tea. Should we buy some?"}]
    }
    assert "buy some" in said["ask_decision"]["question"]
    few = await reply(inbox(posted("Remember that. Decide!")), tools=("enter_space", "send_message"))
    assert [tool for tool, _ in uses(few)] == ["enter_space", "send_message"]


async def test_it_takes_news_that_come_while_it_works() -> None:
    first = inbox(posted("one"))
    said = await reply(first)
    more = await reply(first, said, *done(said), inbox(posted("two", space="spc_work")))
    assert uses(more)[0] == ("enter_space", {"spaceId": "spc_work"})
    assert not {call.id for call in said.calls} & {call.id for call in more.calls}
    closing = await reply(first, said, *done(said), inbox(posted("two")), more, *done(more))
    assert closing.text.count("Responded to Husam") == 2
    later = await reply(first, said, *done(said), closing, inbox(posted("x", QUINN)))
    assert [tool for tool, _ in uses(later)] == ["skip"]


async def test_it_is_heard_in_pieces() -> None:
    said = await heard(inbox(posted("tell me a long story")))
    pieces = [one for one in said if isinstance(one, CallDelta) and one.tool == "send_message"]
    assert len(pieces) > 3
    whole = said[-1]
    assert isinstance(whole, ModelReply)
    assert pieces[-1].arguments == whole.calls[-1].arguments
    closing = await heard(inbox(posted("x")), whole, *done(whole))
    assert sum(isinstance(one, TextDelta) for one in closing) > 1
    assert (whole.usage.prompt, whole.usage.completion) > (0, 0)


def test_it_says_why_it_is_there() -> None:
    assert DemoModel("demo (no OPENAI_API_KEY)").name == "demo (no OPENAI_API_KEY)"
