"""What goes wrong between us and a model, over real HTTP, and what it is called."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from gatepost.adapters.models.factory import open_model
from gatepost.core.agent import ModelChoice
from gatepost.core.mind import ModelReply, Prompt
from gatepost.core.model import ChatRequest, ModelFailed, ModelOutput, TextDelta, ToolSpec, Trouble
from gatepost.ports import Model
from tests.models import (
    Answer,
    Cut,
    Fail,
    Finish,
    Gate,
    ModelServer,
    Refuse,
    Say,
    Use,
    Verbatim,
    against_policy,
    in_turn,
    rate_limited,
    unauthorized,
)

KEY = "sk-very-secret"
SECRET = "the launch code is 0000"
ASK = ChatRequest(system="You are Ada.", turns=[Prompt(SECRET)], tools=[ToolSpec("skip", "", {"type": "object"})])


@asynccontextmanager
async def asking(url: str, *, silence: float = 30.0) -> AsyncIterator[Model]:
    choice = ModelChoice(name="openai:gpt-test", base_url=url)
    model = open_model(choice, {"OPENAI_API_KEY": KEY}, read_timeout=silence)
    try:
        yield model
    finally:
        await model.close()


async def failure(model: Model) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        async for _ in model.respond(ASK):
            pass
    return failed.value


def error(**fields: Any) -> dict[str, Any]:
    return {"error": {"message": f"{KEY} {SECRET}", **fields}}


@pytest.mark.parametrize(
    ("answer", "trouble"),
    [
        (rate_limited(), Trouble.RATE_LIMIT),
        (Fail(429, error(code="insufficient_quota")), Trouble.RATE_LIMIT),
        (Fail(402), Trouble.RATE_LIMIT),
        (unauthorized(), Trouble.AUTH),
        (Fail(403, error()), Trouble.AUTH),
        *((Fail(status, error()), Trouble.OVERLOAD) for status in (408, 409, 500, 502, 503, 504, 529)),
        (Fail(503, f"<html>{KEY} {SECRET}</html>"), Trouble.OVERLOAD),
        (against_policy(), Trouble.CONTENT),
        (Fail(400, error(code=KEY, type=SECRET)), Trouble.CONTENT),
        *((Fail(status, error()), Trouble.CONTENT) for status in (400, 422)),
        (Fail(400, error(code="context_length_exceeded")), Trouble.LENGTH),
        (Fail(413, error()), Trouble.LENGTH),
        (Refuse(SECRET), Trouble.CONTENT),
        ([Say("Well, "), Finish("content_filter")], Trouble.CONTENT),
        (Fail(400, error(code="unsupported_parameter")), Trouble.OTHER),
        (Fail(404, error(code="model_not_found")), Trouble.OTHER),
        (Fail(418, error()), Trouble.OTHER),
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
    with ModelServer(in_turn(answer, Say("again"))) as server:
        async with asking(server.url) as model:
            failed = await failure(model)
            assert failed.trouble is trouble
            assert failed.reason.startswith("openai:gpt-test ")
            assert "\n" not in failed.reason
            assert not any(secret in failed.reason for secret in (KEY, "sk-", SECRET, "launch"))
            assert failed.__cause__ is None
            assert failed.__suppress_context__
            assert len(server.asked) == 1
            heard = [one async for one in model.respond(ASK)]
            assert isinstance(heard[-1], ModelReply)
            assert server.asked[1].key == KEY


async def test_how_long_to_wait_is_heard() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=600), usegmt=True)
    far = format_datetime(datetime.now(UTC) + timedelta(days=3650), usegmt=True)
    answers = [
        rate_limited(7),
        rate_limited(date),
        rate_limited(far),
        rate_limited("soon"),
        Fail(503, headers={"Retry-After": "3"}),
    ]
    with ModelServer(in_turn(*answers)) as server:
        async with asking(server.url) as model:
            waits = [(await failure(model)).retry_after for _ in answers]
    assert waits[0] == 7
    assert waits[1] is not None
    assert 500 < waits[1] <= 600
    assert waits[2:] == [3600, None, 3]


async def test_a_server_that_falls_silent_is_given_up() -> None:
    gate = Gate()
    with ModelServer(in_turn([Say("Well"), gate, Say(" then")])) as server:
        async with asking(server.url, silence=0.2) as model:
            failed = await failure(model)
        gate.open()
    assert failed.trouble is Trouble.OVERLOAD


async def test_nobody_there() -> None:
    with ModelServer(in_turn()) as server:
        url = server.url
    async with asking(url) as model:
        failed = await failure(model)
    assert failed.trouble is Trouble.OVERLOAD


async def test_what_is_heard_before_a_break_is_heard_at_once_and_then_void() -> None:
    gate = Gate()
    heard: list[ModelOutput] = []
    with ModelServer(in_turn([Say("Good "), gate, Cut()])) as server:
        async with asking(server.url) as model, aclosing(model.respond(ASK)) as words:
            heard.append(await anext(words))
            gate.open()
            with pytest.raises(ModelFailed):
                heard.extend([one async for one in words])
    assert heard == [TextDelta("Good ")]


async def test_whoever_stops_listening_hangs_up() -> None:
    gate = Gate()
    with ModelServer(in_turn([Say("One "), gate, *[Say("word " * 1000)] * 200])) as server:
        async with asking(server.url) as model:

            async def listen() -> None:
                async for _ in model.respond(ASK):
                    pass

            listening = asyncio.create_task(listen())
            await gate.arrival()
            listening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await listening
        gate.open()
        await asyncio.to_thread(server.until_left, 1)
