"""
Transcribe voice messages.

A job downloads a recording into memory and has it written down. A service that is down is asked again until the voice
message has gone on without its transcript (`actions/voices.py`); a recording that cannot be transcribed goes on at
once.
"""

from typing import Final

import structlog

from gatepost.actions import voices
from gatepost.core.retry_policy import Job, compute_job_delay
from gatepost.core.speech import SpeechRefused, Transcriber
from gatepost.core.telegram_api import RequestRefused
from gatepost.core.times import SECOND
from gatepost.errors import NotFound, Unavailable
from gatepost.ports import Store
from gatepost.runtime.jobs import RetryLater
from gatepost.runtime.telegram_bots import TelegramBots

log = structlog.get_logger("gatepost.speech")

_UNREADABLE: Final = "I could not understand your recording. It was passed on without its words."
#: how long a service that is down is left alone at most
_MAX_DELAY: Final = 10 * SECOND


class VoiceJobs:
    def __init__(self, store: Store, bots: TelegramBots, transcriber: Transcriber) -> None:
        self._store = store
        self._bots = bots
        self._transcriber = transcriber

    async def run_job(self, job: Job) -> None:
        """Transcribe the voice message of a job, unless it has gone on without."""
        recording = await self._store.run(voices.find_recording, job.payload)
        if recording is None:
            return
        try:
            bot = await self._bots.find(recording.trigger)
            audio = await bot.api.download(recording.file_id)
            transcript = await self._transcriber.transcribe(audio, recording.mime_type)
        except (RequestRefused, SpeechRefused) as error:
            log.warning("a recording cannot be transcribed", voice=job.payload, reason=error.message)
            await self._store.run(voices.give_up, job.payload, _UNREADABLE)
        except (Unavailable, NotFound) as error:
            retry_after = int((getattr(error, "retry_after", None) or 0.0) * SECOND)
            delay = max(min(compute_job_delay(job.attempts), _MAX_DELAY), retry_after)
            raise RetryLater(error.message, delay, is_outage=True) from None
        else:
            await self._store.run(voices.finish, job.payload, transcript.text, transcript.confidence)
