"""Residents that are functions of this process: what they do is done once, however often they are called."""

import asyncio
from contextlib import closing

import pytest

from gatepost import Gatepost, Posted
from gatepost.actions import spaces
from gatepost.app import open_store
from gatepost.core.event import EventType, ItemState
from gatepost.errors import GatepostError
from tests.servers import until


async def test_two_who_answer_each_other_stop_and_somebody_is_told(tmp_path: object) -> None:
    post = Gatepost(f"sqlite:///{tmp_path}/office.db")

    async def answer(batch: object, me: object) -> None:
        for event in batch.of(Posted):  # type: ignore[attr-defined]
            await me.reply(event, f"{event.text}!")  # type: ignore[attr-defined]

    post.agent("ana")(answer)
    post.agent("ben")(answer)
    async with post:
        room = await post.space("room", members=["husam", "ana", "ben"])
        await room.say("hello", by="husam")
        async with asyncio.timeout(60):
            await post.until_idle()
        said = await room.messages()
        alerts = [item for item in await post.inbox("admin") if item.event.type is EventType.ALERT]
        assert 17 <= len(said) <= 2 * 17 + 2
        assert alerts
        held = [item for name in ("ana", "ben") for item in await post.inbox(name) if item.state is ItemState.PENDING]
        assert held
        assert not any(item.event.wakes for item in held)


@pytest.mark.parametrize("fail_at", [1, 2, 3])
async def test_a_function_goes_on_where_it_was(tmp_path: object, fail_at: int) -> None:
    """It is called again with the same batch, and what it did before is not done again."""
    calls: list[int] = []

    def office() -> Gatepost:
        post = Gatepost(f"sqlite:///{tmp_path}/office.db")

        @post.agent("ana")
        async def ana(batch: object, me: object) -> None:
            calls.append(len(batch))  # type: ignore[arg-type]
            for number in range(3):
                if number + 1 == fail_at and len(calls) == 1:
                    raise RuntimeError("boom")
                await me.say("room", f"message {number}")  # type: ignore[attr-defined]

        return post

    post = office()
    async with post:
        room = await post.space("room", members=["husam", "ana"])
        await room.say("go", by="husam")
        with closing(open_store(f"sqlite:///{tmp_path}/office.db")) as other:
            await asyncio.to_thread(until, lambda: len(other.query(spaces.read, "room")) == 4, "it has gone on")
        await post.until_idle()
        assert [one.content for one in await room.messages()][1:] == ["message 0", "message 1", "message 2"]
    assert calls == [1, 1]


async def test_a_refusal_that_a_function_minds_not_is_the_same_when_it_is_called_again(tmp_path: object) -> None:
    refusals: list[str] = []
    post = Gatepost(f"sqlite:///{tmp_path}/office.db")

    @post.agent("ana")
    async def ana(batch: object, me: object) -> None:
        try:
            await me.say("secret", "hello?")  # type: ignore[attr-defined]
        except GatepostError as error:
            refusals.append(error.message)
        await me.say("room", "once")  # type: ignore[attr-defined]
        if len(refusals) == 1:
            raise RuntimeError("boom")

    async with post:
        await post.space("secret", members=["husam"])
        room = await post.space("room", members=["husam", "ana"])
        await room.say("go", by="husam")
        await asyncio.to_thread(until, lambda: len(refusals) == 2, "it was called again")
        await post.until_idle()
        assert [one.content for one in await room.messages()] == ["go", "once"]
    assert refusals[0] == refusals[1]


async def test_a_space_may_be_called_anything(tmp_path: object) -> None:
    async with Gatepost(f"sqlite:///{tmp_path}/office.db") as post:
        room = await post.space("Project Alpha", members=["husam"])
        await room.say("hello", by="husam")
        assert (await post.space("Project Alpha")).id == room.id == "project-alpha"
        assert await (await post.space("project-alpha")).transcript() == "husam: hello"
