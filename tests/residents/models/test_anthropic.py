"""The other protocol: what Anthropic is sent, and what is made of what it sends."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import pytest

from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import CallResult, ChatRequest, ModelReply, Prompt, ToolCall, ToolSpec, Turn, Usage
from gatepost.residents.models.pydantic_ai_model import PydanticModel

Handler = Callable[[httpx2.Request], httpx2.Response]


def render_events(*parts: dict[str, Any], reason: str | None = "tool_use") -> str:
    usage = {"input_tokens": 11, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude", "usage": usage}
    stream_events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, *parts]
    if reason is not None:
        delta = {"stop_reason": reason, "stop_sequence": None}
        stream_events += [
            {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in stream_events)


def build_block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


THINKING_EVENTS = build_block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "deep"},
    {"type": "signature_delta", "signature": "signed"},
)
TOOL_USE_EVENTS = build_block(
    1,
    {"type": "tool_use", "id": "toolu_1", "name": "skip", "input": {}},
    {"type": "input_json_delta", "partial_json": '{"reason": '},
    {"type": "input_json_delta", "partial_json": '"none"}'},
)


async def request_reply(handler: Handler, *turns: Turn) -> ModelReply:
    # Imported here: it takes seconds, and every process collects this file.
    from anthropic import AsyncAnthropic
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    client = AsyncAnthropic(
        api_key="sk-ant-secret", max_retries=0, http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    )
    model = AnthropicModel("claude-haiku-5-5", provider=AnthropicProvider(anthropic_client=client))
    tools = [ToolSpec("skip", "Say nothing.", {"type": "object", "properties": {"reason": {"type": "string"}}})]
    ask = ChatRequest(system="Ada", turns=turns, tools=tools)
    try:
        *_, reply = [
            part async for part in PydanticModel(model, "anthropic:claude", has_finish_reason=True).respond(ask)
        ]
    finally:
        await client.close()
    assert isinstance(reply, ModelReply)
    return reply


def build_handler(text: str, requests: list[Any] | None = None) -> Handler:
    def handler(request: httpx2.Request) -> httpx2.Response:
        if requests is not None:
            requests.append(json.loads(request.content))
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, text=text)

    return handler


async def test_thoughts_signatures_and_calls_go_there_and_back() -> None:
    requests: list[Any] = []
    handler = build_handler(render_events(*THINKING_EVENTS, *TOOL_USE_EVENTS), requests)
    reply = await request_reply(handler, Prompt("one"))
    assert [(call.tool, call.arguments) for call in reply.calls] == [("skip", '{"reason": "none"}')]
    assert reply.usage == Usage(11, 7)
    id = reply.calls[0].id
    await request_reply(handler, Prompt("one"), reply, CallResult(id, "skip", "{}"), Prompt("two"))
    messages = requests[1]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[1]["content"][0] == {"type": "thinking", "thinking": "deep", "signature": "signed"}
    assert (messages[1]["content"][1]["id"], messages[1]["content"][1]["input"]) == (id, {"reason": "none"})
    assert [part["type"] for part in messages[2]["content"]] == ["tool_result", "text"]
    assert messages[2]["content"][0]["tool_use_id"] == id


async def test_a_mind_that_was_cut_is_one_it_takes() -> None:
    requests: list[Any] = []
    turns: Sequence[Turn] = [
        CallResult("gone", "deploy", '{"ok":true}'),
        ModelReply("  ", (ToolCall("a", "no such tool", "{broken"), ToolCall("b", "skip", ""))),
        CallResult("b", "skip", "", ok=False),
        ModelReply(),
        ModelReply("well"),
        ModelReply("now"),
    ]
    await request_reply(build_handler(render_events(reason="end_turn"), requests), *turns)
    messages = requests[0]["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * 3 + ["user"]
    assert [part["id"] for part in messages[1]["content"]] == ["a", "b"]
    assert [part["tool_use_id"] for part in messages[2]["content"]] == ["a", "b"]
    assert "deploy" in json.dumps(messages[0])
    assert '""' not in json.dumps([part.get("text", "x") for message in messages for part in message["content"]])


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (httpx2.Response(429, json={"type": "error", "error": {"type": "rate_limit_error"}}), Trouble.RATE_LIMIT),
        (httpx2.Response(529, json={"type": "error", "error": {"type": "overloaded_error"}}), Trouble.OVERLOAD),
        (httpx2.Response(401, json={"type": "error", "error": {"type": "authentication_error"}}), Trouble.AUTH),
        (httpx2.Response(413, json={"type": "error", "error": {"type": "request_too_large"}}), Trouble.LENGTH),
        (httpx2.Response(400, json={"type": "error", "error": {"type": "invalid_request_error"}}), Trouble.CONTENT),
        (httpx2.Response(404, json={"type": "error", "error": {"type": "not_found_error"}}), Trouble.OTHER),
        (render_events(*THINKING_EVENTS, reason="refusal"), Trouble.CONTENT),
        (
            render_events(*THINKING_EVENTS, {"type": "error", "error": {"type": "overloaded_error"}}, reason=None),
            Trouble.OVERLOAD,
        ),
        (render_events(*THINKING_EVENTS, *TOOL_USE_EVENTS, reason=None), Trouble.OVERLOAD),
    ],
)
async def test_its_failures_have_the_same_classes(answer: httpx2.Response | str, trouble: Trouble) -> None:
    handler = build_handler(answer) if isinstance(answer, str) else lambda _: answer
    with pytest.raises(ModelFailed) as error:
        await request_reply(handler, Prompt("one"))
    assert error.value.trouble is trouble
    assert "secret" not in error.value.reason


async def test_no_connection() -> None:
    def handler(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("sk-ant-secret", request=request)

    with pytest.raises(ModelFailed) as error:
        await request_reply(handler, Prompt("one"))
    assert error.value.trouble is Trouble.OVERLOAD
    assert error.value.reason == "anthropic:claude cannot be reached"
