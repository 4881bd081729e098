"""
Show what a trigger would make of a payload, and who would get it. Nothing is stored.

A webhook gets its payload with the headers of a request, as its service sends them; neither secret nor signature is
needed. Of a channel on which people write, the payload is a message: `{content, session, metadata}`; of a bot on
Telegram it may be an update as Telegram sends it. A schedule has no payload: it shows what would happen if it were due
now.
"""

import json
from collections.abc import Mapping
from typing import Any, assert_never

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels import conversation_actions as conversations, envelope as envelopes, intake_actions as intake
from gatepost.channels.conversation import RESET_TEXT, parse_command
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import recipient_actions as recipients
from gatepost.channels.routing.recipient_actions import RouteDecision
from gatepost.channels.telegram import update_preview_actions as telegram_preview
from gatepost.channels.telegram.update_preview_actions import PreviewedReset
from gatepost.channels.triggers import cron_fire_actions as schedules
from gatepost.channels.triggers.trigger import Trigger
from gatepost.channels.webhooks import delivery_actions as webhooks, verification as webhook
from gatepost.channels.webhooks.verification import Challenge, Occurrence, Verification
from gatepost.channels.wording import message_template, payload_lines as webhook_lines
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader
from gatepost.errors import Invalid, quote_value
from gatepost.inbox import event
from gatepost.inbox.event import Priority


class PreviewedEvent(Struct, frozen=True, kw_only=True):
    envelope: Envelope
    decision: RouteDecision
    subject: str | None = None
    priority: Priority | None = None


class Preview(Struct, frozen=True, kw_only=True):
    events: tuple[PreviewedEvent, ...] = ()
    #: why there is no event
    skipped: str | None = None


def preview(tx: Reader, trigger: Trigger, payload: Json, headers: Mapping[str, str]) -> Preview:
    """Return what would happen to a payload that comes through a trigger."""
    if trigger.provider == event.TELEGRAM and isinstance(payload, dict) and "update_id" in payload:
        match telegram_preview.preview_update(tx, trigger, payload):
            case str(reason):
                return Preview(skipped=reason)
            case Envelope() as envelope:
                return _decide(tx, trigger, envelope)
            case PreviewedReset() as reset:
                return _preview_reset(reset.envelope, reset.targets)
            case other:
                assert_never(other)
    if trigger.is_channel:
        return _preview_message(tx, trigger, _build_message(trigger, payload))
    if trigger.provider == schedules.CRON:
        slot = schedules.find_events(tx, trigger, tx.now)
        found = (PreviewedEvent(envelope=envelope, decision=decision) for envelope, decision in slot.events)
        return Preview(events=tuple(found), skipped=slot.skipped)
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


def _preview_occurrence(tx: Reader, trigger: Trigger, occurrence: Occurrence, headers: Mapping[str, str]) -> Preview:
    lines = webhooks.build_lines(trigger, occurrence, headers)
    if not lines:
        skipped = webhook_lines.find_skip_reason(
            message_template.parse_templates(list(trigger.config.templates)),
            headers,
            occurrence.payload,
            scheme=trigger.scheme.value if trigger.scheme is not None else trigger.name,
            kind=occurrence.kind,
        )
        return Preview(skipped=skipped)
    events: list[PreviewedEvent] = []
    for line in lines:
        envelope = webhooks.build_envelope(trigger, occurrence, line)
        part = _decide(tx, trigger, envelope, subject=line.subject, priority=line.priority)
        events += part.events
    return Preview(events=tuple(events))


def _decide(tx: Reader, trigger: Trigger, envelope: Envelope, **fields: Any) -> Preview:
    envelope = envelopes.check_envelope(envelope, trigger.config.requires)
    decision = recipients.decide(tx, envelope, trigger)
    return Preview(events=(PreviewedEvent(envelope=envelope, decision=decision, **fields),))


def _preview_message(tx: Reader, trigger: Trigger, envelope: Envelope) -> Preview:
    """Return what would become of a message that somebody writes, or of a command."""
    command = parse_command(envelope.content)
    if command is None:
        return _decide(tx, trigger, envelope)
    if command != "reset":
        return Preview(skipped=f"it is the command /{command}, which the channel answers itself")
    session = conversations.find_session(tx, trigger.provider, envelope.session, trigger)
    if session is None:
        return _preview_reset(envelope, ())
    targets = intake.list_prompt_targets(tx, session)
    next_id = replace(session, generation=session.generation + 1).id
    return _preview_reset(replace(envelope, session=next_id, kind=EnvelopeKind.RESET, content=RESET_TEXT), targets)


def _preview_reset(envelope: Envelope, targets: tuple[str, ...]) -> Preview:
    """Return what a reset does: those who got a prompt in the session are told, whatever the rules say."""
    if not targets:
        return Preview(skipped="it begins a new conversation, and nobody got a prompt in the old one")
    return Preview(events=(PreviewedEvent(envelope=envelope, decision=RouteDecision(targets=targets, rule=None)),))


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
    ids = {"telegram_chat_id": "0", "telegram_message_id": "0"} if trigger.provider == event.TELEGRAM else {}
    return Envelope(
        channel=trigger.provider,
        session=session,
        kind=EnvelopeKind.TEXT,
        content=content,
        metadata={**ids, **metadata},
    )
