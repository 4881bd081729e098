"""Speech: what a transcriber returns, and its port."""

from typing import Protocol

from msgspec import Struct

from gatepost.errors import Invalid


class SpeechRefused(Invalid):
    """The recording cannot be transcribed, now or later."""

    type = "speech"


class Transcript(Struct, frozen=True):
    text: str
    #: from 0 to 1; None if the transcriber does not say
    confidence: float | None = None


class Transcriber(Protocol):
    async def transcribe(self, audio: bytes, mime_type: str) -> Transcript:
        """
        Write down what is said. Raise SpeechRefused if that can never succeed, Unavailable if it may succeed later.
        """

    async def close(self) -> None: ...
