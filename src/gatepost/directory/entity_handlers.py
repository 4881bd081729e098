"""Entities: agents, humans and services."""

from typing import TYPE_CHECKING, cast

from msgspec import UNSET
from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntityChanges, EntitySpec
from gatepost.directory.entity_api import (
    ChangeEntity,
    EntityPage,
    EntityView,
    ListEntities,
    RegisterEntity,
    RetireEntity,
    ShowEntity,
)
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page

if TYPE_CHECKING:
    from gatepost.residents.agent_api import ChangeAgent, RegisterAgent


@RegisterEntity.handler
def register_entity(tx: Transaction, request: RegisterEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.register(tx, build_spec(request, request.kind)))


@ListEntities.handler
def list_entities(tx: Reader, request: ListEntities, caller: Caller) -> EntityPage:
    return read_page(tx, EntityPage, directory.page, view=EntityView.of, **asdict(request))


@ShowEntity.handler
def show_entity(tx: Reader, request: ShowEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.show(tx, request.name))


@ChangeEntity.handler
def change_entity(tx: Transaction, request: ChangeEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.update(tx, request.name, **build_changes(request)))


@RetireEntity.handler
def retire_entity(tx: Transaction, request: RetireEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.retire(tx, request.name))


def build_spec(request: "RegisterEntity | RegisterAgent", kind: EntityKind) -> EntitySpec:
    return EntitySpec(
        name=request.name,
        kind=kind,
        display=request.display_name,
        team=request.team,
        role=request.role,
        owner=request.owner,
        aliases=request.aliases,
    )


def build_changes(request: "ChangeEntity | ChangeAgent") -> EntityChanges:
    """Return the fields that a request names; null removes a value."""
    fields = {
        "display": request.display_name,
        "team": request.team,
        "role": request.role,
        "owner": request.owner,
        "aliases": request.aliases,
    }
    return cast("EntityChanges", {name: value for name, value in fields.items() if value is not UNSET})
