"""
The three routes that take most of the load: push, push many, trigger. They are plain functions over the raw request,
because reading and checking a body by msgspec costs a fifth of what the usual way costs. They are described in the same
OpenAPI as all others.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from fastapi import FastAPI, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from gatepost.actions import agents, directory, push, webhooks
from gatepost.core import address, dedup, wire
from gatepost.core import event as core_event
from gatepost.core.event import EventType, Priority, Push, PushResult, Ref, get_trust
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import GatepostError, Invalid, Refused
from gatepost.gateway import problems
from gatepost.gateway.auth import Acting, Administrator, Principal, Triggering, caller
from gatepost.gateway.office import Office, office
from gatepost.gateway.requests import decoded, idempotency_key

MOST: Final = 1_000
JSON: Final = "application/json"

#: what only the house says
_OURS: Final = frozenset(
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


class RefBody(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    id: str


class RouteBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    channel: str
    session_id: str


class PushBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """Something to tell somebody."""

    to: Annotated[
        str, msgspec.Meta(examples=["analyst"], extra_json_schema={"minLength": 1, "maxLength": address.MAX_LENGTH})
    ]
    type: str = "event"
    content: str = ""
    subject: str | None = None
    data: Any = None
    priority: int | str = 2
    sender: str | None = None
    source: str | None = None
    dedup_key: Annotated[
        str | None,
        msgspec.Meta(
            description="a repeat of it is recognised; stored as `by:NAME:KEY`, the administrator's as it is",
            extra_json_schema={"maxLength": dedup.MAX_LENGTH},
        ),
    ] = None
    occurred_at: Annotated[
        str | None,
        msgspec.Meta(description="the source's own time, RFC 3339", examples=["2026-02-18T15:06:55Z"]),
    ] = None
    ttl: str | None = None
    ref: RefBody | None = None
    route: RouteBody | None = None
    hops: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=10_000,
            description="how many events led to this one; if an agent sends it, at least as many as reached it lately",
        ),
    ] = 0


class BatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """Up to 1,000 pushes that make up to 10,000 items: one commit, an answer each."""

    pushes: Annotated[list[PushBody], msgspec.Meta(max_length=MOST)]


class _RoughBatch(msgspec.Struct, forbid_unknown_fields=True):
    pushes: Annotated[list[msgspec.Raw], msgspec.Meta(max_length=MOST)]


class TriggerBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """A call from a service."""

    service_name: Annotated[str, msgspec.Meta(min_length=1, max_length=200, examples=["jira-webhook"])]
    payload: Any = None


_push = msgspec.json.Decoder(PushBody)
_batch = msgspec.json.Decoder(BatchBody)
_rough_batch = msgspec.json.Decoder(_RoughBatch)
_trigger = msgspec.json.Decoder(TriggerBody)
encoded = msgspec.json.Encoder().encode


async def handle_push(request: Request) -> Response:
    who, house = await caller(request), office(request)
    body = decoded(await request.body(), _push)
    key = idempotency_key(request.headers.get("idempotency-key"))
    wish = _wish(body, who, key)
    [outcome] = await house.store.run(push.push_all, [wish], lane=wish.to)
    if isinstance(outcome, GatepostError):
        raise outcome
    return Response(encoded(wire.write_push_result(outcome)), 201, media_type=JSON)


async def push_many(request: Request) -> Response:
    who, house = await caller(request), office(request)
    who.as_(None)
    wishes = [_outcome_or_wish(each, who) for each in _pushes(await request.body())]
    good = [wish for wish in wishes if isinstance(wish, Push)]
    outcomes = iter(await _push_all(house, who, good) if good else [])
    answers = [_answer(next(outcomes) if isinstance(wish, Push) else wish) for wish in wishes]
    return Response(encoded({"items": answers}), 200, media_type=JSON)


async def trigger(request: Request) -> Response:
    who, house = await caller(request), office(request)
    name: str = request.path_params["name"]
    agent = await _triggered(house, who, name)
    body: TriggerBody = decoded(await request.body(), _trigger)
    key = idempotency_key(request.headers.get("idempotency-key"))
    if key is not None:
        dedup.check(key)
    call = webhooks.ServiceCall(
        to=agent,
        service=body.service_name,
        payload=body.payload,
        key=key,
        by_trigger_key=isinstance(who, Triggering),
    )
    [outcome] = await house.store.run(webhooks.push_calls, [call], lane=agent)
    if isinstance(outcome, GatepostError):
        raise outcome
    [delivery] = outcome.deliveries
    return Response(encoded({"eventId": delivery.event, "duplicate": delivery.duplicate}), 202, media_type=JSON)


class Plain(Route):
    """A route without FastAPI's reading and checking; like FastAPI's, it can be told by its template."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self} if match is not Match.NONE else found


def install(app: FastAPI) -> None:
    for path, endpoint in (
        ("/api/inbox", handle_push),
        ("/api/inbox/batch", push_many),
        ("/api/agents/{name}/trigger", trigger),
    ):
        app.router.routes.append(Plain(path, endpoint, methods=["POST"], include_in_schema=False))


async def _triggered(house: Office, who: Principal, name: str) -> str:
    match who:
        case Triggering(agent) if agent == name:
            return agent
        case Triggering(agent):
            known = await house.store.read(directory.find_or_none, name)
            return agent if known is not None and known.name == agent else who.as_(name)
        case Administrator():
            return agents.require_agent(await house.store.read(directory.find_live, name)).name
        case Acting():
            raise Refused("triggers need the administrator's key or one scoped to this agent's trigger")


async def _push_all(house: Office, who: Principal, wishes: Sequence[Push]) -> Sequence[push.PushOutcome]:
    """Push what came together. A batch that may be large is counted first, and each caller has one under way."""
    if len(wishes) == 1 or not any(address.is_team(wish.to) for wish in wishes):
        return await house.store.run(push.push_all, wishes)
    await house.store.read(push.check_batch, wishes)
    async with house.turns.of(who):
        return await house.store.run(push.push_all, wishes)


def _pushes(raw: bytes) -> Sequence[PushBody | msgspec.Raw]:
    """The pushes of a batch; if one of them is not well-formed, all as they came, so that only that one is refused."""
    try:
        body: BatchBody = _batch.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        rough: _RoughBatch = decoded(raw, _rough_batch)
        return rough.pushes
    return body.pushes


def _outcome_or_wish(body: PushBody | msgspec.Raw, who: Principal) -> Push | GatepostError:
    try:
        return _wish(decoded(bytes(body), _push) if isinstance(body, msgspec.Raw) else body, who, None)
    except GatepostError as error:
        return error


def _wish(body: PushBody, who: Principal, header: str | None) -> Push:
    if header is not None and body.dedup_key is not None and header != body.dedup_key:
        raise Invalid("the Idempotency-Key and dedupKey differ", hint="send one of them")
    sender, type = who.as_(body.sender), EventType.parse(body.type)
    source, prefix = body.source or "http", ""
    if isinstance(who, Acting):
        source, prefix = _own_source(who.entity, body.source, type), dedup.build_entity_prefix(who.entity)
    return Push(
        to=body.to,
        type=type,
        source=source,
        sender=sender,
        subject=body.subject,
        content=body.content,
        data=body.data,
        priority=Priority.parse(body.priority),
        key=header if body.dedup_key is None else body.dedup_key,
        key_prefix=prefix,
        occurred_at=parse_instant(body.occurred_at) if body.occurred_at is not None else None,
        ttl=parse_duration(body.ttl) if body.ttl is not None else None,
        ref=Ref(body.ref.type, body.ref.id) if body.ref else None,
        route=core_event.Route(body.route.channel, body.route.session_id) if body.route else None,
        hops=body.hops,
        trust=get_trust(type, sender),
    )


def _own_source(name: str, source: str | None, type: EventType) -> str:
    """
    Return the source of what an entity says that can only be itself. It cannot speak for the house: not in the types by
    which the house tells what happened, and not under another's name as the source.
    """
    if type in _OURS:
        raise Refused(f"an event of the type {type.value!r} comes from Gatepost itself", hint="push a mail or an event")
    return name if source in (None, "", name) else f"{name}/{source}"


def _answer(outcome: PushResult | GatepostError) -> Any:
    """A push that failed is a problem of its own; the others are not touched by it."""
    if isinstance(outcome, PushResult):
        return {"status": 201, **wire.write_push_result(outcome)}
    return msgspec.Raw(bytes(problems.of_error(outcome).body))
