"""Recordings are decoded within limits, and transcribed in a process whose end nobody else notices."""

import asyncio
import io
import os
from array import array
from collections.abc import AsyncIterator
from contextlib import suppress
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import av
import pytest
from starlette.responses import Response

from gatepost import app, settings
from gatepost.channels.speech import local_transcriber as speech_local
from gatepost.channels.speech.local_transcriber import MAX_LENGTH, SAMPLE_RATE, LocalTranscriber, decode_audio
from gatepost.channels.speech.transcriber import SpeechRefused, SpokenSegment, compute_confidence
from gatepost.errors import Unavailable
from tests.channels.speech.spoken import SENTENCES, Recognizer, encode_voice, recognize, record
from tests.channels.telegram.bot_api.web import ServerThread
from tests.support.collected_failures import CollectedFailures
from tests.support.servers.private_servers import wait_until
from tests.support.waits import LAST_RESORT

ROOT = Path(__file__).parents[3]

#: a package in the place of faster-whisper, whose weights are not here. It recognises with a grammar, and obeys orders.
STAND_IN = """
import os, signal
from pathlib import Path
from types import SimpleNamespace

FOLDER = Path(__file__).parent

class WhisperModel:
    def __init__(self, name):
        print("loading", name)  # libraries print
        if name == "missing":
            raise FileNotFoundError("no such model\\nand many more lines")

    def transcribe(self, samples):
        order = (FOLDER / "orders").read_text() if (FOLDER / "orders").exists() else ""
        if order == "crash once":
            (FOLDER / "orders").unlink()
        if order.startswith("crash"):
            os.kill(os.getpid(), signal.SIGKILL)
        if order == "fail":
            raise RuntimeError("out of memory")
        if order == "hang":
            (FOLDER / "hangs").write_text(str(os.getpid()))
            signal.pause()
        from tests.channels.speech.spoken import recognize
        text, confidence = recognize(samples)
        return iter([SimpleNamespace(text=" " + text, start=0.0, end=1.0, avg_logprob=-0.5)]), None
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "faster_whisper.py").write_text(STAND_IN)
    (tmp_path / "numpy.py").write_text("float32 = 'f'\n\ndef frombuffer(samples, dtype):\n    return samples\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{ROOT}")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.fixture
async def local(package: Path) -> AsyncIterator[LocalTranscriber]:
    transcriber = LocalTranscriber("small", time_limit=LAST_RESORT)
    yield transcriber
    await transcriber.close()


def test_a_recording_is_decoded_and_its_words_are_recognised() -> None:
    with CollectedFailures() as failures:
        for sentence in SENTENCES:
            with failures.check(sentence):
                samples = decode_audio(record(sentence))
                assert SAMPLE_RATE < len(samples) < 4 * SAMPLE_RATE
                assert recognize(samples)[0] == sentence


@pytest.mark.parametrize(("codec", "container"), [("aac", "mp4"), ("libmp3lame", "mp3"), ("pcm_s16le", "wav")])
def test_other_formats_of_recordings_are_decoded(codec: str, container: str) -> None:
    tone = array("h", [8_000, -8_000] * 12_000).tobytes()
    samples = decode_audio(encode_voice(tone, 24_000, codec, container))
    assert abs(len(samples) - SAMPLE_RATE) < SAMPLE_RATE // 5
    assert max(samples) <= 1.0


@pytest.mark.parametrize(
    "audio",
    [b"", b"OggS", b"OggS" + bytes(5_000), b"<html>no</html>" * 99, record(SENTENCES[0])[:200]],
    ids=["nothing", "a head", "zeros", "a page", "a beginning"],
)
async def test_what_is_no_recording_is_refused(audio: bytes) -> None:
    with pytest.raises(SpeechRefused, match="cannot be decoded"):
        await Recognizer().transcribe(audio, "audio/ogg")


def build_silence(minutes: int) -> bytes:
    """Return a file of silence that is much longer than its size suggests."""
    file = io.BytesIO()
    with av.open(file, "w", format="ogg") as output:
        stream: Any = output.add_stream("libopus", rate=48_000, options={"frame_duration": "60"})
        stream.layout = "mono"
        frame = av.AudioFrame(format="s16", layout="mono", samples=2_880)
        frame.planes[0].update(bytes(5_760))
        frame.sample_rate, frame.time_base, frame.pts = 48_000, Fraction(1, 48_000), 0
        [content, *_] = [bytes(packet) for packet in [*stream.encode(frame), *stream.encode(None)]]
        for place in range(minutes * 1_000):
            packet = av.Packet(content)
            packet.stream, packet.time_base = stream, Fraction(1, 48_000)
            packet.pts = packet.dts = 2_880 * place
            packet.duration = 2_880
            output.mux(packet)
    return file.getvalue()


def test_a_recording_that_is_too_long_is_refused_before_it_fills_the_memory() -> None:
    silence = build_silence(3)
    assert len(decode_audio(silence)) == pytest.approx(180 * SAMPLE_RATE, rel=0.01)
    with pytest.raises(SpeechRefused, match="longer than 2 minutes"):
        decode_audio(silence, max_length=120)
    assert MAX_LENGTH * SAMPLE_RATE * array("f").itemsize < 128 * 1024**2


@pytest.mark.parametrize("is_file", [True, False])
def test_a_playlist_opens_nothing(tmp_path: Path, is_file: bool) -> None:
    """A decoder that reads every format would fetch what the recording of a stranger names."""
    requests: list[str] = []

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        requests.append(scope["path"])
        await Response(record(SENTENCES[0]))(scope, receive, send)

    (tmp_path / "secret.ogg").write_bytes(record(SENTENCES[0]))
    thread = ServerThread(serve, 0)
    try:
        address = f"file://{tmp_path}/secret.ogg" if is_file else f"http://127.0.0.1:{thread.port}/secret.ogg"
        for playlist in (
            f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\n{address}\n#EXT-X-ENDLIST\n",
            f"ffconcat version 1.0\nfile '{address}'\n",
        ):
            with pytest.raises(SpeechRefused):
                decode_audio(playlist.encode())
    finally:
        thread.stop()
    assert requests == []


def test_confidence_is_weighed_by_length() -> None:
    assert compute_confidence([]) is None
    assert compute_confidence([SpokenSegment(0, 1)]) is None
    sure, unsure = SpokenSegment(0, 9, 0.0), SpokenSegment(9, 10, -10.0)
    assert compute_confidence([sure]) == 1.0
    assert compute_confidence([sure, unsure]) == pytest.approx(0.3679, abs=0.001)
    assert compute_confidence([SpokenSegment(0, 1, 3.0)]) == 1.0, "a service may say nonsense"


async def test_the_local_transcriber_writes_down_what_is_said(local: LocalTranscriber) -> None:
    for sentence in SENTENCES[:2]:
        transcript = await local.transcribe(record(sentence), "audio/ogg")
        assert transcript.text == sentence
        assert transcript.confidence == pytest.approx(0.6065, abs=0.001)
    with pytest.raises(SpeechRefused, match="cannot be decoded"):
        await local.transcribe(b"OggS", "audio/ogg")
    several = [local.transcribe(record(sentence), "audio/ogg") for sentence in SENTENCES]
    assert [transcript.text for transcript in await asyncio.gather(*several)] == list(SENTENCES)


async def test_a_recording_that_crashes_the_transcriber_is_refused(local: LocalTranscriber, package: Path) -> None:
    (package / "orders").write_text("crash once")
    assert (await local.transcribe(record(SENTENCES[0]), "audio/ogg")).text == SENTENCES[0]
    (package / "orders").write_text("crash")
    with pytest.raises(SpeechRefused, match="crashes"):
        await local.transcribe(record(SENTENCES[0]), "audio/ogg")
    (package / "orders").write_text("fail")
    with pytest.raises(Unavailable, match="RuntimeError"):
        await local.transcribe(record(SENTENCES[0]), "audio/ogg")
    (package / "orders").unlink()
    assert (await local.transcribe(record(SENTENCES[0]), "audio/ogg")).text == SENTENCES[0]


def is_alive(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


async def test_the_loop_goes_on_and_the_process_ends_when_nobody_waits(local: LocalTranscriber, package: Path) -> None:
    (package / "orders").write_text("hang")
    task = asyncio.create_task(local.transcribe(record(SENTENCES[0]), "audio/ogg"))
    hangs = package / "hangs"
    # This loop is not held up meanwhile.
    await asyncio.to_thread(wait_until, lambda: hangs.exists() and hangs.read_text() != "", "it transcribes")
    process = int(hangs.read_text())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(wait_until, lambda: not is_alive(process), "the process has ended")
    (package / "orders").unlink()
    assert (await local.transcribe(record(SENTENCES[0]), "audio/ogg")).text == SENTENCES[0]


async def test_a_model_that_is_still_loading_is_asked_again(local: LocalTranscriber) -> None:
    local._time_limit = 0.001
    with pytest.raises(Unavailable, match="was not transcribed within"):
        await local.transcribe(record(SENTENCES[0]), "audio/ogg")
    local._time_limit = LAST_RESORT
    assert (await local.transcribe(record(SENTENCES[0]), "audio/ogg")).text == SENTENCES[0]
    await local.close()
    with pytest.raises(Unavailable, match="closed"):
        await local.transcribe(record(SENTENCES[0]), "audio/ogg")


async def test_a_model_that_is_not_there_is_said(package: Path) -> None:
    transcriber = LocalTranscriber("missing", time_limit=LAST_RESORT)
    with pytest.raises(Unavailable) as error:
        await transcriber.transcribe(record(SENTENCES[0]), "audio/ogg")
    assert error.value.message == "the model 'missing' cannot be loaded: FileNotFoundError: no such model"
    await transcriber.close()


def load(home: Path, **variables: str) -> settings.Configuration:
    return settings.load({"GATEPOST_HOME": str(home), **variables})


def test_the_settings_choose_the_transcriber(package: Path) -> None:
    assert app.build_transcriber(load(package), {}) is None
    assert isinstance(app.build_transcriber(load(package, GATEPOST_SPEECH__URL="local:"), {}), LocalTranscriber)


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speech_local, "find_spec", lambda name: None if name == "faster_whisper" else find_spec(name))
    with pytest.raises(Unavailable) as error:
        app.build_transcriber(load(tmp_path, GATEPOST_SPEECH__URL="local:"), {})
    assert error.value.message == "the speech service 'local:' needs its driver"
    assert error.value.hint == "pip install 'gatepost[speech]'"
