"""What goes wrong between us and a model, over real HTTP, and what it is called."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from gatepost.residents.agent_config import ModelChoice
from gatepost.residents.model_failures import ModelFailed, Trouble
from gatepost.residents.model_port import ChatRequest, Model, ModelOutput, ModelReply, Prompt, TextDelta, ToolSpec
from gatepost.residents.models.factory import open_model
from tests.residents.model_server import (
    Answer,
    Cut,
    Fail,
    Finish,
    ModelServer,
    PausePoint,
    Refuse,
    Say,
    Use,
    Verbatim,
    follow_script,
    policy_error,
    rate_limit_error,
    unauthorized_error,
)
from tests.support.waits import LAST_RESORT

KEY = "sk-very-secret"
SECRET = "the launch code is 0000"
ASK = ChatRequest(system="You are Ada.", turns=[Prompt(SECRET)], tools=[ToolSpec("skip", "", {"type": "object"})])


@asynccontextmanager
async def open_test_model(url: str, *, silence: float = LAST_RESORT) -> AsyncIterator[Model]:
    choice = ModelChoice(name="openai:gpt-test", base_url=url)
    model = open_model(choice, {"OPENAI_API_KEY": KEY}, read_timeout=silence)
    try:
        yield model
    finally:
        await model.close()


async def get_failure(model: Model) -> ModelFailed:
    with pytest.raises(ModelFailed) as error:
        async for _ in model.respond(ASK):
            pass
    return error.value


def build_error(**fields: Any) -> dict[str, Any]:
    return {"error": {"message": f"{KEY} {SECRET}", **fields}}


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (rate_limit_error(), Trouble.RATE_LIMIT),
        (Fail(429, build_error(code="insufficient_quota")), Trouble.RATE_LIMIT),
        (Fail(402), Trouble.RATE_LIMIT),
        (unauthorized_error(), Trouble.AUTH),
        (Fail(403, build_error()), Trouble.AUTH),
        *((Fail(status, build_error()), Trouble.OVERLOAD) for status in (408, 409, 500, 502, 503, 504, 529)),
        (Fail(503, f"<html>{KEY} {SECRET}</html>"), Trouble.OVERLOAD),
        (policy_error(), Trouble.CONTENT),
        (Fail(400, build_error(code=KEY, type=SECRET)), Trouble.CONTENT),
        *((Fail(status, build_error()), Trouble.CONTENT) for status in (400, 422)),
        (Fail(400, build_error(code="context_length_exceeded")), Trouble.LENGTH),
        (Fail(413, build_error()), Trouble.LENGTH),
        (Refuse(SECRET), Trouble.CONTENT),
        ([Say("Well, "), Finish("content_filter")], Trouble.CONTENT),
        (Fail(400, build_error(code="unsupported_parameter")), Trouble.OTHER),
        (Fail(404, build_error(code="model_not_found")), Trouble.OTHER),
        (Fail(418, build_error()), Trouble.OTHER),
        (Fail(200, f"<html>{SECRET}</html>"), Trouble.OVERLOAD),
        (Cut(0), Trouble.OVERLOAD),
        ([Say("Let me think about that"), Cut()], Trouble.OVERLOAD),
        ([Use("skip", {"reason": "nothing is for me"}), Cut(3)], Trouble.OVERLOAD),
        ([Say("It is over, and nobody said"), Finish(None)], Trouble.OVERLOAD),
        ([Say("What"), Verbatim("{not json")], Trouble.OVERLOAD),
        ([Say("What"), Verbatim('{"error": {"message": "late", "type": "server_error"}}')], Trouble.OVERLOAD),
        ([Say("What"), Verbatim('{"error": {"message": "late", "code": "rate_limit_exceeded"}}')], Trouble.RATE_LIMIT),
    ],
)
async def test_a_failure_has_its_class_and_gives_nothing_away_and_is_not_repeated(
    answer: Answer, trouble: Trouble
) -> None:
    with ModelServer(follow_script(answer, Say("again"))) as server:
        async with open_test_model(server.url) as model:
            error = await get_failure(model)
            assert error.trouble is trouble
            assert error.reason.startswith("openai:gpt-test ")
            assert "\n" not in error.reason
            assert not any(secret in error.reason for secret in (KEY, "sk-", SECRET, "launch"))
            assert error.__cause__ is None
            assert error.__suppress_context__
            assert len(server.requests) == 1
            output = [part async for part in model.respond(ASK)]
            assert isinstance(output[-1], ModelReply)
            assert server.requests[1].api_key == KEY


async def test_how_long_to_wait_is_heard() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=3_000), usegmt=True)
    far_date = format_datetime(datetime.now(UTC) + timedelta(days=3650), usegmt=True)
    answers = [
        rate_limit_error(7),
        rate_limit_error(date),
        rate_limit_error(far_date),
        rate_limit_error("soon"),
        Fail(503, headers={"Retry-After": "3"}),
    ]
    with ModelServer(follow_script(*answers)) as server:
        async with open_test_model(server.url) as model:
            retry_delays = [(await get_failure(model)).retry_after for _ in answers]
    assert retry_delays[0] == 7
    assert retry_delays[1] is not None
    assert 3_000 - LAST_RESORT < retry_delays[1] <= 3_000
    assert retry_delays[2:] == [3600, None, 3]


async def test_a_server_that_falls_silent_is_given_up() -> None:
    gate = PausePoint()
    with ModelServer(follow_script([Say("Well"), gate, Say(" then")])) as server:
        async with open_test_model(server.url, silence=0.2) as model:
            error = await get_failure(model)
        gate.open()
    assert error.trouble is Trouble.OVERLOAD


async def test_nobody_there() -> None:
    with ModelServer(follow_script()) as server:
        url = server.url
    async with open_test_model(url) as model:
        error = await get_failure(model)
    assert error.trouble is Trouble.OVERLOAD


async def test_what_is_heard_before_a_break_is_heard_at_once_and_then_void() -> None:
    gate = PausePoint()
    output: list[ModelOutput] = []
    with ModelServer(follow_script([Say("Good "), gate, Cut()])) as server:
        async with open_test_model(server.url) as model, aclosing(model.respond(ASK)) as stream:
            output.append(await anext(stream))
            gate.open()
            with pytest.raises(ModelFailed):
                output.extend([part async for part in stream])
    assert output == [TextDelta("Good ")]


async def test_whoever_stops_listening_hangs_up() -> None:
    gate = PausePoint()
    with ModelServer(follow_script([Say("One "), gate, *[Say("word " * 1000)] * 200])) as server:
        async with open_test_model(server.url) as model:

            async def listen() -> None:
                async for _ in model.respond(ASK):
                    pass

            task = asyncio.create_task(listen())
            await gate.wait_until_reached()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        gate.open()
        await asyncio.to_thread(server.wait_for_hangups, 1)
