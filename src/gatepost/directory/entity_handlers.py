"""Entities: agents, humans and services."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from msgspec import UNSET
from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import attention_actions, entity_actions as directory, entity_api as api
from gatepost.directory.attention import Attention, Presence
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_actions import EntityChanges, EntitySpec
from gatepost.operations.access import Caller
from gatepost.operations.fields import build_record
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page
from gatepost.stores.row_mapping import get_columns

if TYPE_CHECKING:
    from gatepost.residents.agent_api import ChangeAgent, RegisterAgent


class Attendance(NamedTuple):
    """What an entity is doing, and what may wake it."""

    presence: Presence | None
    attention: Attention | None


@api.RegisterEntity.handler
def register_entity(tx: Transaction, request: api.RegisterEntity, caller: Caller) -> api.EntityView:
    return view_entity(tx, directory.register(tx, build_spec(request, request.kind)))


@api.ListEntities.handler
def list_entities(tx: Reader, request: api.ListEntities, caller: Caller) -> Page[api.EntityView]:
    def list_page(tx: Reader, **filters: Any) -> list[tuple[Entity, Attendance]]:
        entities = directory.list_page(tx, **filters)
        return list(zip(entities, read_attendances(tx, entities), strict=True))

    return read_page(
        tx,
        request,
        list_page,
        view=lambda row: api.EntityView.of(row[0], **row[1]._asdict()),
        cursor=lambda row: row[0].number,
        **asdict(request),
    )


@api.ShowEntity.handler
def show_entity(tx: Reader, request: api.ShowEntity, caller: Caller) -> api.EntityView:
    return view_entity(tx, directory.show(tx, request.name))


@api.ChangeEntity.handler
def change_entity(tx: Transaction, request: api.ChangeEntity, caller: Caller) -> api.EntityView:
    return view_entity(tx, directory.update(tx, request.name, **build_changes(request)))


@api.RetireEntity.handler
def retire_entity(tx: Transaction, request: api.RetireEntity, caller: Caller) -> api.EntityView:
    return view_entity(tx, directory.retire(tx, request.name))


def view_entity(tx: Reader, entity: Entity) -> api.EntityView:
    [attendance] = read_attendances(tx, [entity])
    return api.EntityView.of(entity, **attendance._asdict())


def read_attendances(tx: Reader, entities: Sequence[Entity]) -> list[Attendance]:
    """Return what each of these entities is doing, and what may wake it."""
    attention = attention_actions.find_all(tx, [entity.number for entity in entities])
    presences = attention_actions.find_presences(tx, entities)
    return [Attendance(presences.get(entity.number), attention.get(entity.number)) for entity in entities]


def build_spec(request: "api.RegisterEntity | RegisterAgent", kind: EntityKind) -> EntitySpec:
    return build_record(EntitySpec, request, kind=kind, display=request.display_name)


def build_changes(request: "api.ChangeEntity | ChangeAgent") -> EntityChanges:
    """Return the fields that a request names; null removes a value."""
    fields = {"display": request.display_name} | get_columns(request, "team role owner aliases")
    return cast("EntityChanges", {name: value for name, value in fields.items() if value is not UNSET})
