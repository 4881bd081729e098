"""
What services have to say: a call becomes an event of the type `service` in somebody's inbox.

A call carries the service's own name for what it says (an idempotency key, a delivery id), and the dedup key is made
of that: `svc:{service}:{name}`. Said again, it is a repeat. A call without such a name gets one that nobody else has.
What comes with a key that can only trigger one agent has its keys apart (`core/dedup.py`): a service's name is whatever
its caller says it is.
"""

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
from gatepost.ports.store import Work, batched

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
def call_all(work: Work, calls: Sequence[Call]) -> list[Outcome]:
    """Accept what can be accepted; return an outcome for each call."""
    return intake.push_all(work, [_wish(work, call) for call in calls])


def call(work: Work, one: Call) -> Pushed:
    """Accept one call, or raise why not."""
    [pushed] = _all_or_nothing(work, [one])
    return pushed


def receive(work: Work, trigger: Trigger, occurrences: Sequence[Occurrence]) -> list[Pushed]:
    """Accept everything that came in one request by a trigger, or raise why not and accept nothing of it."""
    return _all_or_nothing(
        work,
        [
            Call(
                to=trigger.target,
                service=trigger.name,
                payload=each.payload,
                key=each.id,
                kind=each.kind,
                context=trigger.prompt,
                about=each.about,
            )
            for each in occurrences
        ],
    )


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


def _all_or_nothing(work: Work, calls: Sequence[Call]) -> list[Pushed]:
    pushed = []
    for outcome in call_all(work, calls):
        if isinstance(outcome, GatepostError):
            raise outcome
        pushed.append(outcome)
    return pushed


def _wish(work: Work, call: Call) -> Push:
    context = {"context": call.context} if call.context else {}
    name = call.key or work.id("evt").removeprefix("evt_")
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
