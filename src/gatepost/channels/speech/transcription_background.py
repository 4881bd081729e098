"""
Transcribe voice messages.

A job downloads a recording into memory and has it written down. A service that is down is asked again until the voice
message has gone on without its transcript (`channels/speech/voice_actions.py`); a recording that cannot be transcribed
goes on at once. A transcription may take minutes, so a process that stops does not wait for it: another one begins it
again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.speech.transcriber import SpeechRefused, Transcriber, Transcript
from gatepost.channels.speech.voice_actions import PendingRecording
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Store
from gatepost.core.times import SECOND
from gatepost.errors import NotFound, Unavailable
from gatepost.jobs.job import Job, compute_job_delay
from gatepost.jobs.job_runner_background import RetryLater

log = structlog.get_logger("gatepost.speech")

_UNREADABLE: Final = "I could not understand your recording. It was passed on without its words."
#: the media type of a recording of which the channel does not say it
_USUAL_TYPE: Final = "audio/ogg"
#: how long a service that is down is left alone at most
_MAX_DELAY: Final = 10 * SECOND


class VoiceJobs:
    def __init__(
        self, store: Store, download: Callable[[Trigger, str], Awaitable[bytes]], transcriber: Transcriber
    ) -> None:
        """`download` returns a file that the channel of a trigger keeps; it raises SpeechRefused if it never will."""
        self._store = store
        self._download = download
        self._transcriber = transcriber
        #: of the transcriptions that run
        self._scopes: set[asyncio.Timeout] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """End the transcriptions that run, and begin none."""
        self._is_stopped = True
        for scope in self._scopes:
            scope.reschedule(asyncio.get_running_loop().time())

    async def run_job(self, job: Job) -> None:
        """Transcribe the voice message of a job, unless it has gone on without."""
        pending = await self._store.run(voices.find_recording, job.payload)
        if pending is None:
            return
        try:
            transcript = await self._transcribe(pending)
        except SpeechRefused as error:
            log.warning("a recording cannot be transcribed", voice=job.payload, reason=error.message)
            await self._store.run(voices.route_without_transcript, job.payload, _UNREADABLE)
        except (Unavailable, NotFound) as error:
            retry_after = int((getattr(error, "retry_after", None) or 0.0) * SECOND)
            delay = max(min(compute_job_delay(job.attempts), _MAX_DELAY), retry_after)
            raise RetryLater(error.message, delay, is_outage=True) from None
        else:
            await self._store.run(voices.route_with_transcript, job.payload, transcript.text, transcript.confidence)

    async def _transcribe(self, pending: PendingRecording) -> Transcript:
        """Return the transcript of a recording; raise RetryLater if this process stops."""
        try:
            async with asyncio.timeout(0 if self._is_stopped else None) as scope:
                self._scopes.add(scope)
                try:
                    audio = await self._download(pending.trigger, pending.recording.file)
                    return await self._transcriber.transcribe(audio, pending.recording.mime_type or _USUAL_TYPE)
                finally:
                    self._scopes.discard(scope)
        except TimeoutError:
            raise RetryLater("the process stops", SECOND, is_outage=True) from None
