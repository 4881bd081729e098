"""A large body keeps nobody waiting: it is decoded in slices, and its values and its neighbours are limited."""

import asyncio
import json
import re
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import given, strategies as st

from gatepost import executor
from gatepost.core import json_limits
from gatepost.core.json_limits import MAX_VALUES, check_value_count
from gatepost.errors import TooLarge, Unavailable
from gatepost.gateway import http_exchange
from gatepost.gateway.http_exchange import LARGE, HttpExchange, LargeBodies, Message
from gatepost.inbox.push import handlers
from tests.support.gateways.local_gateways import open_gateway


async def test_others_are_answered_while_a_batch_is_decoded(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_TURN", 0.0)
    answer_counts: list[int] = []
    answer_count = 0
    build_push = handlers._build_push_or_error

    def build_and_count(member: bytes, caller: Any) -> Any:
        answer_counts.append(answer_count)
        return build_push(member, caller)

    monkeypatch.setattr(handlers, "_build_push_or_error", build_and_count)
    async with open_gateway(url) as server, server.open_client() as client, server.open_client() as other_client:
        push = {"to": "admin", "content": "x" * 7_000}
        batch = asyncio.create_task(client.post("/api/inbox/batch", json={"pushes": [push] * 1_000}))
        while not batch.done():
            assert (await other_client.get("/api/openapi.json")).status_code == 200
            answer_count += 1
            await asyncio.sleep(0)  # the answer is in memory, and waits for nothing
        assert (await batch).status_code == 200
    assert len(answer_counts) == 1_000
    assert answer_counts[-1] > answer_counts[0], "some were answered between the first push and the last"


async def test_a_batch_over_eight_mebibytes_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_exchange, "_DISCARD_TIME", 0.0)  # nobody goes on sending
    async with open_gateway(url) as server, server.open_client() as client:
        answer = await client.post("/api/inbox/batch", content=b" " * (8 * 1024 * 1024 + 1))
        assert (answer.status_code, answer.json()["detail"]) == (
            413,
            "the body is 8388609 bytes, over the limit of 8388608",
        )


@pytest.mark.parametrize("path", ["/api/inbox", "/api/inbox/batch", "/mcp"])
async def test_a_body_with_too_many_values_is_refused_before_it_is_decoded(url: str, path: str) -> None:
    async with open_gateway(url) as server, server.open_client() as client:
        body = b'{"to": "admin", "data": [' + b"[]," * MAX_VALUES + b"1]}"
        headers = {"content-type": "application/json", "host": "localhost", "accept": "application/json"}
        answer = await client.post(path, content=body, headers=headers)
        assert (answer.status_code, answer.json()["detail"]) == (413, "the body has more than 100,000 JSON values")


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * (MAX_VALUES - 2) + b"1]",
        b'["' + b"a,[{" * MAX_VALUES + b'"]',
        b'["\\"' + b",[{" * MAX_VALUES + b'"]',
        b'["\\\\"' + b',"x,\n"' * 1_000 + b"]" + b" " * MAX_VALUES * 2,
        b'"' + b"," * MAX_VALUES * 4,
    ],
)
def test_commas_and_brackets_within_text_are_no_values(body: bytes) -> None:
    check_value_count(body)


@pytest.mark.parametrize("value", [b"[]", b"{}", b'"a"', b"1", b'{"a":"b"}', b'"\\""'])
def test_all_kinds_of_values_count(value: bytes) -> None:
    with pytest.raises(TooLarge, match="more than 100,000 JSON values"):
        check_value_count(b"[" + (value + b",") * MAX_VALUES + value + b"]")


async def test_others_have_their_turn_while_values_are_counted() -> None:
    """Commas in a text are no values, and what is a text is known only at its end."""
    body = b'["' + b",[{" * 1_000_000 + b'"]'

    async def receive() -> Message:
        return {"type": "http.request", "body": body}

    scope = {"method": "POST", "path": "/", "query_string": b"", "headers": [(b"content-length", b"%d" % len(body))]}
    reading = asyncio.create_task(HttpExchange(scope, receive, AsyncMock()).read_body(len(body)))
    turns = 0
    while not reading.done():
        await asyncio.sleep(0)
        turns += 1
    assert await reading == body
    assert turns > len(body) // 100_000


@given(
    value=st.recursive(
        st.none() | st.integers(0, 9) | st.text('a,[{}]:"\\', max_size=9),
        lambda values: st.lists(values, max_size=5) | st.dictionaries(st.text('a,"\\', max_size=3), values, max_size=4),
        max_leaves=20,
    ),
    slice_size=st.integers(1, 9),
)
def test_values_are_counted_wherever_the_slices_are_cut(value: Any, slice_size: int) -> None:
    body = json.dumps(value).encode()
    count = len(re.findall(r"[,\[{]", re.sub(r'"(?:[^"\\]|\\.)*"', "", body.decode())))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(json_limits, "_SLICE", slice_size)
        monkeypatch.setattr(json_limits, "MAX_VALUES", count)
        check_value_count(body)
        monkeypatch.setattr(json_limits, "MAX_VALUES", count - 1)
        if count > 0 and len(body) >= 2 * (count - 1):
            with pytest.raises(TooLarge):
                check_value_count(body)


def build_exchange(size: int | None) -> Any:
    return SimpleNamespace(declared_size=size)


async def test_a_caller_has_one_large_body_at_a_time_and_others_go_on() -> None:
    bodies = LargeBodies()
    async with bodies.admit(build_exchange(2 * LARGE), "ana", 8 * LARGE):
        second = asyncio.create_task(bodies.admit(build_exchange(None), "ana", 8 * LARGE).__aenter__())
        await asyncio.sleep(0)  # it begins, and ends at once unless it has to wait
        async with bodies.admit(build_exchange(2 * LARGE), "bob", 8 * LARGE):
            pass
        async with bodies.admit(build_exchange(LARGE), "ana", 8 * LARGE):
            pass
        assert not second.done()
    await second


async def test_the_large_bodies_of_all_callers_have_a_limit() -> None:
    bodies = LargeBodies()
    async with bodies.admit(build_exchange(60 * LARGE), "ana", 100 * LARGE):
        with pytest.raises(Unavailable, match="too many large bodies"):
            async with bodies.admit(build_exchange(5 * LARGE), "bob", 100 * LARGE):
                pass
    async with bodies.admit(build_exchange(5 * LARGE), "bob", 100 * LARGE):
        pass
