"""What readers of a space see while a resident writes: only what will be said there, and each stream has an end."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from gatepost.core.signals import Frame
from gatepost.residents.background import text_streaming as streaming
from gatepost.residents.background.text_streaming import Streams
from gatepost.residents.model_port import CallDelta
from gatepost.residents.runs.run import Run, RunStatus

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


class StreamRecorder:
    """Streams of one reply, the spaces where the agent may speak, and what their readers are shown."""

    def __init__(self, *spaces: str, active: str | None = None) -> None:
        self.spaces = set(spaces)
        self.frames: list[Frame] = []
        self.asked_spaces: list[str] = []
        self.streams = Streams(RUN, 2, active, self._can_speak, self._send)

    async def feed_deltas(self, *deltas: tuple[str, str, str]) -> None:
        """Let a model write, and readers look up after every word."""
        for call, tool, arguments in deltas:
            self.streams.add_delta(CallDelta(call, tool, arguments))
            await self.streams.wait_for_permissions()

    def list_phases(self) -> list[tuple[str, str, str]]:
        return [
            (frame.topic.name, frame.data.get("phase", "failed"), frame.data.get("delta", ""))
            for frame in self.frames
            if frame.topic.kind == "space"
        ]

    async def _can_speak(self, space: str) -> bool:
        self.asked_spaces.append(space)
        return space in self.spaces

    def _send(self, frames: Sequence[Frame]) -> None:
        self.frames += frames


def build_enter_delta(arguments: str, call: str = "e") -> tuple[str, str, str]:
    return call, "enter_space", arguments


def build_say_delta(arguments: str, call: str = "s") -> tuple[str, str, str]:
    return call, "send_message", arguments


async def test_a_message_follows_the_agent_into_the_space_it_enters() -> None:
    recorder = StreamRecorder("tea", "old", active="old")
    await recorder.feed_deltas(
        build_enter_delta('{"spaceId": "tea", "limit": 5}'),
        build_say_delta('{"text": "word'),
        build_say_delta('{"text": "word by"}'),
    )
    await recorder.streams.finish(1, message="msg_1")
    assert recorder.list_phases() == [
        ("tea", "start", ""),
        ("tea", "delta", "word"),
        ("tea", "delta", " by"),
        ("tea", "done", ""),
    ]


@pytest.mark.parametrize(
    "arguments",
    ['{"spaceId": "tea", "limit": 0}', '{"spaceId": "tea", "limit": "x"}', '{"spaceId": 5}', '{"space": "tea"}', "[]"],
)
async def test_nothing_is_shown_where_it_may_not_be_said(arguments: str) -> None:
    """The call that would enter is refused, and the message goes to where the agent was before."""
    recorder = StreamRecorder("tea", "old", active="old")
    await recorder.feed_deltas(
        build_enter_delta(arguments),
        build_say_delta('{"text": "for the old'),
        build_say_delta('{"text": "for the old ones only"}'),
    )
    assert recorder.list_phases() == []


async def test_what_comes_in_one_piece_is_shown_only_if_there_is_more_to_come() -> None:
    """Else it is stored in a moment, and nobody need be asked whether it may be shown until then."""
    recorder = StreamRecorder("tea", active="tea")
    await recorder.feed_deltas(build_say_delta('{"text": "at once"}'))
    assert (recorder.list_phases(), recorder.asked_spaces) == ([], [])
    await recorder.feed_deltas(build_say_delta('{"text": "and', "t"))
    assert recorder.list_phases()[:2] == [("tea", "start", ""), ("tea", "delta", "at once")]
    await recorder.streams.finish(0, message="msg_1")
    assert recorder.list_phases()[-1] == ("tea", "done", "")


async def test_the_beginning_of_a_name_is_not_taken_for_a_name() -> None:
    recorder = StreamRecorder("t", "team")
    await recorder.feed_deltas(
        build_enter_delta('{"spaceId": "t'),
        build_say_delta('{"text": "inter'),
        build_enter_delta('{"spaceId": "team"}'),
        build_say_delta('{"text": "interleaved"}'),
    )
    assert recorder.list_phases() == [("team", "start", ""), ("team", "delta", "interleaved")]


async def test_a_space_that_is_entered_after_it_does_not_count() -> None:
    recorder = StreamRecorder("tea", "old", active="old")
    await recorder.feed_deltas(build_say_delta('{"text": "bye"}'), build_enter_delta('{"spaceId": "tea"}'))
    assert {space for space, _, _ in recorder.list_phases()} == {"old"}


async def test_who_loses_the_space_is_no_longer_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "_RECHECK_SECONDS", 0.0)
    recorder = StreamRecorder("tea", active="tea")
    await recorder.feed_deltas(build_say_delta('{"text": "one'), build_say_delta('{"text": "one two'))
    recorder.spaces.clear()
    await recorder.feed_deltas(
        build_say_delta('{"text": "one two three'), build_say_delta('{"text": "one two three four"}')
    )
    assert recorder.list_phases()[-2:] == [("tea", "delta", " three"), ("tea", "failed", "")]
    asked_count = len(recorder.asked_spaces)
    await recorder.feed_deltas(build_say_delta('{"text": "one two three four five"}'))
    await recorder.streams.finish(0, message=None, reason="it was not sent")
    assert (recorder.list_phases()[-1], len(recorder.asked_spaces)) == (("tea", "failed", ""), asked_count)


async def test_it_is_not_asked_at_every_word() -> None:
    recorder = StreamRecorder("tea", active="tea")
    await recorder.feed_deltas(*(build_say_delta('{"text": "' + "x" * length) for length in range(1, 50)))
    assert recorder.asked_spaces == ["tea"]


@pytest.mark.parametrize("is_settled", [True, False])
async def test_what_will_not_go_on_is_void_at_once(is_settled: bool) -> None:
    """A run that is cancelled, or skips, or begins anew: nothing is left open, and nothing begins afterwards."""
    recorder = StreamRecorder("tea", active="tea")
    recorder.streams.add_delta(CallDelta(*build_say_delta('{"text": "ghost')))
    if is_settled:
        await recorder.streams.wait_for_permissions()
    recorder.streams.cancel("the cycle ended")
    expected: list[Any] = [("tea", "start", ""), ("tea", "delta", "ghost"), ("tea", "failed", "")] if is_settled else []
    await recorder.streams.wait_for_permissions()  # whoever still waits for it is not stopped
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    assert recorder.list_phases() == expected
