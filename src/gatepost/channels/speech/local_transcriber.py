"""
Transcribe on this machine, with faster-whisper.

Recordings come from strangers, and are read by large libraries in C. So they are decoded and transcribed in a process
of their own, which is started with the first recording and kept, because loading a model takes seconds, or minutes if
it is downloaded first:

    gateway -> process    the length of a recording in 8 bytes, and the recording
    process -> gateway    a line of JSON: first that it is ready, then one for each recording

The gateway goes on meanwhile. One recording is transcribed at a time. If the process dies, the recording is given to a
new one once; if that dies, too, the recording is refused. If a recording takes too long, the process is killed. A
process whose gateway is gone ends.
"""

import asyncio
import io
import os
import struct
import sys
from array import array
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final

import msgspec
from msgspec import Struct

from gatepost.channels.speech.transcriber import SpeechRefused, SpokenSegment, Transcript, compute_confidence
from gatepost.core import typed_json
from gatepost.errors import Unavailable, quote_value

#: samples a second of what is transcribed
SAMPLE_RATE: Final = 16_000
#: seconds of a recording: 20 MB can be days, and would fill the memory
MAX_LENGTH: Final = 30 * 60
#: the formats that are read: others name files and addresses that would be opened
_FORMATS: Final = "ogg,mp3,mov,mp4,m4a,matroska,webm,wav,flac,aac"
_LENGTH: Final = struct.Struct(">Q")
#: bytes of an answer
_MAX_ANSWER: Final = 4 * 1024 * 1024


def decode_audio(audio: bytes, *, max_length: int = MAX_LENGTH) -> "array[float]":
    """Return a recording as samples from -1 to 1, 16,000 a second; raise SpeechRefused if it is none, or too long."""
    import av

    samples = array("f")
    options = {"format_whitelist": _FORMATS, "protocol_whitelist": "none"}
    try:
        with av.open(io.BytesIO(audio), "r", options=options) as container:
            if not container.streams.audio:
                raise SpeechRefused("the file has no sound")
            resampler = av.AudioResampler(format="flt", layout="mono", rate=SAMPLE_RATE)
            for frame in container.decode(container.streams.audio[0]):
                for part in resampler.resample(frame):
                    samples.frombytes(memoryview(part.planes[0])[: part.samples * samples.itemsize])
                if len(samples) > max_length * SAMPLE_RATE:
                    raise SpeechRefused(f"the recording is longer than {max_length // 60} minutes")
            for part in resampler.resample(None):
                samples.frombytes(memoryview(part.planes[0])[: part.samples * samples.itemsize])
    except (av.FFmpegError, ValueError) as error:
        raise SpeechRefused(f"the recording cannot be decoded: {type(error).__name__}") from None
    return samples


class _WorkerAnswer(Struct, omit_defaults=True):
    """The ready process, a transcript, or why there is none: `refused` for good, or an `error` that may pass."""

    text: str = ""
    confidence: float | None = None
    refused: str | None = None
    error: str | None = None


class LocalTranscriber:
    def __init__(self, model: str, *, time_limit: float) -> None:
        """
        `model` is one of faster-whisper, such as `small`, or a folder with one; `time_limit` is in seconds. Raise
        ImportError if what it needs is not installed.
        """
        for name in ("av", "faster_whisper"):
            if find_spec(name) is None:
                raise ImportError(name)
        self._model = model
        self._time_limit = time_limit
        self._lock = asyncio.Lock()
        self._process: Process | None = None
        self._is_ready = False
        self._is_closed = False

    async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:  # noqa: ARG002 (the content says what it is)
        try:
            async with asyncio.timeout(self._time_limit), self._lock:
                answer = await self._ask(audio) or await self._ask(audio)
        except TimeoutError:
            raise Unavailable(f"the recording was not transcribed within {self._time_limit:.0f} seconds") from None
        if answer is None:
            raise SpeechRefused("the transcriber crashes on the recording")
        if answer.refused is not None:
            raise SpeechRefused(answer.refused)
        if answer.error is not None:
            raise Unavailable(f"the transcriber failed: {answer.error}")
        return Transcript(answer.text, answer.confidence)

    async def close(self) -> None:
        self._is_closed = True
        await self._kill()

    async def _ask(self, audio: bytes) -> _WorkerAnswer | None:
        """Return what the process answers to a recording; None if it has died of it."""
        process = await self._find_process()
        assert process.stdin is not None
        try:
            with suppress(ConnectionError, RuntimeError):  # it has died, as the missing answer says, too
                process.stdin.write(_LENGTH.pack(len(audio)) + audio)
                await process.stdin.drain()
            answer = await _read_answer(process)
        except BaseException:  # it is at work on something that nobody waits for
            await self._kill()
            raise
        if answer is None:
            await self._kill()
        return answer

    async def _find_process(self) -> Process:
        """Return the process when it is ready. It goes on loading its model if it takes longer than a caller waits."""
        if self._is_closed:
            raise Unavailable("the transcriber is closed")
        if self._process is None or self._process.returncode is not None:
            self._is_ready = False
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", __name__, self._model),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=_MAX_ANSWER,
            )
        if not self._is_ready:
            answer = await _read_answer(self._process)
            if answer is None or answer.error is not None:
                await self._kill()
                reason = f": {answer.error}" if answer is not None else ""
                raise Unavailable(f"the model {quote_value(self._model)} cannot be loaded{reason}")
            self._is_ready = True
        return self._process

    async def _kill(self) -> None:
        process, self._process, self._is_ready = self._process, None, False
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _read_answer(process: Process) -> _WorkerAnswer | None:
    """Return the next line of a process; None if there is none."""
    assert process.stdout is not None
    try:
        return typed_json.decode(await process.stdout.readline(), _WorkerAnswer)
    except (msgspec.MsgspecError, ValueError):
        return None


def main() -> None:
    """Load the model that the first argument names, and transcribe what comes on stdin."""
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer

    def send(answer: _WorkerAnswer) -> None:
        output.write(msgspec.json.encode(answer) + b"\n")
        output.flush()

    try:
        model = _load_model(sys.argv[1])
    except Exception as error:  # noqa: BLE001 (whatever it is, the gateway says it)
        first_line = str(error).partition("\n")[0]
        send(_WorkerAnswer(error=f"{type(error).__name__}: {first_line}"))
        return
    send(_WorkerAnswer())
    while length := sys.stdin.buffer.read(_LENGTH.size):
        audio = sys.stdin.buffer.read(_LENGTH.unpack(length)[0])
        try:
            answer = _transcribe(model, decode_audio(audio))
        except SpeechRefused as refusal:
            answer = _WorkerAnswer(refused=refusal.message)
        except Exception as error:  # noqa: BLE001 (the next recording may do)
            answer = _WorkerAnswer(error=type(error).__name__)
        send(answer)


def _load_model(name: str) -> Any:
    from faster_whisper import WhisperModel

    return WhisperModel(name)


def _transcribe(model: Any, samples: "array[float]") -> _WorkerAnswer:
    import numpy

    segments: Iterable[Any]
    segments, _ = model.transcribe(numpy.frombuffer(samples, dtype=numpy.float32))
    spoken = list(segments)  # they are transcribed while they are read
    text = "".join(segment.text for segment in spoken).strip()
    parts = [SpokenSegment(segment.start, segment.end, segment.avg_logprob) for segment in spoken]
    return _WorkerAnswer(text=text, confidence=compute_confidence(parts))


if __name__ == "__main__":
    main()
