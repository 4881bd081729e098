"""
Processes that read a Telegram bot and send on it, and are killed at a point.

`python -m tests.faults.telegram_process` does tasks as `forked_tasks` says. A child takes what Telegram has, by polling
or by a webhook on the real routes of a gateway, and does the jobs that follow, as the duties of a worker do, but one
after the other, until all is at rest. These are the points that it passes:

    before fetch, after fetch           a request for updates; the next one confirms them: before and after confirm
    request, before answer, answered    of an update on the webhook, where the answer confirms it
    before C, after C                   C is another call of the Bot API, or `transcribe`
    before V, before commit of V, after commit of V     V is a verb that the store runs
"""

import asyncio
import dataclasses
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

import structlog
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gatepost.app import open_store
from gatepost.channels.background.channel_tasks import ChannelOptions, Channels
from gatepost.channels.outgoing_message_actions import SEND_JOB
from gatepost.channels.speech.local_transcriber import SAMPLE_RATE, decode_audio
from gatepost.channels.speech.transcriber import Transcript
from gatepost.channels.speech.voice_actions import TRANSCRIBE_JOB
from gatepost.channels.telegram.bot_port import TelegramApi
from gatepost.channels.telegram.client import TelegramClient
from gatepost.core.json_limits import Json
from gatepost.core.policy import Policy
from gatepost.core.ports import Store
from gatepost.core.times import SECOND
from gatepost.errors import Unavailable
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.web_app import GatewayApp
from gatepost.jobs import job_actions as jobs
from gatepost.stores import sqlite  # noqa: F401 (imported before the fork, for speed)
from gatepost.stores.threaded_store import ThreadedStore
from gatepost.transports.signal_bus import SignalBus
from tests.channels.telegram.channel_setup import build_free_clock
from tests.faults.forked_tasks import FaultPoint, FaultTask, SharedClock, WatchedStore, send_message, serve_tasks
from tests.support.gateways.local_gateways import TOKEN_RULES, build_app_state
from tests.support.servers.private_servers import wait_until

POLICY: Final = Policy(has_speech=True)
BOT: Final = "helper"
JOB_KINDS: Final = (SEND_JOB, TRANSCRIBE_JOB)
#: a recording on which the transcriber breaks
CRASHING: Final = b"this recording breaks the transcriber"
#: seconds between two rounds of a duty
_INTERVAL: Final = 1.0
#: rounds after which channels that are not at rest never will be
_MAX_ROUNDS: Final = 500


class TelegramTask(FaultTask, frozen=True, kw_only=True):
    url: str
    #: with the clock, and the file `delivered` when Telegram has sent everything to the webhook
    folder: str
    api: str
    has_webhook: bool


class WatchedApi:
    """A Bot API that tells of every call."""

    def __init__(self, api: TelegramApi, on_point: FaultPoint) -> None:
        self._api = api
        self._on_point = on_point

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._api, name)
        if name in ("close", "get_me"):
            return attribute

        async def call(*args: Any, **kwargs: Any) -> Any:
            self._on_point(f"before {name}")
            answer = await attribute(*args, **kwargs)
            self._on_point(f"after {name}")
            return answer

        return call

    async def get_updates(self, *, offset: int | None, wait: float) -> list[Json]:
        name = "fetch" if offset is None else "confirm"
        self._on_point(f"before {name}")
        updates = await self._api.get_updates(offset=offset, wait=wait)
        self._on_point(f"after {name}")
        return updates


class LengthTranscriber:
    """Decodes recordings as the local transcriber does, and says how long they are."""

    def __init__(self, on_point: FaultPoint) -> None:
        self._on_point = on_point

    async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:
        self._on_point("before transcribe")
        if audio == CRASHING:
            raise RuntimeError("a mistake of a library")
        transcript = Transcript(f"{len(decode_audio(audio)) // SAMPLE_RATE} seconds of speech", 0.9)
        self._on_point("after transcribe")
        return transcript

    async def close(self) -> None:
        pass


def watch_app(app: ASGIApp, on_point: FaultPoint) -> ASGIApp:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_watched(message: Message) -> None:
            if message["type"] == "http.response.start":
                on_point("before answer")
            await send(message)

        on_point("request")
        await app(scope, receive, send_watched)
        on_point("answered")

    return serve


@asynccontextmanager
async def serve_webhook(store: Store, channels: Channels, on_point: FaultPoint) -> AsyncIterator[None]:
    """While entered, the webhook of the bot is on a port, of which the test is told. Leaving finishes all answers."""
    state = build_app_state(store, SignalBus(), LiveStreams(), TOKEN_RULES)
    app = GatewayApp(dataclasses.replace(state, channels=channels))
    async with app.lifespan():
        config = uvicorn.Config(
            watch_app(cast(ASGIApp, app), on_point), interface="asgi3", lifespan="off", log_config=None, ws="none"
        )
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            task = asyncio.create_task(server.serve(sockets=[listener]))
            send_message(port=listener.getsockname()[1])
            yield
            server.should_exit = True
            await task


async def reach_rest(store: Store, channels: Channels, task: TelegramTask, clock: SharedClock) -> None:
    """Take updates and do jobs until nothing is left to do. The clock is moved while something waits."""
    duties = list(channels._build_duties(_INTERVAL))
    for _ in range(_MAX_ROUNDS):
        try:
            if not task.has_webhook:
                await channels.intake.read(BOT)
        except Unavailable as error:
            clock.advance(int((error.retry_after or 1.0) * SECOND))
            continue
        for duty in duties:
            await duty._run_round()
        due_at = await store.read(jobs.find_next_due, JOB_KINDS)
        if due_at is None:
            return
        clock.advance(max(due_at - clock.now(), 0) + 1)
    raise AssertionError("the channels are not at rest")


async def run_task(task: TelegramTask, on_point: FaultPoint) -> None:
    clock = SharedClock(Path(task.folder, "clock"))
    store = open_store(task.url, clock=clock, policy=POLICY)
    assert isinstance(store, ThreadedStore)
    try:
        watched_store = cast(Store, WatchedStore(store, on_point))

        def open_api(token: str) -> TelegramApi:
            return cast(TelegramApi, WatchedApi(TelegramClient(token, url=task.api), on_point))

        options = ChannelOptions(
            open_api=open_api,
            transcriber=LengthTranscriber(on_point),
            poll_time=0.0,
            clock=build_free_clock(),
        )
        channels = Channels(watched_store, options, f"process-{os.getpid()}")
        try:
            if task.has_webhook:
                async with serve_webhook(watched_store, channels, on_point):
                    await asyncio.to_thread(wait_until, Path(task.folder, "delivered").exists, "all is delivered")
            await reach_rest(watched_store, channels, task, clock)
        finally:
            await channels.bots.close()
    finally:
        store.close()


def main() -> None:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    serve_tasks(TelegramTask, run_task)


if __name__ == "__main__":
    main()
