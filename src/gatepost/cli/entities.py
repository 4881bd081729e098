"""What agents and people have in common on the command line."""

from dataclasses import asdict
from typing import Annotated

from gatepost.actions import directory as verbs
from gatepost.actions import maintenance
from gatepost.actions.directory import EntitySpec
from gatepost.cli import here, output, words
from gatepost.cli.here import Here
from gatepost.cli.plain import argument, flag, option
from gatepost.core import wire
from gatepost.core.account import Account
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.times import format_rfc3339
from gatepost.errors import Refused

Name = Annotated[str, argument("NAME", "A name, or an alias.")]
NewName = Annotated[str, argument("NAME", "Up to 63 lower-case letters, digits, dots, dashes and underscores.")]
Display = Annotated[str | None, option("--display", "TEXT", "The name to show; else the name.")]
Team = Annotated[str | None, option("--team", "TEAM", "The team.")]
Role = Annotated[str | None, option("--role", "ROLE", "The role in the team.")]
Owner = Annotated[str | None, option("--owner", "NAME", "Who is told when something is wrong; else admin.")]
Alias = Annotated[list[str] | None, option("--alias", "ID", "Another name, such as a bead id; may be repeated.")]
Retired = Annotated[bool, flag("--retired", "Those who are retired, too.")]

_WORDS = {EntityKind.AGENT: "an agent", EntityKind.HUMAN: "a person", EntityKind.SERVICE: "a service"}


def register(place: Here, newcomer: EntitySpec) -> Entity:
    return place.do(lambda near: near.call(verbs.register, newcomer), lambda far: far.register(**asdict(newcomer)))


def account_of(place: Here, entity: Entity) -> Account:
    return place.do(
        lambda near: near.query(maintenance.list_accounts, entity.name)[0], lambda far: far.account(entity.name)
    )


def list_(kind: EntityKind, *, team: str | None, retired: bool, limit: str, json: bool) -> None:
    most = words.number(limit, "--limit", most=1_000_000)
    with here.opened() as place:
        found = place.all(verbs.page, lambda far: far.entities, kind=kind, team=team, retired=retired, limit=most + 1)
    headings = ["NAME", "DISPLAY", "TEAM", "ROLE", "OWNER", "SINCE", "ALIASES"]
    nobody = "there is nobody" + (f" in the team {team!r}" if team else "")
    output.listing(found, most, headings, _row, wire.write_entity, otherwise=nobody, json=json)


def facts(entity: Entity, account: Account) -> list[tuple[str, object]]:
    """What there is to say of an entity and its inbox."""
    return [
        ("name", entity.name),
        ("display", entity.display),
        ("team", entity.team),
        ("role", entity.role),
        ("owner", entity.owner),
        ("aliases", ", ".join(entity.aliases)),
        ("since", format_rfc3339(entity.created_at)),
        ("retired", format_rfc3339(entity.retired_at) if entity.retired_at is not None else None),
        ("accepted", account.accepted),
        ("pending", account.pending),
        ("claimed", account.claimed),
        ("delivered", account.delivered),
        ("expired", account.expired),
        ("dead", account.dead),
        ("discarded", account.discarded),
    ]


def retire(name: str, kind: EntityKind, *, json: bool) -> None:
    with here.opened() as place:
        expect(place.entity(name), kind)
        entity = place.call(verbs.retire, lambda far: far.retire, name)
    output.done(
        wire.write_entity(entity),
        entity.name,
        f"retired {entity.name!r}: what is there stays, and nothing more comes",
        json=json,
    )


def expect(entity: Entity, kind: EntityKind) -> Entity:
    if entity.kind is not kind:
        raise Refused(f"{entity.name!r} is {_WORDS[entity.kind]}, not {_WORDS[kind]}")
    return entity


def _row(entity: Entity) -> list[str]:
    return [
        entity.name,
        entity.display,
        entity.team or "",
        entity.role or "",
        entity.owner or "",
        format_rfc3339(entity.created_at)[:10] + (" (retired)" if not entity.is_live else ""),
        ", ".join(entity.aliases),
    ]
