"""
Show what a trigger would make of a payload, and who would get it: it is done, and whoever calls this rolls it back
(`core/dry_run.py`).

A webhook gets its payload with the headers of a request, as its service sends them; neither secret nor signature is
needed. Of a channel on which people write, the payload is a message: `{content, session, metadata}`; of a bot it may be
an update as its channel sends it. A schedule has no payload: it shows what would happen if it were due now.
"""

import json
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels import conversation_actions as conversations, intake_actions as intake
from gatepost.channels.conversation import RESET_TEXT, parse_command
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.intake_actions import Received
from gatepost.channels.routing.recipient_choice_actions import RecipientChoice
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.telegram import update_actions as bots
from gatepost.channels.triggers import cron_fire_actions as schedules
from gatepost.channels.triggers.trigger import Trigger
from gatepost.channels.user_message_actions import IntakeOutcome, TakenMessage
from gatepost.channels.webhooks import delivery_actions as webhooks, verification as webhook
from gatepost.channels.webhooks.verification import Challenge, Occurrence, Verification
from gatepost.channels.wording import message_template, payload_lines as webhook_lines
from gatepost.core.json_limits import Json
from gatepost.core.ports import Transaction
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import Priority

_NO_PROMPTS: Final = "it begins a new conversation, and nobody got a prompt in the old one"


class PreviewedEvent(Struct, frozen=True, kw_only=True):
    envelope: Envelope
    decision: RecipientChoice
    subject: str | None = None
    priority: Priority | None = None


class Preview(Struct, frozen=True, kw_only=True):
    events: tuple[PreviewedEvent, ...] = ()
    #: why there is no event
    skipped: str | None = None


def preview(tx: Transaction, trigger: Trigger, payload: Json, headers: Mapping[str, str]) -> Preview:
    """Return what happens to a payload that comes through a trigger."""
    if trigger.is_built_in_channel and isinstance(payload, dict) and "update_id" in payload:
        outcome = bots.try_update(tx, trigger, payload)
        return Preview(skipped=outcome) if isinstance(outcome, str) else _show_taken(tx, trigger, outcome)
    if trigger.is_channel:
        return _preview_message(tx, trigger, payload)
    if trigger.provider == schedules.CRON:
        slot = schedules.find_events(tx, trigger, tx.now)
        previewed = tuple(PreviewedEvent(envelope=envelope, decision=decision) for envelope, decision in slot.events)
        return Preview(events=previewed, skipped=slot.skipped)
    if trigger.provider != "webhook":
        return _preview_occurrence(tx, trigger, Occurrence(payload=payload), headers)
    assert trigger.scheme is not None
    lower_headers = webhook.merge_headers(headers.items())
    content = webhook.parse_request(trigger.scheme, Verification(), lower_headers, json.dumps(payload).encode())
    if isinstance(content, Challenge):
        return Preview(skipped="it is a challenge, which is answered at once")
    previews = [_preview_occurrence(tx, trigger, occurrence, lower_headers) for occurrence in content]
    events = tuple(event for part in previews for event in part.events)
    return Preview(events=events, skipped=next((part.skipped for part in previews if part.skipped), None))


def _preview_occurrence(
    tx: Transaction, trigger: Trigger, occurrence: Occurrence, headers: Mapping[str, str]
) -> Preview:
    received = webhooks.receive(tx, trigger, [replace(occurrence, id=None)], headers=headers)
    if received:
        return Preview(events=tuple(event for result in received for event in _show_received(result).events))
    skipped = webhook_lines.find_skip_reason(
        message_template.parse_templates(list(trigger.config.templates)),
        headers,
        occurrence.payload,
        scheme=trigger.scheme.value if trigger.scheme is not None else trigger.name,
        kind=occurrence.kind,
    )
    return Preview(skipped=skipped)


def _preview_message(tx: Transaction, trigger: Trigger, payload: Json) -> Preview:
    """Show what becomes of a message that somebody writes in a session, or of a command."""
    envelope = _build_message(trigger, payload)
    command, key = parse_command(envelope.content), tx.new_id("evt")
    if command is None:
        return _show_received(intake.receive(tx, trigger, envelope, dedup_key=key))
    if command != "reset":
        return Preview(skipped=f"it is the command /{command}, which the channel answers itself")
    session = conversations.find_session(tx, trigger.provider, envelope.session, trigger)
    if session is None:
        return Preview(skipped=_NO_PROMPTS)
    envelope = replace(envelope, content=RESET_TEXT)
    return _show_received(intake.reset(tx, trigger, session, envelope, dedup_key=key))


def _show_taken(tx: Transaction, trigger: Trigger, message: TakenMessage) -> Preview:
    received = message.received
    if message.voice is not None:
        received = voices.route_with_transcript(tx, message.voice, "[voice]", None)
    if received is not None:
        return _show_received(received)
    match message.outcome:
        case IntakeOutcome.BLOCKED:
            return Preview(skipped="its sender or its chat is on the block list")
        case IntakeOutcome.PAIRING:
            return Preview(skipped=f"its sender is not paired: {message.reason}")
        case IntakeOutcome.COMMAND:
            return Preview(skipped=f"it is the command /{message.reason}, which the {trigger.noun} answers itself")
        case _:
            return Preview(skipped=f"it is ignored: {message.reason}")


def _show_received(received: Received) -> Preview:
    if received.decision is not None:
        return Preview(skipped=f"it answers the decision {received.decision}")
    envelope, route = received.envelope, received.route
    assert envelope is not None
    assert route is not None
    if envelope.kind is EnvelopeKind.RESET and not route.targets:
        return Preview(skipped=_NO_PROMPTS)
    fields = received.fields
    event = PreviewedEvent(envelope=envelope, decision=route, subject=fields.subject, priority=fields.priority)
    return Preview(events=(event,))


def _build_message(trigger: Trigger, payload: Json) -> Envelope:
    """Return the envelope of a message that somebody would write; the ids that its channel gives may be left out."""
    match payload:
        case {"content": str(content), **others} if others.keys() <= {"session", "metadata"}:
            session, metadata = others.get("session", trigger.name), others.get("metadata", {})
        case _:
            raise Invalid(
                f"{quote_value(payload)} is not a message of {trigger.provider!r}",
                hint='write it as {"content": "hello", "session": "chat-1:user-2"}',
            )
    if not isinstance(session, str) or not isinstance(metadata, dict):
        raise Invalid("the session of a message is a text, and its metadata is an object")
    return Envelope(
        channel=trigger.provider,
        session=session,
        kind=EnvelopeKind.TEXT,
        content=content,
        metadata=metadata,
    )
