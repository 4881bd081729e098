"""
Speech for tests, without a network: eSpeak NG says a sentence, and PocketSphinx recognises the sentences of a grammar.

    audio = record("How are the sales in the north?")     # OGG/Opus, as Telegram sends it
    recognize(decode_audio(audio))                        # ("how are the sales in the north", 0.37)

Both are real programs in C; only what they know is small. `RecognitionServer` is a service that transcribes as OpenAI
does, and `Recognizer` the same without HTTP.
"""

import ctypes
import io
import math
import tempfile
import threading
from array import array
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import av
import espeakng_loader  # type: ignore[import-untyped]
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from gatepost.channels.speech.local_transcriber import SAMPLE_RATE, decode_audio
from gatepost.channels.speech.transcriber import SpeechRefused, Transcript
from tests.channels.telegram.bot_api.web import ServerThread

#: the sentences that are recognised
SENTENCES: Final = (
    "how are the sales in the north",
    "please publish the report",
    "what time is the meeting",
    "how much did we sell",
    "yes publish it",
)
#: of Opus
_RATE: Final = 48_000
#: words a minute
_SPEED: Final = 140
_SYNCHRONOUS, _UTF8, _RATE_PARAMETER = 2, 1, 1
_lock = threading.Lock()


@cache
def _open_espeak() -> tuple[ctypes.CDLL, int, list[bytes], object]:
    """Return the library, its sample rate, the list that gets what it says, and what must stay alive."""
    library = ctypes.CDLL(str(espeakng_loader.get_library_path()))
    rate = library.espeak_Initialize(_SYNCHRONOUS, 0, str(espeakng_loader.get_data_path()).encode(), 0)
    chunks: list[bytes] = []

    def on_samples(samples: Any, count: int, _: object) -> int:
        if count > 0:
            chunks.append(ctypes.string_at(samples, 2 * count))
        return 0

    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
    callback = kind(on_samples)
    library.espeak_SetSynthCallback(callback)
    library.espeak_SetVoiceByName(b"en-us")
    library.espeak_SetParameter(_RATE_PARAMETER, _SPEED, 0)
    return library, rate, chunks, callback


@cache
def record(text: str) -> bytes:
    """Return a voice message in which somebody says a text."""
    with _lock:
        library, rate, chunks, _ = _open_espeak()
        chunks.clear()
        encoded = text.encode()
        library.espeak_Synth(encoded, len(encoded) + 1, 0, 1, 0, _UTF8, None, None)
        library.espeak_Synchronize()
        return encode_voice(b"".join(chunks), rate)


def encode_voice(samples: bytes, rate: int, codec: str = "libopus", container: str = "ogg") -> bytes:
    """Return samples of 16 bits as a file, by default OGG/Opus."""
    frame = av.AudioFrame(format="s16", layout="mono", samples=len(samples) // 2)
    frame.planes[0].update(samples)
    frame.sample_rate, frame.time_base, frame.pts = rate, Fraction(1, rate), 0
    resampler = av.AudioResampler(format="s16", layout="mono", rate=_RATE)
    file = io.BytesIO()
    with av.open(file, "w", format=container) as output:
        stream: Any = output.add_stream(codec, rate=_RATE)
        stream.layout = "mono"
        for part in [*resampler.resample(frame), *resampler.resample(None), None]:
            output.mux(stream.encode(part))
    return file.getvalue()


@cache
def _open_decoder() -> Any:
    from pocketsphinx import Decoder  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory() as folder:
        grammar = Path(folder) / "sentences.jsgf"
        grammar.write_text(f"#JSGF V1.0;\ngrammar office;\npublic <sentence> = {' | '.join(SENTENCES)} ;\n")
        return Decoder(samprate=SAMPLE_RATE, jsgf=str(grammar), loglevel="FATAL")


def recognize(samples: "array[float]") -> tuple[str, float]:
    """Return the sentence, and how probable it is; an empty text if it is none of those that are known."""
    silence = bytes(SAMPLE_RATE)  # half a second
    sound = array("h", (int(32_767 * max(-1.0, min(1.0, sample))) for sample in samples)).tobytes()
    with _lock:
        decoder = _open_decoder()
        decoder.reinit_feat()  # it does not get used to a voice
        decoder.start_utt()
        decoder.process_raw(silence + sound + silence, no_search=False, full_utt=True)
        decoder.end_utt()
        hypothesis = decoder.hyp()
        return (hypothesis.hypstr, float(hypothesis.prob)) if hypothesis is not None else ("", 0.0)


class Recognizer:
    """A transcriber that recognises the sentences of the grammar."""

    async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:
        return Transcript(*recognize(decode_audio(audio)))

    async def close(self) -> None:
        pass


class RecognitionServer:
    """Answers `POST /v1/audio/transcriptions` while it is entered. `confidence` replaces the one of the recogniser."""

    def __init__(self, confidence: float | None = None) -> None:
        self._confidence = confidence

    def __enter__(self) -> Self:
        self._thread = ServerThread(self._serve, 0)
        self.url = f"http://127.0.0.1:{self._thread.port}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.stop()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        async with request.form() as form:
            file = form["file"]
            assert not isinstance(file, str)
            assert (request.url.path, form["response_format"]) == ("/v1/audio/transcriptions", "verbose_json")
            audio = await file.read()
        await self._answer(audio)(scope, receive, send)

    def _answer(self, audio: bytes) -> JSONResponse:
        try:
            samples = decode_audio(audio)
        except SpeechRefused as refusal:
            return JSONResponse({"error": {"message": refusal.message}}, 400)
        text, confidence = recognize(samples)
        probability = math.log(self._confidence or max(confidence, 1e-6))
        segment = {"id": 0, "start": 0.0, "end": len(samples) / SAMPLE_RATE, "text": text, "avg_logprob": probability}
        return JSONResponse({"task": "transcribe", "text": text, "segments": [segment] if text else []})
