"""Conversations with a model: what it is shown, what is heard of it, and that nothing of it is lost."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from gatepost.adapters.models import messages
from gatepost.adapters.models.demo import DemoModel
from gatepost.adapters.models.factory import open_model
from gatepost.adapters.models.provider import PydanticModel
from gatepost.core.agent import ModelChoice
from gatepost.core.mind import CallResult, ModelReply, Prompt, ToolCall, Turn, Usage
from gatepost.core.model import CallDelta, ChatRequest, ModelOutput, TextDelta, ToolSpec
from gatepost.errors import Invalid, Unavailable
from gatepost.ports import Model
from tests.models import Answer, Asked, ModelServer, Say, Think, Tokens, Use, in_turn

ENTER = ToolSpec(
    "enter_space",
    "Enter a space.",
    {"type": "object", "properties": {"spaceId": {"type": "string"}}, "required": ["spaceId"]},
)
SKIP = ToolSpec("skip", "Say nothing.", {"type": "object", "properties": {}})
TOOLS = (ENTER, SKIP)


async def hear(model: Model, *turns: Turn, **options: Any) -> list[ModelOutput]:
    return [one async for one in model.respond(ChatRequest(system="You are Ada.", turns=turns, tools=TOOLS, **options))]


def last(heard: list[ModelOutput]) -> ModelReply:
    said = heard[-1]
    assert isinstance(said, ModelReply)
    return said


def opened(server: ModelServer) -> Model:
    return open_model(ModelChoice(name="openai:gpt-test", base_url=server.url), {})


async def test_words_and_calls_come_as_they_are_written_and_once_more_as_a_whole() -> None:
    answer: Answer = [
        Say("Let me look around. "),
        Use("enter_space", {"spaceId": "family"}),
        Use("skip", ""),
        Use("enter_space", '{"spaceId": '),
        Tokens(11, 7),
    ]
    with ModelServer(in_turn(answer)) as server:
        model = opened(server)
        heard = await hear(model, Prompt("INBOX (1 event, now):\n..."), temperature=0.5, max_tokens=99)
        await model.close()
        asked = server.asked[0]
    said = last(heard)
    assert said.text == "Let me look around. "
    assert [call.tool for call in said.calls] == ["enter_space", "skip", "enter_space"]
    assert [call.arguments for call in said.calls] == ['{"spaceId": "family"}', "{}", '{"spaceId": ']
    assert (said.usage, said.model) == (Usage(11, 7), "openai:gpt-test")
    texts = [one.text for one in heard if isinstance(one, TextDelta)]
    assert len(texts) > 1
    assert "".join(texts) == said.text
    for call in (said.calls[0], said.calls[2]):
        written = [one.arguments for one in heard if isinstance(one, CallDelta) and one.call == call.id]
        assert len(written) > 2
        assert all(later.startswith(earlier) for earlier, later in pairwise(written))
        assert written[-1] == call.arguments
    assert asked.system == "You are Ada."
    assert asked.inbox.startswith("INBOX (1 event")
    assert asked.tools == ["enter_space", "skip"]
    assert asked["tools"][0]["function"]["parameters"] == ENTER.schema
    assert (asked["temperature"], asked["max_completion_tokens"]) == (0.5, 99)


@pytest.mark.parametrize("given", ["", "call_0"])
async def test_calls_have_ids_of_their_own_whatever_the_server_sends(given: str) -> None:
    answer: Answer = [Use("skip", id=given), Use("skip", id=given)]
    with ModelServer(in_turn(answer, answer)) as server:
        model = opened(server)
        first = last(await hear(model, Prompt("one")))
        results = [CallResult(call.id, call.tool, f'{{"was":{n}}}') for n, call in enumerate(first.calls)]
        second = last(await hear(model, Prompt("one"), first, *results, Prompt("two")))
        await model.close()
        sent = server.asked[1].messages
    ids = [call.id for call in (*first.calls, *second.calls)]
    assert len(set(ids)) == 4
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [one["id"] for one in sent[2]["tool_calls"]] == ids[:2]
    assert [(one["tool_call_id"], one["content"]) for one in sent[3:5]] == [
        (ids[0], '{"was":0}'),
        (ids[1], '{"was":1}'),
    ]


async def test_an_empty_reply_is_one_and_is_not_sent_back() -> None:
    with ModelServer(in_turn([], [Think("hm")], Say("ok"))) as server:
        model = opened(server)
        first = last(await hear(model, Prompt("one")))
        second = last(await hear(model, Prompt("one"), first, Prompt("two")))
        await hear(model, Prompt("one"), first, Prompt("two"), second, Prompt("three"))
        await model.close()
        sent = server.asked[2].messages
    assert (first.text, first.calls) == (second.text, second.calls) == ("", ())
    assert {one["role"] for one in sent} == {"system", "user"}


async def test_the_very_message_is_sent_back_thoughts_and_all() -> None:
    with ModelServer(in_turn([Think("Who is Husam?"), Say("Hm. "), Use("skip")], Say("done"))) as server:
        model = opened(server)
        first = last(await hear(model, Prompt("one")))
        await hear(model, Prompt("one"), first, CallResult(first.calls[0].id, "skip", "{}"))
        await model.close()
        back = server.asked[1].messages[2]
    assert first.raw is not None
    assert server.url not in first.raw
    assert back["reasoning_content"] == "Who is Husam?"
    assert back["content"] == "Hm. "


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        *((7, 7), (12.0, 12), (10**7, 10**7)),
        *((12.5, 0), ("7", 0), (True, 0), (-3, 0), (10**7 + 1, 0), (1e300, 0), (math.inf, 0), (math.nan, 0), (None, 0)),
    ],
)
def test_what_cannot_be_a_count_is_not_counted(said: Any, counted: int) -> None:
    response = ModelResponse([], usage=RequestUsage(input_tokens=said, output_tokens=said))
    assert messages.parse_reply(response, model="m", ids=[]).usage == Usage(counted, counted)


async def test_a_failed_result_reaches_the_model_as_it_is() -> None:
    """Chat completions have no mark for failures; the result says so itself, and is not wrapped in another error."""
    with ModelServer(in_turn(Use("skip"), Say("Well."))) as server:
        model = opened(server)
        first = last(await hear(model, Prompt("one")))
        failed = '{"success":false,"error":"there is no space \\"x\\""}'
        await hear(model, Prompt("one"), first, CallResult(first.calls[0].id, "skip", failed, ok=False))
        await model.close()
        [sent] = [one["content"] for one in server.asked[1].messages if one["role"] == "tool"]
    assert sent == failed


async def test_text_that_cannot_be_stored_is_mended() -> None:
    halves: Answer = [Say("\ud83d"), Say("\0"), Use("skip", '{"reason": "\ud83d"}')]
    with ModelServer(in_turn(halves)) as server:
        model = opened(server)
        said = last(await hear(model, Prompt("one")))
        await model.close()
    for text in (said.text, said.calls[0].arguments, said.raw or ""):
        assert "\0" not in text.encode().decode()
    assert said.text == "\ufffd\ufffd"


async def test_a_server_may_be_asked_without_streaming_too() -> None:
    """Not by us; but the server is for everybody."""

    def script(asked: Asked) -> Answer:
        return [Say(f"You said {asked.messages[-1]['content']}"), Use("skip", {"a": 1})]

    with ModelServer(script) as server:
        async with httpx2.AsyncClient() as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            answer = (await client.post(f"{server.url}/chat/completions", json=body)).json()
    message = answer["choices"][0]["message"]
    assert message["content"] == "You said hi"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"a": 1}


def test_a_script_that_is_asked_too_often_is_heard_of() -> None:
    def ask() -> None:
        with ModelServer(in_turn()) as server:
            body = {"model": "m", "messages": []}
            assert httpx2.post(f"{server.url}/chat/completions", json=body).status_code == 500

    with pytest.raises(AssertionError, match="once more"):
        ask()


async def test_any_model_of_pydantic_ai_will_do() -> None:
    model = PydanticModel(TestModel(call_tools=["skip"], custom_output_text="a b c"), "test")
    first = last(await hear(model, Prompt("hello")))
    assert [call.tool for call in first.calls] == ["skip"]
    second = last(await hear(model, Prompt("hello"), first, CallResult(first.calls[0].id, "skip", "{}")))
    assert (second.text, second.model) == ("a b c", "test")


async def test_signatures_survive() -> None:
    seen: list[Any] = []

    async def stream(messages: Any, info: AgentInfo) -> Any:
        seen.append(messages)
        yield {0: DeltaThinkingPart(content="deep", signature="signed")}
        yield {1: DeltaToolCall(name="skip", json_args="{}", tool_call_id="x")}

    model = PydanticModel(FunctionModel(stream_function=stream), "test")
    first = last(await hear(model, Prompt("one")))
    await hear(model, Prompt("one"), first, CallResult(first.calls[0].id, "skip", "{}"))
    kept = seen[1][1].parts[0]
    assert (kept.content, kept.signature) == ("deep", "signed")


names = st.sampled_from(["skip", "enter_space", "no such tool!", ""])
ids = st.sampled_from(["a", "b", "c", ""])
calls = st.builds(ToolCall, ids, names, st.one_of(st.text(max_size=5), st.just('{"x": 1}')))
replies = st.builds(
    ModelReply,
    st.text(max_size=5),
    st.lists(calls, max_size=3).map(tuple),
    raw=st.none() | st.sampled_from(["", "[]", "nonsense", '[{"parts":[],"kind":"response"}]']),
)
turns = st.one_of(
    st.builds(Prompt, st.text(max_size=5)),
    replies,
    st.builds(CallResult, ids, names, st.text(max_size=5), st.booleans()),
)


@given(st.lists(turns, max_size=12), st.text(max_size=3))
def test_any_turns_make_a_conversation_that_providers_take(some: list[Turn], system: str) -> None:
    conversation = messages.build_messages(ChatRequest(system=system, turns=some))
    assert [isinstance(one, ModelRequest) for one in conversation] == [n % 2 == 0 for n in range(len(conversation))]
    assert isinstance(conversation[-1], ModelRequest)
    for response, request in zip(conversation[1::2], conversation[2::2], strict=True):
        assert isinstance(response, ModelResponse)
        made = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
        returned = [part.tool_call_id for part in request.parts if isinstance(part, ToolReturnPart)]
        assert len(set(made)) == len(made)
        assert returned == made
        assert response.parts
        kinds = [isinstance(part, ToolReturnPart) for part in request.parts]
        assert kinds == sorted(kinds, reverse=True)
        assert request.parts
    told = "".join(str(part) for message in conversation for part in message.parts)
    for turn in some:
        if isinstance(turn, Prompt) and turn.text.strip():
            assert repr(turn.text) in told
    assert not any(isinstance(part, ToolReturnPart) for part in conversation[0].parts)


def test_the_demo_needs_no_library() -> None:
    program = """
import sys
from gatepost.adapters.models.factory import open_model
from gatepost.core.agent import ModelChoice
open_model(ModelChoice(), {}), open_model(ModelChoice(name="openai:gpt-5"), {})
assert not {"pydantic_ai", "openai", "anthropic", "pydantic"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_chosen() -> None:
    assert open_model(ModelChoice(name="demo"), {}).name == "demo"
    stand_in = open_model(ModelChoice(name="openai:gpt-5"), {})
    assert isinstance(stand_in, DemoModel)
    assert stand_in.name == "demo (no OPENAI_API_KEY)"
    named = ModelChoice(name="openai:x", base_url="http://127.0.0.1:1/v1", key_env="MY_KEY")
    assert open_model(named, {"OPENAI_API_KEY": "k"}).name == "demo (no MY_KEY)"
    assert open_model(ModelChoice(name="anthropic:claude"), {"ANTHROPIC_API_KEY": " "}).name.startswith("demo (")
    for choice, environ in (
        (ModelChoice(name="openai:gpt-5"), {"OPENAI_API_KEY": "k"}),
        (ModelChoice(name="openai:mine", base_url="http://127.0.0.1:1/v1"), {}),
        (named, {"MY_KEY": "k"}),
        (ModelChoice(name="anthropic:claude-x"), {"ANTHROPIC_API_KEY": "k"}),
        (ModelChoice(name="ollama:llama3"), {}),
    ):
        model = open_model(choice, environ)
        assert isinstance(model, PydanticModel)
        assert model.name == choice.name


@pytest.mark.parametrize("name", ["", "gpt-5", "openai:", "code", "mistral:large", "Demo"])
def test_what_is_no_model(name: str) -> None:
    with pytest.raises(Invalid, match="is not a model"):
        open_model(ModelChoice(name=name), {"OPENAI_API_KEY": "k"})
    with pytest.raises(Invalid, match="address"):
        open_model(ModelChoice(name="ollama:x", base_url="file:///etc/passwd"), {})


@pytest.mark.parametrize(
    ("name", "extra"), [("openai:x", "openai"), ("ollama:x", "openai"), ("anthropic:x", "anthropic")]
)
def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, name: str, extra: str) -> None:
    monkeypatch.setitem(sys.modules, extra, None)
    with pytest.raises(Unavailable) as failed:
        open_model(ModelChoice(name=name), {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert failed.value.hint == f"pip install 'gatepost[{extra}]'"
