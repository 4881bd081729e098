"""
Deliveries to webhooks: find the trigger of a request, and store what it reports.

The secret of a webhook is stored and never shown again: `find_open_trigger` returns what is stored of it to verify a
request (`channels/webhooks/verification.py`), and nothing else reads it.

What a service reports becomes events of the type `service` in inboxes. A delivery carries the service's own name for it
(an idempotency key, a delivery id), and the dedup key is made from that: `svc:{service}:{name}`. A delivery with the
same name is a duplicate. One without a name gets a unique one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from gatepost.channels import intake_actions as intake
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.intake_actions import Received
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.channels.webhooks.verification import Occurrence
from gatepost.channels.wording import message_template, payload_lines as webhook_lines
from gatepost.channels.wording.payload_lines import Line
from gatepost.core.ports import Reader, RetryTransaction, Transaction, needs_disk_space
from gatepost.core.times import Instant
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.push import dedup_keys as dedup
from gatepost.jobs import idempotency_actions as idempotency


@dataclass(frozen=True, slots=True)
class OpenTrigger:
    """A trigger that accepts requests, and what is needed to verify one."""

    trigger: Trigger
    stored_secret: str = field(repr=False)
    #: bytes
    body_limit: int
    now: Instant


def find_open_trigger(tx: Reader, name: str) -> OpenTrigger:
    """Return an active webhook with what is needed to verify a request; raise `NotFound` for any other name."""
    try:
        trigger = triggers.show(tx, name)
    except (Invalid, NotFound):  # invalid, because a database cannot take every text of a URL
        raise NotFound("there is no such webhook") from None
    is_open = trigger.active and trigger.provider == "webhook" and trigger.scheme is not None
    stored_secret = triggers.read_secret(tx, trigger) if is_open else None
    if stored_secret is None:
        raise NotFound("there is no such webhook")
    return OpenTrigger(trigger, stored_secret, tx.policy.data, tx.now)


_MAX_KEY_LENGTH: Final = 400


@needs_disk_space()
def receive(
    tx: Transaction,
    trigger: Trigger,
    occurrences: Sequence[Occurrence],
    signature: str | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    wakes: bool = True,
) -> list[Received]:
    """
    Store all occurrences of one request to a trigger, or raise the first error and store none. A signed request uses
    the names of the first request with this `signature`. An occurrence becomes a line, or several, by the templates of
    the trigger; with `wakes` False it waits for the next batch of its recipient.
    """
    names: Sequence[str | None] = [occurrence.id for occurrence in occurrences]
    if signature is not None:
        names = _resolve_names(tx, trigger, names, signature)
    lines = [
        (occurrence, name or tx.new_id("evt").removeprefix("evt_"), place, line)
        for occurrence, name in zip(occurrences, names, strict=True)
        for place, line in enumerate(build_lines(trigger, occurrence, headers or {}))
    ]
    envelopes = [build_envelope(trigger, occurrence, line) for occurrence, _, _, line in lines]
    if len(envelopes) > 1:
        intake.check_batch(tx, trigger, envelopes)
    results = []
    for (occurrence, name, place, line), envelope in zip(lines, envelopes, strict=True):
        key = build_dedup_key(trigger.name, name)
        results.append(
            intake.receive(
                tx,
                trigger,
                envelope,
                dedup_key=key if place == 0 else f"{key}:{place}",
                priority=line.priority,
                wakes=wakes,
                subject=line.subject,
                ref=line.ref,
                details=occurrence.details,
            )
        )
    return results


def build_lines(trigger: Trigger, occurrence: Occurrence, headers: Mapping[str, str]) -> list[Line]:
    """Return the lines that an occurrence becomes; none if a template of the trigger skips it."""
    return webhook_lines.build_lines(
        message_template.parse_templates(list(trigger.config.templates)),
        headers,
        occurrence.payload,
        scheme=trigger.scheme.value if trigger.scheme is not None else trigger.name,
        kind=occurrence.kind,
        session=trigger.config.session,
    )


def build_envelope(trigger: Trigger, occurrence: Occurrence, line: Line) -> Envelope:
    """Return the envelope of a line; without a text, its reader sees the payload."""
    return Envelope(
        channel=trigger.provider,
        session=line.session or trigger.name,
        kind=EnvelopeKind.EVENT,
        content=line.text if line.is_known else "",
        payload=occurrence.payload,
    )


def _resolve_names(tx: Transaction, trigger: Trigger, names: Sequence[str | None], signature: str) -> list[str]:
    """
    Return the names of the first request with a signature; they are stored as long as idempotent answers. A copy of
    that request may contain more or fewer events, because its content type is not signed: events beyond the first names
    get the last name, so they are duplicates too.
    """
    scope = f"hook {trigger.id}"
    first_names = [name or f"{signature} {index}" for index, name in enumerate(names)]
    if idempotency.insert_key(tx, scope, signature, ""):
        idempotency.save_reply(tx, scope, signature, json.dumps(first_names))
    elif (stored_answer := idempotency.read_reply(tx, scope, signature)) is None:
        raise RetryTransaction("the first request with this signature was just forgotten")
    else:
        first_names = json.loads(stored_answer[1])
    return [*first_names, *first_names[-1:] * len(names)][: len(names)]


def build_dedup_key(service: str, name: str) -> str:
    """
    Return the dedup key of a call with this name. No two pairs share a key: a colon in the name of the service is
    escaped, and a key that would be too long is hashed, with an empty name in the place of the service's.
    """
    full_key = f"svc:{dedup.escape(service)}:{name}"
    if len(full_key) <= _MAX_KEY_LENGTH:
        return full_key
    return f"svc::sha256:{sha256(full_key.encode('utf-8', 'surrogatepass')).hexdigest()}"
