"""`gatepost person`, and what agents and people have in common."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Protocol

import msgspec
from msgspec import UNSET, UnsetType

from gatepost.cli import output
from gatepost.cli.command import Facts, Noun, Outcome, TableRow
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.core.address import check_entity_address
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import (
    AttentionView,
    EntityView,
    ListEntities,
    RegisterEntity,
    RetireEntity,
    ShowEntity,
)
from gatepost.errors import Refused

if TYPE_CHECKING:  # a list needs no accounts
    from gatepost.inbox.account_api import AccountView

people = Noun("person", "Register and list people. An item in the inbox of a person stays until it is marked as done.")
commands = [people]

NAME: Final = argument("NAME", "a name or an alias", parse=check_entity_address)
NEW_NAME: Final = argument("NAME", "up to 63 lower-case letters, digits, dots, dashes and underscores")
ALIASES: Final = option("--alias", "ID", "another name, such as an id in another program; repeatable")
ENTITY_FIELDS: Final[dict[str, Any]] = {
    "display_name": option("--display", "LABEL", "the name to show; by default the name"),
    "team": option("--team", "TEAM", "the team"),
    "role": option("--role", "ROLE", "the role in the team"),
    "owner": option("--owner", "NAME", "who gets alerts about it and may read its runs and its mind; by default admin"),
}
COLUMNS: Final = ("NAME", "DISPLAY", "TEAM", "ROLE", "OWNER", "SINCE", "ALIASES", "PRESENCE")


@people.send("add", RegisterEntity, name=NEW_NAME, kind=EntityKind.HUMAN, aliases=ALIASES, **ENTITY_FIELDS)
def add(person: EntityView) -> Outcome:
    """
    Register a person, who gets an inbox.

    Example:
      gatepost person add husam --display "Husam"
    """
    return Outcome(person.name, f"registered {person.name!r}")


@people.list(
    "list",
    ListEntities,
    columns=COLUMNS,
    empty=lambda request: f"no people in the team {request.team!r}" if request.team else "no people yet",
    count=1_000,
    kind=EntityKind.HUMAN,
)
def list_people(person: EntityView) -> TableRow:
    """
    List the people, in the order in which they were registered.

    Example:
      gatepost person list
    """
    return build_row(person)


@people.command("show")
def show(name: Annotated[str, NAME], json: JsonFlag = False) -> None:
    """
    Show a person and the counts of their inbox.

    Example:
      gatepost person show husam
    """
    from gatepost.inbox.item_api import ShowAccount

    with connect() as connection:
        person = find_entity(connection, name, EntityKind.HUMAN)
        account = connection.send(ShowAccount(name=person.name))
    if json:
        output.document({**msgspec.to_builtins(person), "inbox": msgspec.to_builtins(account)})
    else:
        output.facts(*list_facts(person, account))


def find_entity(connection: CommandConnection, name: str, kind: EntityKind) -> EntityView:
    """Return the entity with a name or an alias; raise Refused if it is of another kind."""
    entity = connection.send(ShowEntity(name=name))
    if entity.kind is not kind:
        raise Refused(f"{entity.name!r} is {entity.kind.phrase}, not {kind.phrase}")
    return entity


def send_to_agent(connection: CommandConnection, request: Any) -> Any:
    """Send a request about an agent; raise Refused if its `name` is that of a person."""
    return _send_to_kind(EntityKind.AGENT, connection, request)


def _send_to_kind(kind: EntityKind, connection: CommandConnection, request: Any) -> Any:
    name = find_entity(connection, request.name, kind).name
    return connection.send(msgspec.structs.replace(request, name=name))


@people.send("retire", RetireEntity, name=NAME, fetch=partial(_send_to_kind, EntityKind.HUMAN))
def retire(person: EntityView) -> Outcome:
    """
    Retire a person. They receive nothing more, and what they have stays.

    Example:
      gatepost person retire husam
    """
    return Outcome(person.name, f"retired {person.name!r}: it receives nothing more, and its history stays")


def build_row(entity: EntityView) -> TableRow:
    return [
        entity.name,
        entity.display_name,
        entity.team or "",
        entity.role or "",
        entity.owner or "",
        entity.created_at[:10] + (" (retired)" if entity.retired_at is not None else ""),
        ", ".join(entity.aliases),
        _describe_presence(entity),
    ]


def _describe_presence(entity: EntityView) -> str:
    attention = entity.attention.level.replace("_", " ") if entity.attention else None
    return ", ".join(filter(None, (entity.presence, attention)))


class _Recipient(Protocol):
    """A recipient in the answer of a push, or of mail."""

    name: str
    reachable: bool | UnsetType
    attention: AttentionView | UnsetType


def talk_of_waiting(recipients: Sequence[_Recipient], noun: str) -> None:
    """Say of whom an item waits in the inbox, because nothing reaches or wakes them now."""
    reasons: dict[str, list[str]] = {}
    for recipient in recipients:
        if recipient.reachable is False:
            reasons.setdefault("not reachable now", []).append(recipient.name)
        elif recipient.attention is not UNSET:
            reasons.setdefault(f"not woken now ({recipient.attention.describe()})", []).append(recipient.name)
    for reason, names in reasons.items():
        listed = ", ".join(names) if len(names) <= 5 else f"{', '.join(names[:5])} and {len(names) - 5} more"
        output.talk(f"{reason}: {listed}; the {noun} waits in the inbox")


def list_facts(entity: EntityView, account: "AccountView") -> Facts:
    """Return the facts to show about an entity and its inbox."""
    return [
        ("name", entity.name),
        ("display", entity.display_name),
        ("team", entity.team),
        ("role", entity.role),
        ("owner", entity.owner),
        ("aliases", ", ".join(entity.aliases)),
        ("since", entity.created_at),
        ("presence", entity.presence),
        ("attention", entity.attention.describe() if entity.attention else None),
        ("retired", entity.retired_at),
        *((state, getattr(account, state)) for state in _ACCOUNT_FIELDS),
    ]


_ACCOUNT_FIELDS: Final = ("accepted", "pending", "claimed", "delivered", "expired", "dead", "discarded")
