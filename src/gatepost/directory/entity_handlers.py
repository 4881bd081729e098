"""Entities: agents, humans and services."""

from typing import TYPE_CHECKING, cast

from msgspec import UNSET
from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory, entity_api as api
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntityChanges, EntitySpec
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page
from gatepost.stores.row_mapping import get_columns

if TYPE_CHECKING:
    from gatepost.residents.agent_api import ChangeAgent, RegisterAgent


@api.RegisterEntity.handler
def register_entity(tx: Transaction, request: api.RegisterEntity, caller: Caller) -> api.EntityView:
    return api.EntityView.of(directory.register(tx, build_spec(request, request.kind)))


@api.ListEntities.handler
def list_entities(tx: Reader, request: api.ListEntities, caller: Caller) -> Page[api.EntityView]:
    return read_page(tx, request, directory.list_page, **asdict(request))


@api.ShowEntity.handler
def show_entity(tx: Reader, request: api.ShowEntity, caller: Caller) -> api.EntityView:
    return api.EntityView.of(directory.show(tx, request.name))


@api.ChangeEntity.handler
def change_entity(tx: Transaction, request: api.ChangeEntity, caller: Caller) -> api.EntityView:
    return api.EntityView.of(directory.update(tx, request.name, **build_changes(request)))


@api.RetireEntity.handler
def retire_entity(tx: Transaction, request: api.RetireEntity, caller: Caller) -> api.EntityView:
    return api.EntityView.of(directory.retire(tx, request.name))


def build_spec(request: "api.RegisterEntity | RegisterAgent", kind: EntityKind) -> EntitySpec:
    return build_record(EntitySpec, request, kind=kind, display=request.display_name)


def build_changes(request: "api.ChangeEntity | ChangeAgent") -> EntityChanges:
    """Return the fields that a request names; null removes a value."""
    fields = {"display": request.display_name} | get_columns(request, "team role owner aliases")
    return cast("EntityChanges", {name: value for name, value in fields.items() if value is not UNSET})
