"""
Register, find, update and retire entities, and resolve addresses to them.

Names and aliases share one namespace.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypedDict, Unpack

from msgspec import Struct
from msgspec.structs import replace

from gatepost.core import address, similar_names
from gatepost.core.address import Address, AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import KEYS, Signal
from gatepost.core.text import fold_text
from gatepost.directory import entity_rows as entities
from gatepost.directory.entity import MAX_ALIASES, Entity, EntityKind, Registered, Registering, Renamed, Retired
from gatepost.directory.entity_rows import ENTITY
from gatepost.errors import Conflict, Invalid, Refused, UnknownAddress, quote_value

#: the person that gets alerts which have no other owner
ADMINISTRATOR: Final = "admin"
_MAX_DISPLAY_LENGTH: Final = 200


class EntitySpec(Struct, frozen=True, kw_only=True):
    name: str
    kind: EntityKind
    display: str | None = None
    team: str | None = None
    role: str | None = None
    owner: str | None = None
    aliases: Sequence[str] = ()


class EntityChanges(TypedDict, total=False):
    """The fields of an entity that may change. None removes a value; without an owner, the administrator owns it."""

    display: str | None
    team: str | None
    role: str | None
    owner: str | None
    aliases: Sequence[str] | None


def register(tx: Transaction, spec: EntitySpec) -> Entity:
    """Add an entity with an empty inbox, and return it; its name and aliases must be free."""
    name = address.check_name(spec.name)
    team, role = _validate_team_and_role(spec.team, spec.role)
    display = _validate_display(spec.display or name)
    aliases = _validate_aliases(spec.aliases)
    _check_owner(name, aliases, spec.owner)
    owner = find_live(tx, spec.owner) if spec.owner else _find_administrator(tx)
    tx.react(Registering(name))
    row = tx.fetch_one(
        "directory/entities/insert",
        name=name,
        kind=spec.kind,
        display=display,
        display_key=fold_text(display),
        team=team,
        role=role,
        owner=owner.number if owner else None,
        now=tx.now,
    )
    if row is None:
        raise _build_name_taken_error(tx, name)
    _insert_name(tx, name, row.number)
    for alias in aliases:
        _insert_name(tx, alias, row.number, is_alias=True)
    entity = find(tx, name)
    tx.react(Registered(entity))
    return replace(entity, aliases=tuple(sorted(aliases)))


def find(tx: Reader, name: str | Entity) -> Entity:
    """
    Return the entity with this name or alias, live or retired; an `Entity` that this transaction has read is returned
    as it is.
    """
    if isinstance(name, Entity):
        return name
    entity = find_or_none(tx, name)
    if entity is None:
        raise build_unknown_error(tx, name)
    return entity


def find_or_none(tx: Reader, name: str) -> Entity | None:
    """
    Return the entity with this name or alias, or None. It is for callers that must not learn, from an error or from the
    time it takes, which names are similar.
    """
    return ENTITY.fetch_one(tx, "directory/entities/find_by_name", name=address.check_entity_address(name))


def find_later(tx: Reader, name: str | Entity) -> tuple[str, Callable[[], Entity | None]]:
    """Return the name to find, and a function that returns what `find_or_none` does, once another statement has run."""
    if isinstance(name, Entity):
        return name.name, lambda: name
    fetch = ENTITY.fetch_later(tx, "directory/entities/find_by_name", name=address.check_entity_address(name))
    return name, lambda: next(iter(fetch()), None)


def find_live(tx: Reader, name: str | Entity) -> Entity:
    entity = find(tx, name)
    if not entity.is_live:
        raise build_retired_error(entity)
    return entity


def require_agent(entity: Entity) -> Entity:
    """Return the entity if it is an agent; raise `UnknownAddress` for any other kind."""
    if entity.kind is not EntityKind.AGENT:
        raise UnknownAddress(f"{entity.name!r} is {entity.kind.phrase}, not an agent")
    return entity


def build_retired_error(entity: Entity, consequence: str = "") -> Refused:
    """Return the error for an entity that is retired; `consequence` follows, such as ` and receives nothing`."""
    return Refused(f"{entity.name!r} is retired{consequence}", hint="name one that is not: it never comes back")


def find_number(tx: Reader, name: str | Entity | None) -> int | None:
    """Return the number of the entity with this name; None for None."""
    return find(tx, name).number if name is not None else None


def show(tx: Reader, name: str) -> Entity:
    """Return an entity with its aliases."""
    entity = find(tx, name)
    return replace(entity, aliases=entities.read_aliases(tx, [entity.number]).get(entity.number, ()))


def list_page(
    tx: Reader,
    *,
    kind: EntityKind | None = None,
    team: str | None = None,
    retired: bool = False,
    after: int = 0,
    limit: int = 1_000,
) -> list[Entity]:
    """Return entities in order of registration; `after` is the number of the last entity seen."""
    filters = {"kind": kind, "team": team, "include_retired": retired, "after": after, "limit": limit}
    rows = tx.fetch_page("directory/entities/list_page", **filters)
    aliases = entities.read_aliases(tx, [row.number for row in rows])
    return [ENTITY.read(row, aliases=aliases.get(row.number, ())) for row in rows]


def update(tx: Transaction, name: str, **changes: Unpack[EntityChanges]) -> Entity:
    """Change the fields of a live entity that are in `changes`."""
    entities.lock(tx, find(tx, name).number)
    old = show(tx, find_live(tx, name).name)
    team, role = _validate_team_and_role(changes.get("team", old.team), changes.get("role", old.role))
    owner = changes.get("owner", old.owner)
    if "owner" in changes:
        _check_owner(old.name, old.aliases, owner)
    if owner is None:
        owner_entity = _find_administrator(tx) if old.name != ADMINISTRATOR else None
    else:
        owner_entity = (find_live if "owner" in changes else find)(tx, owner)
    display = _validate_display(changes.get("display", old.display) or old.name)
    tx.execute_later(
        "directory/entities/update",
        number=old.number,
        display=display,
        display_key=fold_text(display),
        team=team,
        role=role,
        owner=owner_entity.number if owner_entity else None,
    )
    if display != old.display:
        tx.react(Renamed(old, display))
    if "aliases" in changes:
        aliases = _validate_aliases(changes["aliases"] or ())
        for alias in set(old.aliases) - set(aliases):
            tx.execute_later("directory/names/delete", name=alias, entity=old.number)
        for alias in set(aliases) - set(old.aliases):
            _insert_name(tx, alias, old.number, is_alias=True)
    return show(tx, old.name)


def _insert_name(tx: Transaction, name: str, entity: int, *, is_alias: bool = False) -> None:
    if not tx.execute("directory/names/insert", name=name, entity=entity, is_alias=is_alias):
        raise _build_name_taken_error(tx, name)


def retire(tx: Transaction, name: str) -> Entity:
    """Keep an entity from receiving anything; its items stay, and gates and decisions that need it end."""
    entity = find(tx, name)
    if entity.name == ADMINISTRATOR:
        raise Refused(f"{ADMINISTRATOR!r} cannot be retired: it gets the alerts that have no other recipient")
    if not tx.execute("directory/entities/retire", number=entity.number, now=tx.now):
        raise Conflict(f"{entity.name!r} is retired already")
    tx.react(Retired(entity))
    tx.after_commit(Signal(KEYS, "retire"))
    return show(tx, name)


def find_responsible(tx: Reader, entity: Entity) -> str:
    """Return the name of the entity that answers for an entity: its owner if that is live, else the administrator."""
    return entity.owner if entity.owner is not None and find(tx, entity.owner).is_live else ADMINISTRATOR


def resolve(tx: Reader, addresses: Iterable[Address]) -> Mapping[Address, list[Entity]]:
    """Return the entities at each address, live and retired; `*` and unknown names are not in the result."""
    unique_addresses = set(addresses)
    names = {str(target) for target in unique_addresses if isinstance(target, EntityAddress)}
    entities_by_name = entities.find_by_names(tx, names) if names else {}
    entities_by_address: dict[Address, list[Entity]] = {}
    for target in unique_addresses:
        match target:
            case EntityAddress(name) if name in entities_by_name:
                entities_by_address[target] = [entities_by_name[name]]
            case TeamAddress(team, role):
                entities_by_address[target] = ENTITY.fetch_all(tx, "directory/entities/list_team", team=team, role=role)
            case EntityAddress() | AllAgentsAddress():
                pass
    return entities_by_address


def build_unknown_error(tx: Reader, name: str, *, suggest_team: bool = False) -> UnknownAddress:
    """
    Return an error that suggests the most similar names or, where a team may be named, the team of that name and the
    address of every agent.
    """
    if suggest_team and name == "all":
        return UnknownAddress(f"there is no entity {name!r}", hint="did you mean every agent, 'ALL'?")
    if suggest_team and entities.count_team(tx, name, None):
        return UnknownAddress(f"there is no entity {name!r}", hint=f"did you mean the team, {f'team:{name}'!r}?")
    suggestions = similar_names.find_similar_names(
        name, [row.name for row in tx.fetch_all("directory/names/list_similar", name=name)]
    )
    hint = "`gatepost agent list` and `gatepost person list` show who there is"
    return UnknownAddress(
        f"there is no entity {name!r}", hint=similar_names.build_hint(suggestions) if suggestions else hint
    )


def _find_administrator(tx: Transaction) -> Entity | None:
    return entities.find_by_names(tx, [ADMINISTRATOR]).get(ADMINISTRATOR)


def _check_owner(name: str, aliases: Sequence[str], owner: str | None) -> None:
    if owner in (name, *aliases):
        raise Invalid(f"{name!r} cannot own itself", hint="name another owner, who gets the alerts about it")


def _validate_team_and_role(team: str | None, role: str | None) -> tuple[str | None, str | None]:
    if role and not team:
        raise Invalid(f"a role ({role!r}) needs a team", hint="give `team`")
    return (
        address.check_name(team, "name of a team") if team is not None else None,
        address.check_name(role, "name of a role") if role is not None else None,
    )


def _validate_aliases(texts: Sequence[str]) -> list[str]:
    if len(texts) > MAX_ALIASES:
        raise Invalid(f"{len(texts)} aliases are too many", hint=f"give at most {MAX_ALIASES}")
    return [address.check_alias(text) for text in dict.fromkeys(texts)]


def _build_name_taken_error(tx: Transaction, name: str) -> Conflict:
    holder = entities.find_by_names(tx, [name]).get(name)
    if holder is not None and holder.name != name:
        return Conflict(f"the name {name!r} is taken: it is an alias of {holder.name!r}", hint="choose another name")
    if holder is not None and not holder.is_live:
        return Conflict(
            f"the name {name!r} belongs to {holder.kind.phrase} that is retired",
            hint="choose another name: this one stays with its history",
        )
    return Conflict(f"the name {name!r} is taken", hint="choose another name")


def _validate_display(text: str) -> str:
    if len(text) > _MAX_DISPLAY_LENGTH or not text.strip() or not text.isprintable():
        raise Invalid(
            f"{quote_value(text)} is not a display name", hint=f"use up to {_MAX_DISPLAY_LENGTH} printable characters"
        )
    return text
