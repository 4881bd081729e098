"""Calls of services, which trigger an agent. Waiting calls share one transaction."""

from collections.abc import Sequence

from gatepost.channels.webhooks import actions as webhooks
from gatepost.channels.webhooks.actions import ServiceCall
from gatepost.inbox.push import dedup_keys as dedup
from gatepost.inbox.push.actions import PushOutcome
from gatepost.inbox.push.api import TriggerAgent, TriggeredView
from gatepost.inbox.push.handlers import get_result
from gatepost.operations.access import Caller, CallerKind
from gatepost.operations.operation import BatchHandler


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


TriggerAgent.operation.batch = BatchHandler(prepare=_prepare_call, verb=webhooks.push_calls, present=_present_call)
