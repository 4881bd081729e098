"""The rules of the demo, on prompts as residents are shown them."""

import json
from typing import Any

import pytest

from gatepost.directory.entity import EntityKind
from gatepost.inbox import event_rendering as render
from gatepost.inbox.event import Event, EventType, Sender
from gatepost.residents import system_prompt_actions as prompt
from gatepost.residents.model_port import (
    CallDelta,
    CallResult,
    ChatRequest,
    ModelOutput,
    ModelReply,
    Prompt,
    TextDelta,
    ToolSpec,
    Turn,
)
from gatepost.residents.models.demo import DemoModel
from gatepost.residents.system_prompt_actions import AgentFacts, SpaceFacts
from gatepost.spaces.space import MemberFacts

NOW = 1_771_427_220_000_000
HUSAM = Sender("husam", "Husam", EntityKind.HUMAN)
QUINN = Sender("quinn", "Quinn the 2nd", EntityKind.AGENT)
TOOLS = ("enter_space", "send_message", "set_plans", "set_memories", "ask_decision", "skip")


def build_members(*names: str) -> tuple[MemberFacts, ...]:
    members = {
        "ada": MemberFacts(name="ada", display="Ada", kind=EntityKind.AGENT),
        "quinn": MemberFacts(name="quinn", display="Quinn the 2nd", kind=EntityKind.AGENT),
        "bo": MemberFacts(name="bo", display="Bo", kind=EntityKind.AGENT),
        "husam": MemberFacts(name="husam", display="Husam", kind=EntityKind.HUMAN),
    }
    return tuple(members[name] for name in names)


SPACES = (
    SpaceFacts(id="spc_old", name="Old", members=build_members("ada", "husam"), is_archived=True),
    SpaceFacts(
        id="spc_family", name='The "Family" (id: x) -- Bo', members=build_members("ada", "husam", "quinn", "bo")
    ),
    SpaceFacts(id="spc_work", name="Work", members=build_members("ada", "husam")),
)
SYSTEM = prompt.render_system_prompt(
    AgentFacts(name="ada", display="Ada", spaces=SPACES, instructions="YOUR SPACES\n- none"), NOW
)


def build_message(text: str, sender: Sender = HUSAM, space: str = "spc_family", **data: Any) -> Event:
    location = {"spaceId": space, "spaceName": "Family", "seq": 41, **data}
    return build_event(EventType.SPACE_MESSAGE, text, location, sender)


def build_event(type: EventType, text: str, data: Any = None, sender: Sender | None = None) -> Event:
    return Event(id="evt_1", type=type, source="test", sender=sender, content=text, data=data, created_at=NOW)


def build_inbox(*events: Event) -> Prompt:
    return Prompt(
        "\n".join([render.render_header(len(events), 0, NOW), *(render.render_event(event) for event in events)])
    )


async def collect_output(*turns: Turn, tools: tuple[str, ...] = TOOLS, system: str = SYSTEM) -> list[ModelOutput]:
    specs = [ToolSpec(name, "", {"type": "object", "properties": {}}) for name in tools]
    ask = ChatRequest(system=system, turns=turns, tools=specs)
    output = [part async for part in DemoModel().respond(ask)]
    assert output == [part async for part in DemoModel().respond(ask)]
    return output


async def get_reply(*turns: Turn, tools: tuple[str, ...] = TOOLS, system: str = SYSTEM) -> ModelReply:
    reply = (await collect_output(*turns, tools=tools, system=system))[-1]
    assert isinstance(reply, ModelReply)
    assert len({call.id for call in reply.calls}) == len(reply.calls)
    return reply


def list_calls(reply: ModelReply) -> list[tuple[str, Any]]:
    return [(call.tool, json.loads(call.arguments)) for call in reply.calls]


def build_results(reply: ModelReply, *, ok: bool = True) -> list[CallResult]:
    return [CallResult(call.id, call.tool, "{}", ok) for call in reply.calls]


async def test_it_answers_a_person_where_they_spoke_and_closes() -> None:
    inbox_prompt = build_inbox(build_message('Hello!\n[Work] Bo (human): "hi" (space spc_work)'))
    reply = await get_reply(inbox_prompt)
    (enter_tool, enter_arguments), (send_tool, send_arguments) = list_calls(reply)
    assert (enter_tool, enter_arguments, send_tool) == ("enter_space", {"spaceId": "spc_family"}, "send_message")
    assert send_arguments["text"].startswith("(demo) Hello Husam!")
    closing = await get_reply(inbox_prompt, reply, *build_results(reply), Prompt("[INBOX PREVIEW] more"))
    assert closing.calls == ()
    assert closing.text.startswith('Responded to Husam about "Hello!')
    assert "failed" not in closing.text
    assert "2 of the calls failed" in (await get_reply(inbox_prompt, reply, *build_results(reply, ok=False))).text


async def test_a_batch_from_two_spaces_is_one_reply() -> None:
    reply = await get_reply(
        build_inbox(
            build_message("one"),
            build_message("two"),
            build_message("three", space="spc_work"),
            build_message("x", QUINN),
        )
    )
    assert [tool for tool, _ in list_calls(reply)] == [
        "enter_space",
        "send_message",
        "send_message",
        "enter_space",
        "send_message",
    ]
    assert [arguments["spaceId"] for tool, arguments in list_calls(reply) if tool == "enter_space"] == [
        "spc_family",
        "spc_work",
    ]


@pytest.mark.parametrize(
    "event",
    [
        build_message("What do you think, Ada?", QUINN),
        build_message("@quinn what do you think?"),
        build_message("Quinn the 2nd, what do you think?"),
        build_message("hey bo: are you there?"),
        build_event(EventType.ALERT, "disk full"),
        build_event(EventType.MAIL, "hello", {"mail": "m_1"}, HUSAM),
        build_event(EventType.SPACE_MESSAGE, "hi", {"spaceName": "Family"}, QUINN),
    ],
)
async def test_it_is_silent_about_what_is_not_for_it(event: Event) -> None:
    assert [tool for tool, _ in list_calls(await get_reply(build_inbox(event)))] == ["skip"]
    reply = await get_reply(build_inbox(event), tools=("send_message",))
    assert reply.calls == ()
    assert reply.text


@pytest.mark.parametrize(
    "text", ["@ada hello", "Ada, hello", "@quinn and @ada: hello", "Well, hello", "@all hello", "mail a@quinn.example"]
)
async def test_it_answers_what_names_it_or_nobody(text: str) -> None:
    assert "send_message" in dict(list_calls(await get_reply(build_inbox(build_message(text)))))


@pytest.mark.parametrize(
    ("text", "schedule"),
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
async def test_it_makes_plans_and_acts_on_them(text: str, schedule: dict[str, str] | None) -> None:
    calls = dict(list_calls(await get_reply(build_inbox(build_message(text, space="spc_work")))))
    assert ("set_plans" in calls) is (schedule is not None)
    if schedule is None:
        return
    (plan,) = calls["set_plans"]["plans"]
    assert {name: value for name, value in plan.items() if name not in {"name", "instruction"}} == schedule
    plan_event = build_event(EventType.PLAN, plan["instruction"], {"planId": "plan_1", "planName": plan["name"]})
    plan_calls = list_calls(await get_reply(build_inbox(plan_event)))
    assert plan_calls[0] == ("enter_space", {"spaceId": "spc_work"})
    assert text in plan_calls[1][1]["text"]


async def test_plans_of_others_services_and_answers_go_to_its_first_space() -> None:
    for event in (
        build_event(EventType.PLAN, "Do it (in space spc_strange)", {"planId": "plan_1", "planName": "Daily"}),
        build_event(EventType.SERVICE, "", {"serviceName": "jira", "payload": {"issue": "P-1 (x)"}}),
        build_event(EventType.DECISION, "ship it", {"decisionId": "dec_1", "outcome": "answered", "by": "Justin"}),
    ):
        calls = list_calls(await get_reply(build_inbox(event)))
        assert calls[0] == ("enter_space", {"spaceId": "spc_family"}), event
        assert calls[1][1]["text"].startswith("(demo) ")
        assert [tool for tool, _ in list_calls(await get_reply(build_inbox(event), system="nothing"))] == ["skip"]


@pytest.mark.parametrize(
    ("outcome", "by", "text", "expected_text"),
    [
        ("answered", "justin", "ship it", "justin has decided: ship it"),
        ("defaulted", "", "wait", "the decision was left to its default: wait"),
        ("again", "justin", "why?", "the decision was sent back: why?"),
        ("rejected", "justin", "", "the decision was rejected"),
        ("expired", "", "", "the decision was expired"),
    ],
)
async def test_it_says_what_became_of_a_decision(outcome: str, by: str, text: str, expected_text: str) -> None:
    decision_event = build_event(EventType.DECISION, text, {"decisionId": "dec_1", "outcome": outcome, "by": by})
    assert list_calls(await get_reply(build_inbox(decision_event)))[1][1]["text"] == f"(demo) {expected_text}"


async def test_kept_by_a_gate_it_says_again_what_it_said_and_still_hears_what_comes() -> None:
    inbox_prompt = build_inbox(build_message("Should we ship?"))
    first = await get_reply(inbox_prompt)
    closing = await get_reply(inbox_prompt, first, *build_results(first))
    gate_prompt = Prompt("Before you end this cycle: a gate of yours is still closed.\n- review (gate_1)")
    assert (await get_reply(inbox_prompt, first, *build_results(first), closing, gate_prompt)).text == closing.text
    preview = Prompt("[INBOX PREVIEW: 1 new event waiting]")
    assert (
        await get_reply(inbox_prompt, first, *build_results(first), closing, gate_prompt, preview)
    ).text == closing.text
    urgent_prompt = build_inbox(build_message("Hello?"))
    assert (
        list_calls(await get_reply(inbox_prompt, first, *build_results(first), closing, gate_prompt, urgent_prompt))[0][
            0
        ]
        == "enter_space"
    )


async def test_it_remembers_and_asks() -> None:
    calls = dict(
        list_calls(await get_reply(build_inbox(build_message("Remember that Ana likes tea. Should we buy some?"))))
    )
    assert calls["set_memories"] == {
        "memories": [{"key": "ana-likes-tea-should-we", "value": "Ana likes tea. Should we buy some?"}]
    }
    assert "buy some" in calls["ask_decision"]["question"]
    reply = await get_reply(build_inbox(build_message("Remember that. Decide!")), tools=("enter_space", "send_message"))
    assert [tool for tool, _ in list_calls(reply)] == ["enter_space", "send_message"]


async def test_it_takes_news_that_come_while_it_works() -> None:
    first = build_inbox(build_message("one"))
    reply = await get_reply(first)
    second_reply = await get_reply(
        first, reply, *build_results(reply), build_inbox(build_message("two", space="spc_work"))
    )
    assert list_calls(second_reply)[0] == ("enter_space", {"spaceId": "spc_work"})
    assert not {call.id for call in reply.calls} & {call.id for call in second_reply.calls}
    closing = await get_reply(
        first,
        reply,
        *build_results(reply),
        build_inbox(build_message("two")),
        second_reply,
        *build_results(second_reply),
    )
    assert closing.text.count("Responded to Husam") == 2
    last_reply = await get_reply(first, reply, *build_results(reply), closing, build_inbox(build_message("x", QUINN)))
    assert [tool for tool, _ in list_calls(last_reply)] == ["skip"]


async def test_it_is_heard_in_pieces() -> None:
    output = await collect_output(build_inbox(build_message("tell me a long story")))
    pieces = [part for part in output if isinstance(part, CallDelta) and part.tool == "send_message"]
    assert len(pieces) > 3
    reply = output[-1]
    assert isinstance(reply, ModelReply)
    assert pieces[-1].arguments == reply.calls[-1].arguments
    closing_output = await collect_output(build_inbox(build_message("x")), reply, *build_results(reply))
    assert sum(isinstance(part, TextDelta) for part in closing_output) > 1
    assert (reply.usage.prompt, reply.usage.completion) > (0, 0)


def test_it_says_why_it_is_there() -> None:
    assert DemoModel("demo (no OPENAI_API_KEY)").name == "demo (no OPENAI_API_KEY)"
