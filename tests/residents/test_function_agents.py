"""Residents that are functions of this process: what they do is done once, however often they are called."""

import asyncio
from contextlib import closing

import pytest

from gatepost import Gatepost, Posted
from gatepost.app import open_store
from gatepost.errors import GatepostError, NotFound
from gatepost.gates.gate_api import AddGate, ResolveGate
from gatepost.inbox.event import EventType, ItemState
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import ShowSpace
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT


async def test_two_who_answer_each_other_stop_and_somebody_is_told(tmp_path: object) -> None:
    app = Gatepost(f"sqlite:///{tmp_path}/office.db")

    async def answer(batch: object, ctx: object) -> None:
        for event in batch.of(Posted):  # type: ignore[attr-defined]
            await ctx.reply(event, f"{event.text}!")  # type: ignore[attr-defined]

    app.agent("ana")(answer)
    app.agent("ben")(answer)
    async with app:
        space = await app.space("room", members=["husam", "ana", "ben"])
        await space.say("hello", by="husam")
        async with asyncio.timeout(LAST_RESORT):
            await app.until_idle()
        messages = await space.messages()
        alerts = [item for item in await app.inbox("admin") if item.event.type is EventType.ALERT]
        assert 17 <= len(messages) <= 2 * 17 + 2
        assert alerts
        pending_items = [
            item for name in ("ana", "ben") for item in await app.inbox(name) if item.state is ItemState.PENDING
        ]
        assert pending_items
        assert not any(item.event.wakes for item in pending_items)


@pytest.mark.parametrize("fail_at", [1, 2, 3])
async def test_a_function_goes_on_where_it_was(tmp_path: object, fail_at: int) -> None:
    """It is called again with the same batch, and what it did before is not done again."""
    calls: list[int] = []

    def build_app() -> Gatepost:
        app = Gatepost(f"sqlite:///{tmp_path}/office.db")

        @app.agent("ana")
        async def ana(batch: object, ctx: object) -> None:
            calls.append(len(batch))  # type: ignore[arg-type]
            for number in range(3):
                if number + 1 == fail_at and len(calls) == 1:
                    raise RuntimeError("boom")
                await ctx.say("room", f"message {number}")  # type: ignore[attr-defined]

        return app

    app = build_app()
    async with app:
        space = await app.space("room", members=["husam", "ana"])
        await space.say("go", by="husam")
        with closing(open_store(f"sqlite:///{tmp_path}/office.db")) as other_store:
            await asyncio.to_thread(
                wait_until, lambda: len(other_store.read_sync(spaces.read, "room")) == 4, "it has gone on"
            )
        await app.until_idle()
        assert [message.content for message in await space.messages()][1:] == ["message 0", "message 1", "message 2"]
    assert calls == [1, 1]


async def test_a_refusal_that_a_function_minds_not_is_the_same_when_it_is_called_again(tmp_path: object) -> None:
    refusals: list[str] = []
    app = Gatepost(f"sqlite:///{tmp_path}/office.db")

    @app.agent("ana")
    async def ana(batch: object, ctx: object) -> None:
        try:
            await ctx.say("secret", "hello?")  # type: ignore[attr-defined]
        except GatepostError as error:
            refusals.append(error.message)
        await ctx.say("room", "once")  # type: ignore[attr-defined]
        if len(refusals) == 1:
            raise RuntimeError("boom")

    async with app:
        await app.space("secret", members=["husam"])
        space = await app.space("room", members=["husam", "ana"])
        await space.say("go", by="husam")
        await asyncio.to_thread(wait_until, lambda: len(refusals) == 2, "it was called again")
        await app.until_idle()
        assert [message.content for message in await space.messages()] == ["go", "once"]
    assert refusals[0] == refusals[1]


async def test_a_space_may_be_called_anything(tmp_path: object) -> None:
    async with Gatepost(f"sqlite:///{tmp_path}/office.db") as app:
        space = await app.space("Project Alpha", members=["husam"])
        await space.say("hello", by="husam")
        assert (await app.space("Project Alpha")).id == space.id == "project-alpha"
        assert await (await app.space("project-alpha")).transcript() == "husam: hello"


async def test_every_request_can_be_sent_in_process(tmp_path: object) -> None:
    app = Gatepost(f"sqlite:///{tmp_path}/office.db")
    async with app:
        await app.person("husam")
        gate = await app.send(AddGate(name="Sign-off", owner="husam", within="2h"))
        assert (await app.send(ResolveGate(id=gate.id, reason="CI is green"))).status == "resolved"
        with pytest.raises(NotFound):
            await app.send(ShowSpace(id="nowhere"))
