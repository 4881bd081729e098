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

from gatepost.actions import intake
from gatepost.actions.intake import Outcome
from gatepost.core import dedup
from gatepost.core.event import Json, Push, Pushed, Trust, Type
from gatepost.core.trigger import Trigger
from gatepost.core.webhook import Occurrence
from gatepost.errors import GatepostError
from gatepost.ports import RetryTransaction, Transaction, batched
from gatepost.tables import replies

_LONGEST_KEY: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
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
    about: Mapping[str, Json] = field(default_factory=dict)


@batched
def call_all(tx: Transaction, calls: Sequence[Call]) -> list[Outcome]:
    """Accept what can be accepted; return an outcome for each call."""
    return intake.push_all(tx, [_wish(tx, call) for call in calls])


def call(tx: Transaction, one: Call) -> Pushed:
    """Accept one call, or raise why not."""
    [pushed] = _all_or_nothing(tx, [one])
    return pushed


def receive(
    tx: Transaction, trigger: Trigger, occurrences: Sequence[Occurrence], signature: str | None = None
) -> list[Pushed]:
    """
    Accept everything that came in one request by a trigger, or raise why not and accept nothing of it. A request that
    is signed goes by the names of the first one with this `signature`.
    """
    names: Sequence[str | None] = [each.id for each in occurrences]
    if signature is not None:
        names = _signed_names(tx, trigger, names, signature)
    return _all_or_nothing(
        tx,
        [
            Call(
                to=trigger.target,
                service=trigger.name,
                payload=each.payload,
                key=name,
                kind=each.kind,
                context=trigger.prompt,
                about=each.about,
            )
            for each, name in zip(occurrences, names, strict=False)
        ],
    )


def _signed_names(tx: Transaction, trigger: Trigger, names: Sequence[str | None], signature: str) -> list[str]:
    """
    Return the names that came first with a signature, and remember them as long as other answers to requests. A copy
    may read as more or fewer events than the first, because the content type is not signed: then its last events go by
    the last name, and are repeats too.
    """
    scope = f"hook {trigger.id}"
    first = [name or f"{signature} {place}" for place, name in enumerate(names)]
    if replies.begin(tx, scope, signature, ""):
        replies.answer(tx, scope, signature, json.dumps(first))
    elif (remembered := replies.read(tx, scope, signature)) is None:
        raise RetryTransaction("the first request with this signature was just forgotten")
    else:
        first = json.loads(remembered[1])
    return [*first, *first[-1:] * len(names)][: len(names)]


def repeated(pushed: Pushed) -> bool:
    """Whether everybody it is for had it before."""
    return pushed.duplicate or (bool(pushed.deliveries) and all(each.duplicate for each in pushed.deliveries))


def key(service: str, name: str) -> str:
    """
    The dedup key of what a service calls by that name. No two pairs share one: a colon in the service's own name is
    written otherwise, and what would be too long is hashed, where a service's name would be empty.
    """
    plain = f"svc:{dedup.escape(service)}:{name}"
    if len(plain) <= _LONGEST_KEY:
        return plain
    return f"svc::sha256:{sha256(plain.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _all_or_nothing(tx: Transaction, calls: Sequence[Call]) -> list[Pushed]:
    pushed = []
    wishes = [_wish(tx, call) for call in calls]
    intake.check_batch(tx, wishes)
    for outcome in intake.push_all(tx, wishes):
        if isinstance(outcome, GatepostError):
            raise outcome
        pushed.append(outcome)
    return pushed


def _wish(tx: Transaction, call: Call) -> Push:
    context = {"context": call.context} if call.context else {}
    name = call.key or tx.new_id("evt").removeprefix("evt_")
    return Push(
        to=call.to,
        type=Type.SERVICE,
        source=call.service,
        subject=call.kind,
        data={"serviceName": call.service, "payload": call.payload} | context | dict(call.about),
        key=name if call.by_trigger_key else key(call.service, name),
        key_prefix=dedup.prefix_trigger(call.to, call.service) if call.by_trigger_key else "",
        trust=Trust.EXTERNAL,
    )
