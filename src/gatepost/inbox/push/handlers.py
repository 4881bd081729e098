"""
Push: one event, many, or the call of a service. Waiting pushes share one transaction.

    request  ->  Push (or, in a batch, its error)  ->  push.push_all  ->  an outcome for each  ->  answer
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gatepost.core import address
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import GatepostError, Invalid, Refused
from gatepost.inbox.event import USER_CHANNELS, EventType, Priority, Push, PushResult, Ref, Route, get_trust
from gatepost.inbox.push import actions as push, dedup_keys as dedup
from gatepost.inbox.push.actions import PushOutcome
from gatepost.inbox.push.api import PushEvent, PushEvents, PushOutcomesView, PushOutcomeView, PushResultView
from gatepost.operations.access import Caller
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import BatchHandler

#: the types by which Gatepost itself says what happened
_RESERVED_TYPES: Final = frozenset(
    (
        EventType.SPACE_MESSAGE,
        EventType.PLAN,
        EventType.SERVICE,
        EventType.TOOL_RESULT,
        EventType.DECISION,
        EventType.GATE,
        EventType.SYSTEM,
    )
)


def build_push(request: PushEvent, caller: Caller, key: str | None = None) -> Push:
    """Return the push of a request that is bound to its caller; `key` is its Idempotency-Key."""
    if key is not None and request.dedup_key is not None and key != request.dedup_key:
        raise Invalid("the Idempotency-Key and `dedupKey` differ", hint="send one of them")
    source, prefix = request.source or "http", ""
    if caller.entity is not None:
        if request.route is not None and (request.type is EventType.CHANNEL or request.route.channel in USER_CHANNELS):
            raise Refused(
                f"a route on {request.route.channel!r} comes from Gatepost itself",
                hint="people write there, and only what they write can be replied to there",
            )
        source = _build_source(caller.entity, request.source, request.type)
        prefix = dedup.build_entity_prefix(caller.entity)
    return Push(
        to=request.to,
        type=request.type,
        source=source,
        sender=request.sender,
        subject=request.subject,
        content=request.content,
        data=request.data,
        priority=parse_field("priority", request.priority, Priority.parse),
        dedup_key=key if request.dedup_key is None else request.dedup_key,
        key_prefix=prefix,
        source_time=parse_field("occurredAt", request.occurred_at, parse_instant),
        ttl=parse_field("ttl", request.ttl, parse_duration),
        ref=Ref(request.ref.type, request.ref.id) if request.ref else None,
        route=Route(request.route.channel, request.route.session_id) if request.route else None,
        hops=request.hops,
        trust=get_trust(request.type, request.sender),
    )


def _build_source(name: str, source: str | None, type: EventType) -> str:
    """
    Return the source of what an entity sends with its own credential. It cannot speak for Gatepost: not in the types by
    which Gatepost says what happened, and not under another name as the source.
    """
    if type in _RESERVED_TYPES:
        raise Refused(f"an event of the type {type.value!r} comes from Gatepost itself", hint="push a mail or an event")
    return name if source in (None, "", name) else f"{name}/{source}"


def _prepare_push(request: PushEvent, caller: Caller, key: str | None) -> list[Push]:
    return [build_push(request, caller, key)]


def _present_push(request: PushEvent, outcomes: Sequence[PushOutcome]) -> PushResultView:
    return PushResultView.of(get_result(outcomes))


def _prepare_pushes(request: PushEvents, caller: Caller, key: str | None) -> Iterator[Push | GatepostError]:
    return (_build_push_or_error(bytes(member), caller) for member in request.pushes)


def _build_push_or_error(member: bytes, caller: Caller) -> Push | GatepostError:
    operation = PushEvent.operation
    try:
        request = get_decoder(operation).decode_json(member)
        assert isinstance(request, PushEvent)
        return build_push(operation.access.bind(request, caller), caller)
    except GatepostError as error:
        return error


def _present_pushes(request: PushEvents, outcomes: Sequence[PushOutcome]) -> PushOutcomesView:
    return PushOutcomesView(items=[PushOutcomeView.of(outcome) for outcome in outcomes])


def _may_be_large(pushes: Sequence[Push]) -> bool:
    return len(pushes) > 1 and any(address.is_team(push.to) for push in pushes)


def get_result(outcomes: Sequence[PushOutcome]) -> PushResult:
    """Return the result of the only push, or raise its error."""
    [outcome] = outcomes
    if isinstance(outcome, GatepostError):
        raise outcome
    return outcome


PushEvent.operation.batch = BatchHandler(prepare=_prepare_push, verb=push.push_all, present=_present_push)
PushEvents.operation.batch = BatchHandler(
    prepare=_prepare_pushes,
    verb=push.push_all,
    present=_present_pushes,
    check=push.check_batch,
    is_large=_may_be_large,
)
