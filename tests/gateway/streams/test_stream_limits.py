"""One caller reads a limited number of streams, so that its streams do not take all connections and memory."""

from contextlib import AsyncExitStack

from gatepost.gateway.streams.limits import StreamLimits
from tests.support.gateways.local_gateways import Gateway, StreamListener

LIMIT = 3


async def open_streams(gateway: Gateway, stack: AsyncExitStack, count: int, **headers: str) -> list[StreamListener]:
    return [
        await stack.enter_async_context(await gateway.open_stream("/api/inbox/husam/stream", **headers))
        for _ in range(count)
    ]


async def test_a_caller_reads_no_more_streams_than_the_limit(gateway: Gateway) -> None:
    object.__setattr__(gateway.app_state, "stream_limits", StreamLimits(LIMIT))
    key = gateway.create_key(entity="husam")
    second_key = gateway.create_key(entity="husam")
    async with AsyncExitStack() as stack:
        streams = await open_streams(gateway, stack, LIMIT, x_secret_key=key)
        assert [stream.status for stream in streams] == [200] * LIMIT
        for used_key in (key, second_key):
            async with gateway.open_client(x_secret_key=used_key) as client:
                answer = await client.get("/api/inbox/husam/stream")
            assert answer.status_code == 429
            assert answer.headers["retry-after"]
            assert answer.json()["type"] == "urn:gatepost:problem:too-many-streams"
            assert "gateway.streams" in answer.json()["hint"]
        [other_stream] = await open_streams(gateway, stack, 1)
        assert other_stream.status == 200, "others have streams of their own"
        await streams[0].close()
        [new_stream] = await open_streams(gateway, stack, 1, x_secret_key=key)
        assert new_stream.status == 200, "a stream that has ended is not counted"


async def test_the_administrator_has_a_limit_too_and_a_refused_stream_is_not_counted(gateway: Gateway) -> None:
    object.__setattr__(gateway.app_state, "stream_limits", StreamLimits(LIMIT))
    async with AsyncExitStack() as stack, gateway.open_client() as client:
        for _ in range(LIMIT):
            assert (await client.get("/api/inbox/nobody/stream")).status_code == 404
        streams = await open_streams(gateway, stack, LIMIT)
        assert [stream.status for stream in streams] == [200] * LIMIT
        assert (await client.get("/api/inbox/husam/stream")).status_code == 429
