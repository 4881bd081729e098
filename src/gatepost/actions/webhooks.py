"""
Triggers, and the calls of services: what comes in from programs that are not agents here.

A trigger is a named address to which a service outside sends webhooks. Its secret is stored and never shown again:
`find_open_trigger` returns what is stored of it to verify a request, and nothing else reads it.

A call of a service, by a webhook or with a key, becomes an event of the type `service` in an inbox. It carries the
service's own name for it (an idempotency key, a delivery id), and the dedup key is made from that:
`svc:{service}:{name}`. A call with the same name is a duplicate. A call without a name gets a unique one. Calls with a
key that can only trigger one agent have separate dedup keys (`core/dedup.py`), because their caller chooses the name of
the service.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from gatepost.actions import directory, push
from gatepost.actions.push import PushOutcome
from gatepost.core import address, dedup, webhook
from gatepost.core.address import AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.event import EventType, Json, Push, PushResult, Trust
from gatepost.core.text import find_unstorable
from gatepost.core.times import Instant
from gatepost.core.webhook import MAX_PROMPT_LENGTH, Occurrence, Scheme, Trigger
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.ports import Reader, RetryTransaction, Transaction, batched
from gatepost.tables import jobs, keys


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    name: str
    scheme: Scheme
    secret: str = field(repr=False)
    target: str
    prompt: str | None = None
    #: None for the administrator
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class OpenTrigger:
    """A trigger that accepts requests, and what is needed to verify one."""

    trigger: Trigger
    stored_secret: str = field(repr=False)
    #: bytes
    body_limit: int
    now: Instant


def add_trigger(tx: Transaction, spec: TriggerSpec) -> Trigger:
    """Add a trigger, and return it; its name must be free, and its target must be the address of a live entity."""
    name = webhook.check_trigger_name(spec.name)
    stored_secret = webhook.prepare_secret(spec.scheme, spec.secret)
    prompt = validate_prompt(spec.prompt)
    target = _resolve_target(tx, spec.target)
    owner = directory.find_live(tx, spec.owner or directory.ADMINISTRATOR)
    is_added = keys.insert_trigger(
        tx, name=name, scheme=spec.scheme, secret=stored_secret, target=target, prompt=prompt, owner=owner.number
    )
    if not is_added:
        raise Conflict(f"there is a trigger {name!r} already", hint="delete it first, or take another name")
    return show_trigger(tx, name)


def show_trigger(tx: Reader, name: str) -> Trigger:
    stored_trigger = keys.find_trigger(tx, webhook.check_trigger_name(name))
    if stored_trigger is None:
        raise NotFound(f"there is no trigger {name!r}", hint="`gatepost trigger list` lists them")
    return stored_trigger


def page_triggers(tx: Reader, *, after: int = 0, limit: int = 100) -> list[Trigger]:
    """Return triggers in the order in which they were added; `after` is the number of the last trigger seen."""
    return keys.list_triggers(tx, after=after, limit=limit)


def set_trigger_active(tx: Transaction, name: str, active: bool) -> Trigger:
    """Activate or deactivate a trigger; a request to an inactive trigger gets the same answer as to an unknown one."""
    stored_trigger = show_trigger(tx, name)
    if active and keys.read_trigger_secret(tx, stored_trigger.number) is None:
        raise Conflict(
            f"the trigger {name!r} was imported without its secret", hint="delete it, and add it with its secret"
        )
    keys.set_trigger_active(tx, stored_trigger.number, is_active=active)
    return show_trigger(tx, name)


def delete_trigger(tx: Transaction, name: str) -> None:
    keys.delete_trigger(tx, show_trigger(tx, name).number)


def find_open_trigger(tx: Reader, name: str) -> OpenTrigger:
    """Return an active trigger with what is needed to verify a request; raise `NotFound` for any other name."""
    try:
        stored_trigger = show_trigger(tx, name)
    except (Invalid, NotFound):  # invalid, because a database cannot take every text of a URL
        raise NotFound("there is no such webhook") from None
    stored_secret = keys.read_trigger_secret(tx, stored_trigger.number) if stored_trigger.active else None
    if stored_secret is None:
        raise NotFound("there is no such webhook")
    return OpenTrigger(stored_trigger, stored_secret, tx.limits.data, tx.now)


def _resolve_target(tx: Reader, text: str) -> str:
    """Return the address if a live entity has it; `*` is always valid."""
    target = address.parse(text)
    entities = directory.resolve(tx, [target]).get(target)
    match target:
        case EntityAddress(name) if not entities:
            raise directory.build_unknown_error(tx, name, suggest_team=True)
        case TeamAddress() if not entities:
            raise UnknownAddress(f"no entity is in {text!r}", hint="`gatepost agent list` shows who is in which team")
        case EntityAddress() | TeamAddress() if not any(entity.is_live for entity in entities or ()):
            raise Refused(f"{text!r} is retired and receives nothing")
        case EntityAddress() | TeamAddress() | AllAgentsAddress():
            return str(target)


def validate_prompt(text: str | None) -> str | None:
    """Return the prompt if it can be stored."""
    if not text:
        return None
    if len(text) > MAX_PROMPT_LENGTH:
        raise TooLarge(f"the prompt has {len(text)} characters, over the limit of {MAX_PROMPT_LENGTH}")
    if find_unstorable(text):
        raise Invalid("the prompt has a character in it that cannot be stored", hint="remove it")
    return text


_MAX_KEY_LENGTH: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    #: an address
    to: str
    service: str
    payload: Json
    #: the service's own name for this call, the same when the service repeats it
    key: str | None = None
    #: True if it came with a key that can only trigger its recipient
    by_trigger_key: bool = False
    #: the kind of call, in the service's own words
    kind: str | None = None
    #: what the recipient should know about it: a trigger's prompt
    context: str | None = None
    #: more fields of the event's data
    extra_data: Mapping[str, Json] = field(default_factory=dict)


@batched
def push_calls(tx: Transaction, calls: Sequence[ServiceCall]) -> list[PushOutcome]:
    """Store the calls that are valid; return an outcome for each call, in their order."""
    return push.push_all(tx, [_build_push(tx, call) for call in calls])


def receive(
    tx: Transaction, trigger: Trigger, occurrences: Sequence[Occurrence], signature: str | None = None
) -> list[PushResult]:
    """
    Store all occurrences of one request to a trigger, or raise the first error and store none. A signed request uses
    the names of the first request with this `signature`.
    """
    names: Sequence[str | None] = [occurrence.id for occurrence in occurrences]
    if signature is not None:
        names = _resolve_names(tx, trigger, names, signature)
    calls = [
        ServiceCall(
            to=trigger.target,
            service=trigger.name,
            payload=occurrence.payload,
            key=name,
            kind=occurrence.kind,
            context=trigger.prompt,
            extra_data=occurrence.details,
        )
        for occurrence, name in zip(occurrences, names, strict=True)
    ]
    pushes = [_build_push(tx, call) for call in calls]
    push.check_batch(tx, pushes)
    results = []
    for outcome in push.push_all(tx, pushes):
        if isinstance(outcome, GatepostError):
            raise outcome
        results.append(outcome)
    return results


def _resolve_names(tx: Transaction, trigger: Trigger, names: Sequence[str | None], signature: str) -> list[str]:
    """
    Return the names of the first request with a signature; they are stored as long as idempotent answers. A copy of
    that request may contain more or fewer events, because its content type is not signed: events beyond the first names
    get the last name, so they are duplicates too.
    """
    scope = f"hook {trigger.id}"
    first_names = [name or f"{signature} {index}" for index, name in enumerate(names)]
    if jobs.insert_idempotency_key(tx, scope, signature, ""):
        jobs.save_reply(tx, scope, signature, json.dumps(first_names))
    elif (stored_answer := jobs.read_reply(tx, scope, signature)) is None:
        raise RetryTransaction("the first request with this signature was just forgotten")
    else:
        first_names = json.loads(stored_answer[1])
    return [*first_names, *first_names[-1:] * len(names)][: len(names)]


def is_repeat(result: PushResult) -> bool:
    """Return True if all recipients had the event before."""
    return result.duplicate or (bool(result.deliveries) and all(delivery.duplicate for delivery in result.deliveries))


def build_dedup_key(service: str, name: str) -> str:
    """
    Return the dedup key of a call with this name. No two pairs share a key: a colon in the name of the service is
    escaped, and a key that would be too long is hashed, with an empty name in the place of the service's.
    """
    full_key = f"svc:{dedup.escape(service)}:{name}"
    if len(full_key) <= _MAX_KEY_LENGTH:
        return full_key
    return f"svc::sha256:{sha256(full_key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _build_push(tx: Transaction, call: ServiceCall) -> Push:
    context = {"context": call.context} if call.context else {}
    name = call.key or tx.new_id("evt").removeprefix("evt_")
    return Push(
        to=call.to,
        type=EventType.SERVICE,
        source=call.service,
        subject=call.kind,
        data={"serviceName": call.service, "payload": call.payload} | context | dict(call.extra_data),
        dedup_key=name if call.by_trigger_key else build_dedup_key(call.service, name),
        key_prefix=dedup.build_trigger_prefix(call.to, call.service) if call.by_trigger_key else "",
        trust=Trust.EXTERNAL,
    )
