"""
Calls of services, which trigger an agent with a key: `POST /api/agents/{name}/trigger`.

A call becomes an event of the type `service`. Calls with a key that can only trigger one agent have dedup keys of their
own (`inbox/push/dedup_keys.py`), because their caller chooses the name of the service. Waiting calls share one
transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gatepost.channels.webhooks.delivery_actions import build_dedup_key
from gatepost.core.json_limits import Json
from gatepost.core.ports import Transaction, batched, needs_disk_space
from gatepost.inbox.event import EventType, Push, Trust
from gatepost.inbox.push import actions as push, dedup_keys as dedup
from gatepost.inbox.push.actions import PushOutcome
from gatepost.inbox.push.api import TriggerAgent, TriggeredView
from gatepost.inbox.push.handlers import get_result
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import BatchHandler


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


@needs_disk_space()
@batched
def push_calls(tx: Transaction, calls: Sequence[ServiceCall]) -> list[PushOutcome]:
    """Store the calls that are valid; return an outcome for each call, in their order."""
    return push.push_all(tx, [_build_push(tx, call) for call in calls])


def _build_push(tx: Transaction, call: ServiceCall) -> Push:
    name = call.key or tx.new_id("evt").removeprefix("evt_")
    return Push(
        to=call.to,
        type=EventType.SERVICE,
        source=call.service,
        data={"serviceName": call.service, "payload": call.payload},
        dedup_key=name if call.by_trigger_key else build_dedup_key(call.service, name),
        key_prefix=dedup.build_trigger_prefix(call.to, call.service) if call.by_trigger_key else "",
        trust=Trust.EXTERNAL,
    )


def _prepare_call(request: TriggerAgent, caller: Caller, key: str | None) -> list[ServiceCall]:
    if key is not None:
        dedup.check(key)
    call = ServiceCall(
        to=request.name,
        service=request.service_name,
        payload=request.payload,
        key=key,
        by_trigger_key=caller.kind is CallerKind.TRIGGER,
    )
    return [call]


def _present_call(request: TriggerAgent, outcomes: Sequence[PushOutcome]) -> TriggeredView:
    [delivery] = get_result(outcomes).deliveries
    return TriggeredView(event_id=delivery.event, duplicate=delivery.duplicate)


TriggerAgent.operation.batch = BatchHandler(prepare=_prepare_call, verb=push_calls, present=_present_call)
