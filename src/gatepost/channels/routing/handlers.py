"""Routing rules and unrouted messages."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict

from gatepost.channels import intake_actions as intake
from gatepost.channels.routing import api, rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.rule import RouteSpec
from gatepost.core.ports import Reader, Transaction
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


@api.CreateRoute.handler
def create_route(tx: Transaction, request: api.CreateRoute, caller: Caller) -> api.RouteView:
    return api.RouteView.of(routing_rules.create_rule(tx, RouteSpec(**asdict(request)), by=caller.entity))


@api.ListRoutes.handler
def list_routes(tx: Reader, request: api.ListRoutes, caller: Caller) -> Page[api.RouteView]:
    return read_page(tx, request, routing_rules.list_rules, by=caller.entity, **asdict(request))


@api.ShowRoute.handler
def show_route(tx: Reader, request: api.ShowRoute, caller: Caller) -> api.RouteView:
    return api.RouteView.of(routing_rules.show_rule(tx, request.id, by=caller.entity))


@api.ChangeRoute.handler
def change_route(tx: Transaction, request: api.ChangeRoute, caller: Caller) -> api.RouteView:
    changes: dict[str, Any] = {name: value for name, value in asdict(request).items() if value is not UNSET}
    return api.RouteView.of(routing_rules.update_rule(tx, changes.pop("id"), changes, by=caller.entity))


@api.DeleteRoute.handler
def delete_route(tx: Transaction, request: api.DeleteRoute, caller: Caller) -> None:
    routing_rules.delete_rule(tx, request.id, by=caller.entity)


@api.ListDeadLetters.handler
def list_unrouted(tx: Reader, request: api.ListDeadLetters, caller: Caller) -> Page[api.UnroutedMessageView]:
    return read_page(
        tx, request, unrouted_messages.list_page, by=caller.entity, handled=request.replayed, after=request.after
    )


@api.ReplayDeadLetter.handler
def replay_unrouted(tx: Transaction, request: api.ReplayDeadLetter, caller: Caller) -> api.ReplayedMessageView:
    received = intake.replay_unrouted(tx, request.id, by=caller.entity)
    return api.ReplayedMessageView(id=request.id, event_ids=list(received.events), targets=list(received.targets))


@api.DiscardDeadLetter.handler
def discard_unrouted(tx: Transaction, request: api.DiscardDeadLetter, caller: Caller) -> api.UnroutedMessageView:
    return api.UnroutedMessageView.of(unrouted_messages.discard(tx, request.id, by=caller.entity))
