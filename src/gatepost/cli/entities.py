"""What agents and people have in common on the command line."""

from typing import Annotated, TypeVar

import msgspec

from gatepost.api.entities import EntityView, ListEntities, RetireEntity, ShowEntity
from gatepost.api.inbox import AccountView
from gatepost.cli import output, words
from gatepost.cli.connect import Connection, connect
from gatepost.cli.plain import argument, flag, option
from gatepost.core.address import check_entity_address
from gatepost.core.entity import Entity, EntityKind
from gatepost.errors import Refused

E = TypeVar("E", Entity, EntityView)

Name = Annotated[str, argument("NAME", "A name, or an alias.")]
NewName = Annotated[str, argument("NAME", "Up to 63 lower-case letters, digits, dots, dashes and underscores.")]
Display = Annotated[str | None, option("--display", "TEXT", "The name to show; else the name.")]
Team = Annotated[str | None, option("--team", "TEAM", "The team.")]
Role = Annotated[str | None, option("--role", "ROLE", "The role in the team.")]
Owner = Annotated[str | None, option("--owner", "NAME", "Who is told when something is wrong; else admin.")]
Alias = Annotated[list[str] | None, option("--alias", "ID", "Another name, such as a bead id; may be repeated.")]
Retired = Annotated[bool, flag("--retired", "Those who are retired, too.")]

_WORDS = {EntityKind.AGENT: "an agent", EntityKind.HUMAN: "a person", EntityKind.SERVICE: "a service"}


def find_entity(connection: Connection, name: str, kind: EntityKind) -> EntityView:
    """Return the entity with a name or an alias; raise Refused if it is of another kind."""
    return expect(connection.send(ShowEntity(name=check_entity_address(name))), kind)


def list_(kind: EntityKind, *, team: str | None, retired: bool, limit: str, json: bool) -> None:
    count = words.number(limit, "--limit", most=1_000_000)
    with connect() as connection:
        entities = connection.list_all(ListEntities(kind=kind, team=team, retired=retired), count + 1)
    headings = ["NAME", "DISPLAY", "TEAM", "ROLE", "OWNER", "SINCE", "ALIASES"]
    otherwise = "there is nobody" + (f" in the team {team!r}" if team else "")
    output.listing(entities, count, headings, _build_row, msgspec.to_builtins, otherwise=otherwise, json=json)


def list_facts(entity: EntityView, account: AccountView) -> list[tuple[str, object]]:
    """Return the facts to show about an entity and its inbox."""
    return [
        ("name", entity.name),
        ("display", entity.display_name),
        ("team", entity.team),
        ("role", entity.role),
        ("owner", entity.owner),
        ("aliases", ", ".join(entity.aliases)),
        ("since", entity.created_at),
        ("retired", entity.retired_at),
        ("accepted", account.accepted),
        ("pending", account.pending),
        ("claimed", account.claimed),
        ("delivered", account.delivered),
        ("expired", account.expired),
        ("dead", account.dead),
        ("discarded", account.discarded),
    ]


def retire(name: str, kind: EntityKind, *, json: bool) -> None:
    with connect() as connection:
        entity = connection.send(RetireEntity(name=find_entity(connection, name, kind).name))
    output.done(
        msgspec.to_builtins(entity),
        entity.name,
        f"retired {entity.name!r}: what is there stays, and nothing more comes",
        json=json,
    )


def expect(entity: E, kind: EntityKind) -> E:
    """Return the entity; raise Refused if it is of another kind."""
    if entity.kind is not kind:
        raise Refused(f"{entity.name!r} is {_WORDS[entity.kind]}, not {_WORDS[kind]}")
    return entity


def _build_row(entity: EntityView) -> list[str]:
    return [
        entity.name,
        entity.display_name,
        entity.team or "",
        entity.role or "",
        entity.owner or "",
        entity.created_at[:10] + (" (retired)" if entity.retired_at is not None else ""),
        ", ".join(entity.aliases),
    ]
