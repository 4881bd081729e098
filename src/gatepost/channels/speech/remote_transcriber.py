"""
Transcribe with a service that speaks the protocol of OpenAI: `POST {url}/audio/transcriptions`.

The service is asked for `verbose_json`, which has the mean log probability of each segment; the confidence is the
probability of the whole, by the length of the segments. A service that answers with the text alone says nothing about
it. The key is in a header, and no error or log line has it.
"""

import asyncio
from typing import Final

import httpx2
import msgspec
from msgspec import Struct

from gatepost.channels.speech.transcriber import SpeechRefused, SpokenSegment, Transcript, compute_confidence
from gatepost.core import typed_json
from gatepost.errors import Invalid, Unavailable, quote_value
from gatepost.telemetry import hide_secrets

#: seconds; a job is held for two minutes
_TIMEOUT: Final = 90.0
_MAX_ANSWER: Final = 4 * 1024 * 1024
_LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "::1"})
#: a service recognises the format by the ending
_ENDINGS: Final = {
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/webm": "webm",
    "audio/flac": "flac",
    "video/mp4": "mp4",
}


class _Transcript(Struct):
    text: str
    segments: list[SpokenSegment] | None = None


class OpenAiTranscriber:
    def __init__(self, url: str, *, model: str, key: str | None = None, timeout: float = _TIMEOUT) -> None:
        """`timeout` is in seconds."""
        try:
            base = httpx2.URL(url.rstrip("/"))
        except httpx2.InvalidURL:
            base = httpx2.URL()
        if base.scheme not in ("http", "https") or not base.host:
            raise Invalid(
                f"{quote_value(hide_secrets(url))} is not the URL of a service",
                hint="such as https://HOST/v1, or local:",
            )
        self._url = f"{base}/audio/transcriptions"
        self._model = model
        self._timeout = timeout
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=timeout,
            trust_env=base.host not in _LOCAL_HOSTS,
            verify=base.scheme == "https",
            follow_redirects=False,
        )

    async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:
        kind = mime_type.partition(";")[0].strip().lower()
        files = {"file": (f"voice.{_ENDINGS.get(kind, 'ogg')}", audio, kind or "audio/ogg")}
        data = {"model": self._model, "response_format": "verbose_json"}
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.post(self._url, data=data, files=files)
        except TimeoutError:
            raise Unavailable("the speech service did not answer in time") from None
        except (httpx2.HTTPError, httpx2.StreamError, ValueError) as error:
            raise Unavailable(f"the speech service cannot be reached: {type(error).__name__}") from None
        if response.status_code in (400, 413, 415, 422):
            raise SpeechRefused(f"the speech service refused the recording with the status {response.status_code}")
        if response.status_code != 200 or len(response.content) > _MAX_ANSWER:
            failure = Unavailable(f"the speech service answered with the status {response.status_code}")
            if (retry_after := response.headers.get("retry-after", "")).isdecimal():
                failure.retry_after = min(float(retry_after), 3_600.0)
            raise failure
        try:
            answer = typed_json.decode(response.content, _Transcript)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise Unavailable("the answer of the speech service cannot be read") from None
        return Transcript(answer.text.strip(), compute_confidence(answer.segments or []))

    async def close(self) -> None:
        await self._client.aclose()
