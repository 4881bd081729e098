"""Routing rules, and the messages that nobody got."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict, replace

from gatepost.channels import intake_actions as channels
from gatepost.channels.routing import actions as routing, unrouted_actions as unrouted
from gatepost.channels.routing.api import (
    ChangeRoute,
    CreateRoute,
    DeadLetterPage,
    DeadLetterView,
    DeleteRoute,
    DiscardDeadLetter,
    ListDeadLetters,
    ListRoutes,
    ReplayDeadLetter,
    ReplayedLetterView,
    RoutePage,
    RouteView,
    ShowRoute,
)
from gatepost.channels.routing.rule import RouteSpec
from gatepost.core.ports import Reader, Transaction
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page


@CreateRoute.handler
def create_route(tx: Transaction, request: CreateRoute, caller: Caller) -> RouteView:
    return RouteView.of(routing.create_rule(tx, RouteSpec(**asdict(request)), by=caller.entity))


@ListRoutes.handler
def list_routes(tx: Reader, request: ListRoutes, caller: Caller) -> RoutePage:
    return read_page(tx, RoutePage, routing.page_rules, view=RouteView.of, by=caller.entity, **asdict(request))


@ShowRoute.handler
def show_route(tx: Reader, request: ShowRoute, caller: Caller) -> RouteView:
    return RouteView.of(routing.show_rule(tx, request.id, by=caller.entity))


@ChangeRoute.handler
def change_route(tx: Transaction, request: ChangeRoute, caller: Caller) -> RouteView:
    changes: dict[str, Any] = {name: value for name, value in asdict(request).items() if value is not UNSET}
    rule = routing.show_rule(tx, changes.pop("id"), by=caller.entity)
    spec = replace(routing.get_spec(rule), **changes)
    return RouteView.of(routing.update_rule(tx, rule.id, spec, by=caller.entity))


@DeleteRoute.handler
def delete_route(tx: Transaction, request: DeleteRoute, caller: Caller) -> None:
    routing.delete_rule(tx, request.id, by=caller.entity)


@ListDeadLetters.handler
def list_dead_letters(tx: Reader, request: ListDeadLetters, caller: Caller) -> DeadLetterPage:
    return read_page(
        tx,
        DeadLetterPage,
        routing.page_unrouted,
        view=DeadLetterView.of,
        by=caller.entity,
        handled=request.replayed,
        after=request.after,
        limit=request.limit,
    )


@ReplayDeadLetter.handler
def replay_dead_letter(tx: Transaction, request: ReplayDeadLetter, caller: Caller) -> ReplayedLetterView:
    received = channels.replay_unrouted(tx, request.id, by=caller.entity)
    return ReplayedLetterView(id=request.id, event_ids=list(received.events), targets=list(received.targets))


@DiscardDeadLetter.handler
def discard_dead_letter(tx: Transaction, request: DiscardDeadLetter, caller: Caller) -> DeadLetterView:
    return DeadLetterView.of(unrouted.discard(tx, request.id, by=caller.entity))
