"""What readers of a space see while a resident writes: only what will be said there, and each stream has an end."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from gatepost.core.frame import Frame
from gatepost.core.model import CallDelta
from gatepost.core.run import Run, RunStatus
from gatepost.runtime import streaming
from gatepost.runtime.streaming import Streams

RUN = Run(
    number=1,
    id="run_1",
    agent="ann",
    status=RunStatus.RUNNING,
    cycle=1,
    cause="mail",
    claim="clm_1",
    claim_fence=1,
    events=1,
    hops=0,
    version=1,
    model="demo",
    started_at=0,
)


class Readers:
    """Streams of one reply, the spaces where the agent may speak, and what their readers are shown."""

    def __init__(self, *spaces: str, active: str | None = None) -> None:
        self.spaces = set(spaces)
        self.frames: list[Frame] = []
        self.asked: list[str] = []
        self.streams = Streams(RUN, 2, active, can_speak=self._may_speak, send=self._send)

    async def hear(self, *deltas: tuple[str, str, str]) -> None:
        """Let a model write, and readers look up after every word."""
        for call, tool, arguments in deltas:
            self.streams.add_delta(CallDelta(call, tool, arguments))
            await self.streams.wait_for_permissions()

    def seen(self) -> list[tuple[str, str, str]]:
        return [
            (frame.topic.removeprefix("space:"), frame.data.get("phase", "failed"), frame.data.get("delta", ""))
            for frame in self.frames
            if frame.topic.startswith("space:")
        ]

    async def _may_speak(self, space: str) -> bool:
        self.asked.append(space)
        return space in self.spaces

    def _send(self, frames: Sequence[Frame]) -> None:
        self.frames += frames


def enter(arguments: str, call: str = "e") -> tuple[str, str, str]:
    return call, "enter_space", arguments


def say(arguments: str, call: str = "s") -> tuple[str, str, str]:
    return call, "send_message", arguments


async def test_a_message_follows_the_agent_into_the_space_it_enters() -> None:
    readers = Readers("tea", "old", active="old")
    await readers.hear(enter('{"spaceId": "tea", "limit": 5}'), say('{"text": "word'), say('{"text": "word by"}'))
    await readers.streams.finish(1, message="msg_1")
    assert readers.seen() == [
        ("tea", "start", ""),
        ("tea", "delta", "word"),
        ("tea", "delta", " by"),
        ("tea", "done", ""),
    ]


@pytest.mark.parametrize(
    "refused",
    ['{"spaceId": "tea", "limit": 0}', '{"spaceId": "tea", "limit": "x"}', '{"spaceId": 5}', '{"space": "tea"}', "[]"],
)
async def test_nothing_is_shown_where_it_may_not_be_said(refused: str) -> None:
    """The call that would enter is refused, and the message goes to where the agent was before."""
    readers = Readers("tea", "old", active="old")
    await readers.hear(enter(refused), say('{"text": "for the old'), say('{"text": "for the old ones only"}'))
    assert readers.seen() == []


async def test_what_comes_in_one_piece_is_shown_only_if_there_is_more_to_come() -> None:
    """Else it is stored in a moment, and nobody need be asked whether it may be shown until then."""
    readers = Readers("tea", active="tea")
    await readers.hear(say('{"text": "at once"}'))
    assert (readers.seen(), readers.asked) == ([], [])
    await readers.hear(say('{"text": "and', "t"))
    assert readers.seen()[:2] == [("tea", "start", ""), ("tea", "delta", "at once")]
    await readers.streams.finish(0, message="msg_1")
    assert readers.seen()[-1] == ("tea", "done", "")


async def test_the_beginning_of_a_name_is_not_taken_for_a_name() -> None:
    readers = Readers("t", "team")
    await readers.hear(
        enter('{"spaceId": "t'), say('{"text": "inter'), enter('{"spaceId": "team"}'), say('{"text": "interleaved"}')
    )
    assert readers.seen() == [("team", "start", ""), ("team", "delta", "interleaved")]


async def test_a_space_that_is_entered_after_it_does_not_count() -> None:
    readers = Readers("tea", "old", active="old")
    await readers.hear(say('{"text": "bye"}'), enter('{"spaceId": "tea"}'))
    assert {space for space, _, _ in readers.seen()} == {"old"}


async def test_who_loses_the_space_is_no_longer_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_RECHECK_SECONDS", 0.0)
    readers = Readers("tea", active="tea")
    await readers.hear(say('{"text": "one'), say('{"text": "one two'))
    readers.spaces.clear()
    await readers.hear(say('{"text": "one two three'), say('{"text": "one two three four"}'))
    assert readers.seen()[-2:] == [("tea", "delta", " three"), ("tea", "failed", "")]
    asked = len(readers.asked)
    await readers.hear(say('{"text": "one two three four five"}'))
    await readers.streams.finish(0, message=None, reason="it was not sent")
    assert (readers.seen()[-1], len(readers.asked)) == (("tea", "failed", ""), asked)


async def test_it_is_not_asked_at_every_word() -> None:
    readers = Readers("tea", active="tea")
    await readers.hear(*(say('{"text": "' + "x" * length) for length in range(1, 50)))
    assert readers.asked == ["tea"]


@pytest.mark.parametrize("known", [True, False])
async def test_what_will_not_go_on_is_void_at_once(known: bool) -> None:
    """A run that is cancelled, or skips, or begins anew: nothing is left open, and nothing begins afterwards."""
    readers = Readers("tea", active="tea")
    readers.streams.add_delta(CallDelta(*say('{"text": "ghost')))
    if known:
        await readers.streams.wait_for_permissions()
    readers.streams.cancel("the cycle ended")
    expected: list[Any] = [("tea", "start", ""), ("tea", "delta", "ghost"), ("tea", "failed", "")] if known else []
    await readers.streams.wait_for_permissions()  # whoever still waits for it is not stopped
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    assert readers.seen() == expected
