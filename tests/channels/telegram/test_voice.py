"""Voice messages: stored first, written down by a service, and routed with or without their words."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from gatepost.app import open_store
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.speech.remote_transcriber import OpenAiTranscriber
from gatepost.channels.speech.transcriber import SpeechRefused, Transcriber, Transcript
from gatepost.channels.speech.transcription_background import VoiceJobs
from gatepost.channels.speech.voice_actions import TRANSCRIBE_JOB
from gatepost.core.policy import Policy
from gatepost.errors import Invalid, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.jobs import job_actions as jobs
from gatepost.jobs.job_runner_background import run_due_jobs
from gatepost.testing import FakeClock
from tests.channels.speech.spoken import SENTENCES, RecognitionServer, Recognizer, record
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.channels.telegram.bot_api.web import ServerThread
from tests.channels.telegram.channel_setup import ChannelSetup, open_channel_setup
from tests.support.waits import LAST_RESORT

KEY = "sk-a-secret-key-of-the-service"


class SpeechServer:
    """A service that transcribes as OpenAI does: `answers` says what the next requests get, the last one again."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.answers: list[tuple[int, Any]] = [(200, {"text": "how are sales?"})]
        self._thread = ServerThread(self._serve, 0)
        self._is_stopped = False
        self.url = f"http://127.0.0.1:{self._thread.port}/v1"

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with request.form() as form:
            file = form["file"]
            assert not isinstance(file, str)
            self.requests.append(
                {
                    "path": request.url.path,
                    "key": request.headers.get("authorization"),
                    "model": form["model"],
                    "format": form["response_format"],
                    "name": file.filename,
                    "type": file.content_type,
                    "audio": await file.read(),
                }
            )
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        response = Response(body, status) if isinstance(body, bytes) else JSONResponse(body, status)
        await response(scope, receive, send)

    def stop(self) -> None:
        if not self._is_stopped:
            self._is_stopped = True
            self._thread.stop()


@pytest.fixture
def speech() -> Iterator[SpeechServer]:
    server = SpeechServer()
    yield server
    server.stop()


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(has_limits=False) as server:
        yield server


@pytest.fixture
def ana(server: TelegramServer) -> User:
    return server.add_user(7, "Ana", "ana")


@asynccontextmanager
async def open_speaking_setup(
    server: TelegramServer, tmp_path: Path, url: str | None, **options: Any
) -> AsyncIterator[ChannelSetup]:
    transcriber = OpenAiTranscriber(url, model="whisper-1", key=KEY, timeout=LAST_RESORT) if url is not None else None
    policy = Policy(has_speech=url is not None)
    try:
        async with open_channel_setup(
            server,
            f"sqlite:///{tmp_path}/gatepost.db",
            transcriber=transcriber,
            policy=policy,
            allow=(7,),
            **options,
        ) as setup:
            yield setup
    finally:
        if transcriber is not None:
            await transcriber.close()


def find_files_with(folder: Path, content: bytes) -> list[Path]:
    return [path for path in folder.iterdir() if content in path.read_bytes()]


async def test_a_voice_message_is_routed_with_its_words_and_echoed(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path
) -> None:
    async with open_speaking_setup(server, tmp_path, speech.url) as setup:
        message = server.send_voice(ana, b"OggS opus")
        [event] = await setup.wait_for_events(1)
        [echo] = await setup.wait_for_sent(ana, 1)

    assert event.content == "how are sales?"
    assert isinstance(event.data, dict)
    assert event.data["transcript"] is True
    assert isinstance(event.data["metadata"], dict)
    assert event.data["metadata"]["telegram_message_id"] == str(message.id)
    assert event.data["metadata"]["telegram_file_id"]
    assert (echo.text, echo.entities[0]["type"]) == ("how are sales?", "blockquote")
    [request] = speech.requests
    assert request == {
        "path": "/v1/audio/transcriptions",
        "key": f"Bearer {KEY}",
        "model": "whisper-1",
        "format": "verbose_json",
        "name": "voice.ogg",
        "type": "audio/ogg",
        "audio": b"OggS opus",
    }
    assert not find_files_with(tmp_path, b"OggS opus"), "the audio is kept nowhere"


async def test_low_confidence_is_said_to_the_speaker_and_the_agent(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path
) -> None:
    speech.answers = [(200, {"text": "mumble", "segments": [{"start": 0, "end": 2, "avg_logprob": -1.5}]})]
    async with open_speaking_setup(server, tmp_path, speech.url) as setup:
        server.send_voice(ana, b"OggS")
        [event] = await setup.wait_for_events(1)
        [echo] = await setup.wait_for_sent(ana, 1)

    assert event.content == "mumble [transcript of a voice message, low confidence]"
    assert isinstance(event.data, dict)
    assert event.data["confidence"] == 0.223
    assert "I am not sure that I understood you" in echo.text


async def test_later_texts_are_not_held_by_a_voice_message(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path
) -> None:
    speech.answers = [(503, b"down")]
    async with open_speaking_setup(server, tmp_path, speech.url) as setup:
        server.send_voice(ana, b"OggS")
        server.send_text(ana, "written")
        await setup.wait_for_events(1)
        speech.answers = [(200, {"text": "spoken"})]
        events = await setup.wait_for_events(2)

    assert [event.content for event in events] == ["written", "spoken"]


async def test_a_voice_message_goes_on_without_words_when_patience_is_over(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path
) -> None:
    clock = FakeClock()
    speech.answers = [(503, b"down")]
    async with open_speaking_setup(server, tmp_path, speech.url, clock=clock) as setup:
        server.send_voice(ana, b"OggS", caption="listen")
        await server.wait_until(lambda: server.requests["file"])
        clock.advance("119 seconds")
        assert not await setup.store.read(voices.has_overdue)
        clock.advance("2 seconds")
        [event] = await setup.wait_for_events(1)
        [sentence] = await setup.wait_for_sent(ana, 1)

        assert event.content == "listen\n[voice, not transcribed]"
        assert "in time" in sentence.text
        # What comes too late changes nothing.
        speech.answers = [(200, {"text": "late"})]
        clock.advance("1 hour")
        transcriber = setup.channels.options.transcriber
        assert transcriber is not None
        voice_jobs = VoiceJobs(setup.store, setup.channels.download, transcriber)
        await run_due_jobs(setup.store, {TRANSCRIBE_JOB: voice_jobs.run_job}, "tests")
        assert len(setup.list_events()) == 1


@pytest.mark.parametrize("answer", [(400, {"error": "bad audio"}), (200, {"text": "  "})])
async def test_a_recording_without_words_goes_on_at_once(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path, answer: tuple[int, Any]
) -> None:
    speech.answers = [answer]
    async with open_speaking_setup(server, tmp_path, speech.url) as setup:
        server.send_voice(ana, b"poison")
        server.send_text(ana, "written")
        events = await setup.wait_for_events(2)
        await setup.wait_for_sent(ana, 1)

    assert sorted(event.content for event in events) == ["[voice, not transcribed]", "written"]
    assert len(speech.requests) == 1


async def test_a_file_that_is_too_big_is_said(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path
) -> None:
    async with open_speaking_setup(server, tmp_path, speech.url) as setup:
        server.send_audio(ana, b"ID3", size=21 * 1024 * 1024)
        [event] = await setup.wait_for_events(1)
        [sentence] = await setup.wait_for_sent(ana, 1)

    assert event.content == "[voice, not transcribed]"
    assert sentence.text == "The recording is larger than 20 MB, so I cannot hear it."
    assert speech.requests == []


async def test_without_a_service_it_says_that_it_cannot_hear(server: TelegramServer, ana: User, tmp_path: Path) -> None:
    async with open_speaking_setup(server, tmp_path, None) as setup:
        server.send_video_note(ana, b"mp4")
        [event] = await setup.wait_for_events(1)
        [sentence] = await setup.wait_for_sent(ana, 1)

    assert event.content == "[voice, not transcribed]"
    assert "I cannot hear recordings yet" in sentence.text


async def test_a_spoken_reply_answers_a_question_and_silence_does_not(
    server: TelegramServer, speech: SpeechServer, ana: User, tmp_path: Path
) -> None:
    speech.answers = [(200, {"text": ""}), (200, {"text": "The north"})]
    async with open_speaking_setup(server, tmp_path, speech.url) as setup:
        server.send_text(ana, "help")
        [event] = await setup.wait_for_events(1)
        decision = setup.ask(event, "Which region?", free_text=True)
        [question] = await setup.wait_for_sent(ana, 1)
        server.send_voice(ana, b"silence", reply_to=question)
        await setup.wait_for_events(2)
        assert setup.store.read_sync(decisions.show, decision.id).is_open
        server.send_voice(ana, b"OggS", reply_to=question)
        await setup.wait_until(lambda: not setup.store.read_sync(decisions.show, decision.id).is_open)

        answered = setup.store.read_sync(decisions.show, decision.id)
    assert answered.last_answer is not None
    assert answered.last_answer.text == "The north"


async def test_errors_of_the_service_are_mapped_and_have_no_key(speech: SpeechServer) -> None:
    transcriber = OpenAiTranscriber(speech.url, model="m", key=KEY, timeout=LAST_RESORT)
    speech.answers = [(401, b"no"), (200, b"not json"), (422, b"no"), (200, {"text": "a", "segments": []})]
    for kind in (Unavailable, Unavailable, SpeechRefused):
        with pytest.raises(kind) as error:
            await transcriber.transcribe(b"x", "audio/ogg; codecs=opus")
        assert KEY not in str(error.value)
    transcript = await transcriber.transcribe(b"x", "video/mp4")
    assert json.dumps([transcript.text, transcript.confidence]) == '["a", null]'
    assert speech.requests[-1]["name"] == "voice.mp4"
    speech.stop()
    with pytest.raises(Unavailable, match="cannot be reached"):
        await transcriber.transcribe(b"x", "audio/ogg")
    await transcriber.close()
    with pytest.raises(Invalid, match="not the URL of a service"):
        OpenAiTranscriber("ftp://host", model="m")


@pytest.mark.parametrize("has_service", [True, False], ids=["by a service", "here"])
async def test_real_words_are_recognised_and_a_poisoned_recording_goes_on(
    server: TelegramServer, ana: User, tmp_path: Path, has_service: bool
) -> None:
    with RecognitionServer(confidence=0.9) as service:
        transcriber: Transcriber = OpenAiTranscriber(service.url, model="small") if has_service else Recognizer()
        url, policy = f"sqlite:///{tmp_path}/gatepost.db", Policy(has_speech=True)
        async with open_channel_setup(server, url, transcriber=transcriber, policy=policy, allow=(7,)) as setup:
            server.send_voice(ana, b"OggS and no recording")
            server.send_voice(ana, record(SENTENCES[0]))
            server.send_voice(ana, record("These words are in no grammar of ours"))
            server.send_text(ana, "written")
            events = await setup.wait_for_events(4)
            sent = await setup.wait_for_sent(ana, 3)
        await transcriber.close()

    contents = sorted(event.content for event in events)
    said = "" if has_service else " [transcript of a voice message, low confidence]"
    assert contents == ["[voice, not transcribed]", "[voice, not transcribed]", f"{SENTENCES[0]}{said}", "written"]
    texts = sorted(message.text for message in sent)
    assert texts[0] == "I could not understand your recording. It was passed on without its words."
    assert texts[1] == "I heard no words in your recording."
    assert texts[2].startswith(SENTENCES[0])
    assert ("I am not sure that I understood you" in texts[2]) is not has_service
    assert not find_files_with(tmp_path, record(SENTENCES[0])[100:200]), "the audio is kept nowhere"


async def test_a_transcriber_that_breaks_delays_nobody(server: TelegramServer, ana: User, tmp_path: Path) -> None:
    class BrokenTranscriber(Recognizer):
        async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:
            if audio == b"poison":
                raise RuntimeError("a mistake of a library")
            return await super().transcribe(audio, mime_type)

    clock = FakeClock()
    url, policy = f"sqlite:///{tmp_path}/gatepost.db", Policy(has_speech=True)
    options: dict[str, Any] = {"transcriber": BrokenTranscriber(), "policy": policy, "clock": clock, "allow": (7,)}
    async with open_channel_setup(server, url, **options) as setup:
        server.send_voice(ana, b"poison")
        server.send_voice(ana, record(SENTENCES[1]))
        server.send_text(ana, "written")
        events = await setup.wait_for_events(2)
        assert {event.content.partition(" [")[0] for event in events} == {SENTENCES[1], "written"}
        clock.advance("2 minutes")
        events = await setup.wait_for_events(3)
        assert events[-1].content == "[voice, not transcribed]"


async def test_a_gateway_that_stops_does_not_wait_for_a_transcription(
    server: TelegramServer, ana: User, tmp_path: Path
) -> None:
    class SlowTranscriber(Recognizer):
        def __init__(self) -> None:
            self.has_begun = asyncio.Event()

        async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:
            self.has_begun.set()
            await asyncio.Event().wait()
            raise AssertionError("it never ends")

    slow = SlowTranscriber()
    url, policy = f"sqlite:///{tmp_path}/gatepost.db", Policy(has_speech=True)
    async with asyncio.timeout(LAST_RESORT):
        async with open_channel_setup(server, url, transcriber=slow, policy=policy, allow=(7,)):
            server.send_voice(ana, record(SENTENCES[0]))
            await slow.has_begun.wait()
        with closing(open_store(url, policy=policy)) as store:
            assert store.read_sync(jobs.count_open, TRANSCRIBE_JOB) == 1, "the next process transcribes it"
            assert not store.read_sync(voices.has_overdue)
