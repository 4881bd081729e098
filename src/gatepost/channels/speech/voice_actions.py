"""
Voice messages: store one, and route it when it is written down.

A recording is stored with a job that transcribes it, so that a service that is slow or broken never holds up what comes
after it. It is routed when the transcript is there; after `speech.patience`, or if there cannot be a transcript, it is
routed without. That of a user who is not let in any more by then is dropped. Whoever spoke gets the transcript back,
and is told if it may be wrong. The recording itself stays where the channel keeps it: it is downloaded into memory, and
gone when it is transcribed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from gatepost.channels import access_actions as access, intake_actions as intake, outgoing_message_actions as outgoing
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.intake_actions import Received
from gatepost.channels.provider import Recording
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core import typed_json
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import has_visible_text
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory
from gatepost.jobs import job_actions as jobs

#: the kind of the jobs that transcribe; the payload is the id of a voice message
TRANSCRIBE_JOB: Final = "channel.transcribe"
#: bytes of a recording that is transcribed
MAX_RECORDING_SIZE: Final = 20 * 1024 * 1024
#: the content of a recording without a transcript
NOT_TRANSCRIBED: Final = "[voice, not transcribed]"
#: a transcript with less confidence may be wrong
LOW_CONFIDENCE: Final = 0.6

_PATIENCE_OVER: Final = "I could not write down your recording in time. It was passed on without its words."
_MAX_DUE: Final = 100


class Voice(NamedTuple):
    id: str
    #: the number of the trigger
    trigger: int
    dedup_key: str
    #: the name of whoever spoke; None if it is nobody here
    person: str | None
    envelope: Envelope
    state: str
    due_at: Instant | None


class PendingRecording(NamedTuple):
    """A recording that is to be transcribed."""

    trigger: Trigger
    recording: Recording


def store(
    tx: Transaction, trigger: Trigger, envelope: Envelope, dedup_key: str, *, person: str | None
) -> tuple[str | None, Received | None]:
    """
    Store a recording of a person, and the job that transcribes it; return its id. One that is too large, or that
    nothing can transcribe, is routed at once, and its user is told: return what became of it.
    """
    assert envelope.recording is not None
    due_at = tx.now + tx.policy.speech_patience
    number = directory.find_number(tx, person)
    id = insert(tx, trigger.number, dedup_key, envelope, due_at, person=number)
    if id is None:
        return None, None
    if (envelope.recording.size or 0) > MAX_RECORDING_SIZE:
        limit = MAX_RECORDING_SIZE // 1024**2
        sentence = f"The recording is larger than {limit} MB, so I cannot hear it."
        return None, route_without_transcript(tx, id, sentence)
    if not tx.policy.has_speech:
        return None, route_without_transcript(tx, id, "I cannot hear recordings yet. Write to me instead.")
    jobs.add(tx, TRANSCRIBE_JOB, id)
    return id, None


def insert(
    tx: Transaction, trigger: int, dedup_key: str, envelope: Envelope, due_at: Instant, *, person: int | None
) -> str | None:
    """Return the id of the voice message; None if it is here already."""
    id = tx.new_id("voice")
    row_count = tx.execute(
        "channels/channel_messages/insert_voice",
        id=id,
        trigger=trigger,
        dedup_key=dedup_key,
        person=person,
        envelope=msgspec.json.encode(envelope).decode(),
        due_at=due_at,
        now=tx.now,
    )
    return id if row_count else None


def lock(tx: Transaction, id: str) -> Voice | None:
    """Read a voice message and lock it until the commit."""
    row = tx.fetch_one("channels/channel_messages/find_voice", id=id)
    if row is None:
        return None
    envelope = typed_json.decode(row.envelope, Envelope)
    return Voice(row.id, row.trigger, row.dedup_key, row.person_name, envelope, row.state, row.due_at)


def find_recording(tx: Transaction, id: str) -> PendingRecording | None:
    """Return what is to be transcribed; None if it was, or is given up."""
    voice = lock(tx, id)
    trigger = triggers.read(tx, voice.trigger) if voice is not None and voice.state == "pending" else None
    if voice is None or trigger is None or voice.envelope.recording is None:
        return None
    return PendingRecording(trigger, voice.envelope.recording)


def route_with_transcript(tx: Transaction, id: str, transcript: str, confidence: float | None) -> Received | None:
    """Route a voice message with its transcript; return None if it went on without."""
    if not has_visible_text(transcript):
        return route_without_transcript(tx, id, "I heard no words in your recording.")
    voice = _end(tx, id, "transcribed")
    if voice is None:
        return None
    transcript = transcript.strip()
    is_doubtful = confidence is not None and confidence < LOW_CONFIDENCE
    echo = f"> {transcript}".replace("\n", "\n> ")
    doubt = "\n\nI am not sure that I understood you: write it if this is wrong."
    _say(tx, voice, f"{echo}{doubt}" if is_doubtful else echo)
    note = " [transcript of a voice message, low confidence]" if is_doubtful else ""
    content = "\n".join(part for part in (voice.envelope.content, f"{transcript}{note}") if part)
    details: dict[str, Json] = {"transcript": True}
    if confidence is not None:
        details["confidence"] = round(confidence, 3)
    return _route(tx, voice, replace(voice.envelope, content=content), details)


def route_without_transcript(tx: Transaction, id: str, sentence: str) -> Received | None:
    """Route a voice message without a transcript, and tell its user; return None if it has ended before."""
    voice = _end(tx, id, "failed")
    if voice is None:
        return None
    _say(tx, voice, sentence)
    content = "\n".join(part for part in (voice.envelope.content, NOT_TRANSCRIBED) if part)
    # A recording without words cannot be the answer to a question.
    return _route(tx, voice, replace(voice.envelope, content=content, kind=EnvelopeKind.MEDIA), {"transcript": False})


def has_overdue(tx: Reader) -> bool:
    """Return True if a voice message has waited for its transcript long enough."""
    return bool(_list_overdue(tx, 1))


def route_overdue(tx: Transaction) -> int:
    """Route the voice messages that have waited long enough; return how many."""
    return sum(route_without_transcript(tx, id, _PATIENCE_OVER) is not None for id in _list_overdue(tx, _MAX_DUE))


def _list_overdue(tx: Reader, limit: int) -> list[str]:
    """Return the ids of voice messages that have waited for their transcript long enough."""
    return [row.id for row in tx.fetch_all("channels/channel_messages/list_due_voices", now=tx.now, limit=limit)]


def _end(tx: Transaction, id: str, state: str) -> Voice | None:
    """
    End a voice message, and return it; None if it has ended before, or if its user is not let in any more: then it
    fails, and nobody gets it.
    """
    voice = lock(tx, id)
    if voice is None:
        return None
    trigger = triggers.read(tx, voice.trigger)
    assert trigger is not None
    assert voice.envelope.chat is not None
    is_let_in = access.may_write(tx, trigger, voice.envelope.chat, voice.envelope.user, voice.person)
    end_state = state if is_let_in else "failed"
    has_ended = tx.execute("channels/channel_messages/end_voice", id=id, state=end_state) == 1
    return voice if has_ended and is_let_in else None


def _route(tx: Transaction, voice: Voice, envelope: Envelope, details: Mapping[str, Json]) -> Received:
    trigger = triggers.read(tx, voice.trigger)
    assert trigger is not None
    received = intake.receive(
        tx,
        trigger,
        envelope,
        dedup_key=voice.dedup_key,
        person=voice.person,
        reply_question=outgoing.find_question(tx, trigger, envelope),
        details=details,
    )
    if received.notice is not None:
        _say(tx, voice, received.notice)
    return received


def _say(tx: Transaction, voice: Voice, text: str) -> None:
    envelope = voice.envelope
    assert envelope.chat is not None
    outgoing.send(tx, voice.trigger, envelope.chat, text, thread=envelope.thread, user_id=envelope.user)
