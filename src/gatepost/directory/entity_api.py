"""Entities: agents, humans and services. What agents have besides is in `residents/agent_api.py`."""

from typing import Annotated, Literal

from msgspec import UNSET, UnsetType

from gatepost.directory.attention import Attention
from gatepost.directory.entity import MAX_ALIASES, Entity, EntityKind
from gatepost.errors import Conflict, NotFound
from gatepost.operations.access import Administrator, AnyEntity
from gatepost.operations.fields import After, Limit, NewName, RecordView, Source, Time, describe
from gatepost.operations.operation import Page, Request, read, write

#: the group of these operations in OpenAPI
TAG = "entities"

#: null removes a value
Change = str | UnsetType | None
Aliases = Annotated[tuple[str, ...], describe(maxItems=MAX_ALIASES)]
ChangedAliases = Annotated[
    tuple[str, ...] | UnsetType,
    describe("all its other names; a name that is left out is removed", maxItems=MAX_ALIASES),
]


class AttentionView(RecordView[Attention]):
    """What may wake an entity now, until a time."""

    level: Annotated[
        Literal["focus", "do_not_disturb"],
        describe("focus: critical items wake it; do_not_disturb: nothing does"),
    ]
    until: Time

    def describe(self) -> str:
        return f"{self.level.replace('_', ' ')} until {self.until}"


class EntityView(RecordView[Entity]):
    name: str
    kind: EntityKind
    display_name: Annotated[str, Source("display")]
    team: str | None
    role: str | None
    owner: str | None
    aliases: list[str]
    created_at: Time
    retired_at: Time | None
    presence: Annotated[
        Literal["working", "idle", "away"] | None,
        describe("by its sessions, runs or use of the page; null: unknown"),
    ]
    attention: Annotated[AttentionView | None, describe("null: everything wakes it")]


@write(
    "POST /api/entities",
    access=Administrator(),
    lane="directory",
    status=201,
    errors=(NotFound, Conflict),
    example={"name": "husam", "kind": "human", "displayName": "Husam"},
)
class RegisterEntity(Request[EntityView]):
    """Register an agent, a human or a service."""

    name: NewName
    kind: Annotated[EntityKind, describe("agent, human or service")]
    display_name: Annotated[str | None, describe("name that others see; default: the name")] = None
    team: Annotated[str | None, describe("team, which can be addressed as a whole")] = None
    role: Annotated[str | None, describe("role in the team")] = None
    owner: Annotated[
        str | None, describe("entity that gets its alerts and may read what it does; default: the administrator")
    ] = None
    aliases: Aliases = ()


@read("GET /api/entities", access=AnyEntity())
class ListEntities(Request[Page[EntityView]]):
    """List entities, in order of registration."""

    kind: Annotated[EntityKind | None, describe("only entities of this kind")] = None
    team: Annotated[str | None, describe("only members of this team")] = None
    retired: Annotated[bool, describe("include retired entities")] = False
    after: After = 0
    limit: Limit = 100


@read("GET /api/entities/{name}", access=AnyEntity())
class ShowEntity(Request[EntityView]):
    """Show an agent, a human or a service, by its name or an alias."""

    name: str


@write(
    "PATCH /api/entities/{name}",
    access=Administrator(),
    lane="directory",
    errors=(Conflict,),
    example={"displayName": "Analyst", "team": "finance"},
)
class ChangeEntity(Request[EntityView]):
    """Change what is named in the body; the rest stays."""

    name: str
    display_name: Change = UNSET
    team: Change = UNSET
    role: Change = UNSET
    owner: Change = UNSET
    aliases: ChangedAliases = UNSET


@write("DELETE /api/entities/{name}", access=Administrator(), lane="directory", errors=(Conflict,))
class RetireEntity(Request[EntityView]):
    """Retire an entity: it keeps its history and receives nothing more."""

    name: str
