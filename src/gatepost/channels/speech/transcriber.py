"""Speech: what a transcriber returns, and its port."""

import math
from collections.abc import Iterable
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


class SpokenSegment(Struct, frozen=True):
    """A part of a recording, in seconds, and the mean log probability of its words."""

    start: float = 0.0
    end: float = 0.0
    avg_logprob: float | None = None


def compute_confidence(segments: Iterable[SpokenSegment]) -> float | None:
    """Return the probability of a transcript, by the length of its segments; None if no segment has one."""
    weights = [
        (max(segment.end - segment.start, 0.01), segment.avg_logprob)
        for segment in segments
        if segment.avg_logprob is not None
    ]
    if not weights:
        return None
    mean = sum(weight * probability for weight, probability in weights) / sum(weight for weight, _ in weights)
    return min(1.0, math.exp(min(mean, 0.0)))
