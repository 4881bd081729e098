"""Conversations with a model: what it is shown, what is heard of it, and that nothing of it is lost."""

import json
import math
import subprocess
import sys
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from hypothesis import given, strategies as st
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage

from gatepost.errors import Invalid, Unavailable
from gatepost.residents.agent_config import ModelChoice
from gatepost.residents.model_port import (
    CallDelta,
    CallResult,
    ChatRequest,
    Model,
    ModelOutput,
    ModelReply,
    Prompt,
    TextDelta,
    ToolCall,
    ToolSpec,
    Turn,
    Usage,
)
from gatepost.residents.models import messages
from gatepost.residents.models.demo import DemoModel
from gatepost.residents.models.factory import open_model
from gatepost.residents.models.pydantic_ai_model import PydanticModel
from tests.residents.model_server import Answer, CompletionRequest, ModelServer, Say, Think, Tokens, Use, follow_script

ENTER = ToolSpec(
    "enter_space",
    "Enter a space.",
    {"type": "object", "properties": {"spaceId": {"type": "string"}}, "required": ["spaceId"]},
)
SKIP = ToolSpec("skip", "Say nothing.", {"type": "object", "properties": {}})
TOOLS = (ENTER, SKIP)


async def collect_output(model: Model, *turns: Turn, **options: Any) -> list[ModelOutput]:
    return [
        part async for part in model.respond(ChatRequest(system="You are Ada.", turns=turns, tools=TOOLS, **options))
    ]


def get_reply(output: list[ModelOutput]) -> ModelReply:
    reply = output[-1]
    assert isinstance(reply, ModelReply)
    return reply


def open_server_model(server: ModelServer) -> Model:
    return open_model(ModelChoice(name="openai:gpt-test", base_url=server.url), {})


async def test_words_and_calls_come_as_they_are_written_and_once_more_as_a_whole() -> None:
    answer: Answer = [
        Say("Let me look around. "),
        Use("enter_space", {"spaceId": "family"}),
        Use("skip", ""),
        Use("enter_space", '{"spaceId": '),
        Tokens(11, 7),
    ]
    with ModelServer(follow_script(answer)) as server:
        model = open_server_model(server)
        output = await collect_output(model, Prompt("INBOX (1 event, now):\n..."), temperature=0.5, max_tokens=99)
        await model.close()
        request = server.requests[0]
    reply = get_reply(output)
    assert reply.text == "Let me look around. "
    assert [call.tool for call in reply.calls] == ["enter_space", "skip", "enter_space"]
    assert [call.arguments for call in reply.calls] == ['{"spaceId": "family"}', "{}", '{"spaceId": ']
    assert (reply.usage, reply.model) == (Usage(11, 7), "openai:gpt-test")
    texts = [part.text for part in output if isinstance(part, TextDelta)]
    assert len(texts) > 1
    assert "".join(texts) == reply.text
    for call in (reply.calls[0], reply.calls[2]):
        argument_texts = [part.arguments for part in output if isinstance(part, CallDelta) and part.call == call.id]
        assert len(argument_texts) > 2
        assert all(later.startswith(earlier) for earlier, later in pairwise(argument_texts))
        assert argument_texts[-1] == call.arguments
    assert request.system == "You are Ada."
    assert request.inbox.startswith("INBOX (1 event")
    assert request.tool_names == ["enter_space", "skip"]
    assert request["tools"][0]["function"]["parameters"] == ENTER.schema
    assert (request["temperature"], request["max_completion_tokens"]) == (0.5, 99)


@pytest.mark.parametrize("call_id", ["", "call_0"])
async def test_calls_have_ids_of_their_own_whatever_the_server_sends(call_id: str) -> None:
    answer: Answer = [Use("skip", id=call_id), Use("skip", id=call_id)]
    with ModelServer(follow_script(answer, answer)) as server:
        model = open_server_model(server)
        first = get_reply(await collect_output(model, Prompt("one")))
        results = [CallResult(call.id, call.tool, f'{{"was":{n}}}') for n, call in enumerate(first.calls)]
        second = get_reply(await collect_output(model, Prompt("one"), first, *results, Prompt("two")))
        await model.close()
        messages = server.requests[1].messages
    ids = [call.id for call in (*first.calls, *second.calls)]
    assert len(set(ids)) == 4
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [message["id"] for message in messages[2]["tool_calls"]] == ids[:2]
    assert [(message["tool_call_id"], message["content"]) for message in messages[3:5]] == [
        (ids[0], '{"was":0}'),
        (ids[1], '{"was":1}'),
    ]


async def test_an_empty_reply_is_one_and_is_not_sent_back() -> None:
    with ModelServer(follow_script([], [Think("hm")], Say("ok"))) as server:
        model = open_server_model(server)
        first = get_reply(await collect_output(model, Prompt("one")))
        second = get_reply(await collect_output(model, Prompt("one"), first, Prompt("two")))
        await collect_output(model, Prompt("one"), first, Prompt("two"), second, Prompt("three"))
        await model.close()
        messages = server.requests[2].messages
    assert (first.text, first.calls) == (second.text, second.calls) == ("", ())
    assert {message["role"] for message in messages} == {"system", "user"}


async def test_the_very_message_is_sent_back_thoughts_and_all() -> None:
    with ModelServer(follow_script([Think("Who is Husam?"), Say("Hm. "), Use("skip")], Say("done"))) as server:
        model = open_server_model(server)
        first = get_reply(await collect_output(model, Prompt("one")))
        await collect_output(model, Prompt("one"), first, CallResult(first.calls[0].id, "skip", "{}"))
        await model.close()
        message = server.requests[1].messages[2]
    assert first.raw is not None
    assert server.url not in first.raw
    assert message["reasoning_content"] == "Who is Husam?"
    assert message["content"] == "Hm. "


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        *((7, 7), (12.0, 12), (10**7, 10**7)),
        *((12.5, 0), ("7", 0), (True, 0), (-3, 0), (10**7 + 1, 0), (1e300, 0), (math.inf, 0), (math.nan, 0), (None, 0)),
    ],
)
def test_what_cannot_be_a_count_is_not_counted(tokens: Any, expected: int) -> None:
    response = ModelResponse([], usage=RequestUsage(input_tokens=tokens, output_tokens=tokens))
    assert messages.parse_reply(response, model="m", ids=[]).usage == Usage(expected, expected)


async def test_a_failed_result_reaches_the_model_as_it_is() -> None:
    """Chat completions have no mark for failures; the result says so itself, and is not wrapped in another error."""
    with ModelServer(follow_script(Use("skip"), Say("Well."))) as server:
        model = open_server_model(server)
        first = get_reply(await collect_output(model, Prompt("one")))
        failure_text = '{"success":false,"error":"there is no space \\"x\\""}'
        await collect_output(model, Prompt("one"), first, CallResult(first.calls[0].id, "skip", failure_text, ok=False))
        await model.close()
        [tool_content] = [message["content"] for message in server.requests[1].messages if message["role"] == "tool"]
    assert tool_content == failure_text


async def test_text_that_cannot_be_stored_is_mended() -> None:
    answer: Answer = [Say("\ud83d"), Say("\0"), Use("skip", '{"reason": "\ud83d"}')]
    with ModelServer(follow_script(answer)) as server:
        model = open_server_model(server)
        reply = get_reply(await collect_output(model, Prompt("one")))
        await model.close()
    for text in (reply.text, reply.calls[0].arguments, reply.raw or ""):
        assert "\0" not in text.encode().decode()
    assert reply.text == "\ufffd\ufffd"


async def test_a_server_may_be_asked_without_streaming_too() -> None:
    """Not by us; but the server is for everybody."""

    def script(request: CompletionRequest) -> Answer:
        return [Say(f"You said {request.messages[-1]['content']}"), Use("skip", {"a": 1})]

    with ModelServer(script) as server:
        async with httpx2.AsyncClient() as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
            answer = (await client.post(f"{server.url}/chat/completions", json=body)).json()
    message = answer["choices"][0]["message"]
    assert message["content"] == "You said hi"
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"a": 1}


def test_a_script_that_is_asked_too_often_is_heard_of() -> None:
    def ask() -> None:
        with ModelServer(follow_script()) as server:
            body = {"model": "m", "messages": []}
            assert httpx2.post(f"{server.url}/chat/completions", json=body).status_code == 500

    with pytest.raises(AssertionError, match="once more"):
        ask()


async def test_any_model_of_pydantic_ai_will_do() -> None:
    model = PydanticModel(TestModel(call_tools=["skip"], custom_output_text="a b c"), "test")
    first = get_reply(await collect_output(model, Prompt("hello")))
    assert [call.tool for call in first.calls] == ["skip"]
    second = get_reply(await collect_output(model, Prompt("hello"), first, CallResult(first.calls[0].id, "skip", "{}")))
    assert (second.text, second.model) == ("a b c", "test")


async def test_signatures_survive() -> None:
    requests: list[Any] = []

    async def stream(messages: Any, info: AgentInfo) -> Any:
        requests.append(messages)
        yield {0: DeltaThinkingPart(content="deep", signature="signed")}
        yield {1: DeltaToolCall(name="skip", json_args="{}", tool_call_id="x")}

    model = PydanticModel(FunctionModel(stream_function=stream), "test")
    first = get_reply(await collect_output(model, Prompt("one")))
    await collect_output(model, Prompt("one"), first, CallResult(first.calls[0].id, "skip", "{}"))
    part = requests[1][1].parts[0]
    assert (part.content, part.signature) == ("deep", "signed")


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
def test_any_turns_make_a_conversation_that_providers_take(turn_list: list[Turn], system: str) -> None:
    conversation = messages.build_messages(ChatRequest(system=system, turns=turn_list))
    assert [isinstance(entry, ModelRequest) for entry in conversation] == [n % 2 == 0 for n in range(len(conversation))]
    assert isinstance(conversation[-1], ModelRequest)
    for response, request in zip(conversation[1::2], conversation[2::2], strict=True):
        assert isinstance(response, ModelResponse)
        call_ids = [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]
        result_ids = [part.tool_call_id for part in request.parts if isinstance(part, ToolReturnPart)]
        assert len(set(call_ids)) == len(call_ids)
        assert result_ids == call_ids
        assert response.parts
        kinds = [isinstance(part, ToolReturnPart) for part in request.parts]
        assert kinds == sorted(kinds, reverse=True)
        assert request.parts
    text = "".join(str(part) for message in conversation for part in message.parts)
    for turn in turn_list:
        if isinstance(turn, Prompt) and turn.text.strip():
            assert repr(turn.text) in text
    assert not any(isinstance(part, ToolReturnPart) for part in conversation[0].parts)


def test_the_demo_needs_no_library() -> None:
    program = """
import sys
from gatepost.residents.models.factory import open_model
from gatepost.residents.agent_config import ModelChoice
open_model(ModelChoice(), {}), open_model(ModelChoice(name="openai:gpt-5"), {})
assert not {"pydantic_ai", "openai", "anthropic", "pydantic"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_chosen() -> None:
    assert open_model(ModelChoice(name="demo"), {}).name == "demo"
    stand_in = open_model(ModelChoice(name="openai:gpt-5"), {})
    assert isinstance(stand_in, DemoModel)
    assert stand_in.name == "demo (no OPENAI_API_KEY)"
    custom_choice = ModelChoice(name="openai:x", base_url="http://127.0.0.1:1/v1", key_env="MY_KEY")
    assert open_model(custom_choice, {"OPENAI_API_KEY": "k"}).name == "demo (no MY_KEY)"
    assert open_model(ModelChoice(name="anthropic:claude"), {"ANTHROPIC_API_KEY": " "}).name.startswith("demo (")
    for choice, environ in (
        (ModelChoice(name="openai:gpt-5"), {"OPENAI_API_KEY": "k"}),
        (ModelChoice(name="openai:mine", base_url="http://127.0.0.1:1/v1"), {}),
        (custom_choice, {"MY_KEY": "k"}),
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
    with pytest.raises(Unavailable) as error:
        open_model(ModelChoice(name=name), {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"})
    assert error.value.hint == f"pip install 'gatepost[{extra}]'"
