"""
What services have to say: a call becomes an event of the type `service` in somebody's inbox.

A call carries the service's own name for what it says (an idempotency key, a delivery id), and the dedup key is made
of that: `svc:{service}:{name}`. Said again, it is a repeat. A call without such a name gets one that nobody else has.
What comes with a key that can only trigger one agent has its keys apart (`core/dedup.py`): a service's name is whatever
its caller says it is.
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
from gatepost.core.trigger import Trigger
from gatepost.core.webhook import Occurrence
from gatepost.errors import GatepostError
from gatepost.ports import RetryTransaction, Transaction, batched
from gatepost.tables import replies

_MAX_KEY_LENGTH: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    #: an address
    to: str
    service: str
    payload: Json
    #: what the service calls this, the same when it says it again
    key: str | None = None
    #: whether it came with a key that can only trigger its recipient
    by_trigger_key: bool = False
    #: what kind of thing it is, in the service's own words
    kind: str | None = None
    #: what the recipient should know about it: a trigger's prompt
    context: str | None = None
    #: what else belongs to the event's data
    extra_data: Mapping[str, Json] = field(default_factory=dict)


@batched
def push_calls(tx: Transaction, calls: Sequence[ServiceCall]) -> list[PushOutcome]:
    """Accept what can be accepted; return an outcome for each call."""
    return push.push_all(tx, [_build_push(tx, call) for call in calls])


def push_call(tx: Transaction, service_call: ServiceCall) -> PushResult:
    """Accept one call, or raise why not."""
    [result] = _push_all_or_none(tx, [service_call])
    return result


def receive(
    tx: Transaction, trigger: Trigger, occurrences: Sequence[Occurrence], signature: str | None = None
) -> list[PushResult]:
    """
    Accept everything that came in one request by a trigger, or raise why not and accept nothing of it. A request that
    is signed goes by the names of the first one with this `signature`.
    """
    names: Sequence[str | None] = [occurrence.id for occurrence in occurrences]
    if signature is not None:
        names = _resolve_names(tx, trigger, names, signature)
    return _push_all_or_none(
        tx,
        [
            ServiceCall(
                to=trigger.target,
                service=trigger.name,
                payload=occurrence.payload,
                key=name,
                kind=occurrence.kind,
                context=trigger.prompt,
                extra_data=occurrence.details,
            )
            for occurrence, name in zip(occurrences, names, strict=False)
        ],
    )


def _resolve_names(tx: Transaction, trigger: Trigger, names: Sequence[str | None], signature: str) -> list[str]:
    """
    Return the names that came first with a signature, and remember them as long as other answers to requests. A copy
    may read as more or fewer events than the first, because the content type is not signed: then its last events go by
    the last name, and are repeats too.
    """
    scope = f"hook {trigger.id}"
    first_names = [name or f"{signature} {index}" for index, name in enumerate(names)]
    if replies.begin(tx, scope, signature, ""):
        replies.answer(tx, scope, signature, json.dumps(first_names))
    elif (stored_answer := replies.read(tx, scope, signature)) is None:
        raise RetryTransaction("the first request with this signature was just forgotten")
    else:
        first_names = json.loads(stored_answer[1])
    return [*first_names, *first_names[-1:] * len(names)][: len(names)]


def is_repeat(pushed: PushResult) -> bool:
    """Whether everybody it is for had it before."""
    return pushed.duplicate or (bool(pushed.deliveries) and all(delivery.duplicate for delivery in pushed.deliveries))


def build_dedup_key(service: str, name: str) -> str:
    """
    The dedup key of what a service calls by that name. No two pairs share one: a colon in the service's own name is
    written otherwise, and what would be too long is hashed, where a service's name would be empty.
    """
    full_key = f"svc:{dedup.escape(service)}:{name}"
    if len(full_key) <= _MAX_KEY_LENGTH:
        return full_key
    return f"svc::sha256:{sha256(full_key.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _push_all_or_none(tx: Transaction, calls: Sequence[ServiceCall]) -> list[PushResult]:
    results = []
    pushes = [_build_push(tx, call) for call in calls]
    push.check_batch(tx, pushes)
    for outcome in push.push_all(tx, pushes):
        if isinstance(outcome, GatepostError):
            raise outcome
        results.append(outcome)
    return results


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
