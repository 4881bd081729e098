"""Entities."""

from msgspec import UNSET

from gatepost.actions import directory
from gatepost.actions.directory import EntityChanges, EntitySpec
from gatepost.api.access import Caller
from gatepost.api.agents import ChangeAgent
from gatepost.api.entities import (
    ChangeEntity,
    EntityPage,
    EntityView,
    ListEntities,
    RegisterEntity,
    RetireEntity,
    ShowEntity,
)
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader, Transaction


@RegisterEntity.handler
def register_entity(tx: Transaction, request: RegisterEntity, caller: Caller) -> EntityView:
    spec = EntitySpec(
        name=request.name,
        kind=request.kind,
        display=request.display_name,
        team=request.team,
        role=request.role,
        owner=request.owner,
        aliases=request.aliases,
    )
    return EntityView.of(directory.register(tx, spec))


@ListEntities.handler
def list_entities(tx: Reader, request: ListEntities, caller: Caller) -> EntityPage:
    return read_page(
        tx,
        EntityPage,
        directory.page,
        kind=request.kind,
        team=request.team,
        retired=request.retired,
        after=request.after,
        limit=request.limit,
        view=EntityView.of,
        cursor=lambda entity: entity.number,
    )


@ShowEntity.handler
def show_entity(tx: Reader, request: ShowEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.show(tx, request.name))


@ChangeEntity.handler
def change_entity(tx: Transaction, request: ChangeEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.update(tx, request.name, **build_changes(request)))


@RetireEntity.handler
def retire_entity(tx: Transaction, request: RetireEntity, caller: Caller) -> EntityView:
    return EntityView.of(directory.retire(tx, request.name))


def build_changes(request: ChangeEntity | ChangeAgent) -> EntityChanges:
    """Return the fields that a request names; null removes a value."""
    changes = EntityChanges()
    if request.display_name is not UNSET:
        changes["display"] = request.display_name
    if request.team is not UNSET:
        changes["team"] = request.team
    if request.role is not UNSET:
        changes["role"] = request.role
    if request.owner is not UNSET:
        changes["owner"] = request.owner
    return changes
