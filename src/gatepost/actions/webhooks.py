"""
Calls of services: a call becomes an event of the type `service` in an inbox.

A call carries the service's own name for it (an idempotency key, a delivery id), and the dedup key is made from that:
`svc:{service}:{name}`. A call with the same name is a duplicate. A call without a name gets a unique one. Calls with a
key that can only trigger one agent have separate dedup keys (`core/dedup.py`), because their caller chooses the name of
the service.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from gatepost.actions import push
from gatepost.actions.push import PushOutcome
from gatepost.core import dedup
from gatepost.core.event import EventType, Json, Push, PushResult, Trust
from gatepost.core.webhook import Occurrence, Trigger
from gatepost.errors import GatepostError
from gatepost.ports import RetryTransaction, Transaction, batched
from gatepost.tables import jobs

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
        key=name if call.by_trigger_key else build_dedup_key(call.service, name),
        key_prefix=dedup.build_trigger_prefix(call.to, call.service) if call.by_trigger_key else "",
        trust=Trust.EXTERNAL,
    )
