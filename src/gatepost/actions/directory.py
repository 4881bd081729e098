"""
Who there is: registering, finding and retiring entities, and turning addresses into them.

Names and aliases share one namespace. A registration takes its turn with the broadcasts (one locked row), so that for
every agent and every broadcast it is settled which came first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final, TypedDict, Unpack

from gatepost.core import address, key, line
from gatepost.core.address import Address, Everyone, Named, Team
from gatepost.core.entity import Entity, Kind
from gatepost.core.ring import Ring
from gatepost.core.text import count_bytes
from gatepost.errors import Conflict, Invalid, Refused, UnknownAddress
from gatepost.ports import Reader, Transaction
from gatepost.tables import broadcasts, claims, entities, items

#: the person who is told when nobody else is named
ADMINISTRATOR: Final = "admin"
#: aliases that one entity may be given
MOST_ALIASES: Final = 50
_LONGEST_DISPLAY: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    name: str
    kind: Kind
    display: str | None = None
    team: str | None = None
    role: str | None = None
    owner: str | None = None
    aliases: Sequence[str] = ()


class Changes(TypedDict, total=False):
    """What may be changed of an entity. None takes it away; without an owner it is the administrator's."""

    display: str | None
    team: str | None
    role: str | None
    owner: str | None
    aliases: Sequence[str] | None


def register(tx: Transaction, who: Newcomer) -> Entity:
    """Add an entity; its name and aliases must be free."""
    name = address.name(who.name)
    team, role = _place(who.team, who.role)
    display = _display(who.display or name)
    aliases = _aliases(who.aliases)
    owner = find_live(tx, who.owner) if who.owner else _administrator(tx)
    cursor = broadcasts.number(tx, by=0)
    number = entities.insert(
        tx,
        name=name,
        kind=who.kind,
        display=display,
        team=team,
        role=role,
        owner=owner.number if owner else None,
    )
    if number is None or not entities.give_name(tx, name, number, is_alias=False):
        raise _taken(tx, name)
    for alias in aliases:
        if not entities.give_name(tx, alias, number, is_alias=True):
            raise _taken(tx, alias)
    claims.open_inbox(tx, number, cursor)
    return replace(find(tx, name), aliases=tuple(sorted(aliases)))


def find(tx: Reader, name: str | Entity) -> Entity:
    """The entity with that name or alias, live or retired; one that this transaction has found already is not read."""
    if isinstance(name, Entity):
        return name
    found = find_or_none(tx, name)
    if found is None:
        raise unknown(tx, name)
    return found


def find_or_none(tx: Reader, name: str) -> Entity | None:
    """The same for whoever must not learn from the answer, or from how long it takes, which names are near."""
    return entities.by_name(tx, address.single(name))


def find_live(tx: Reader, name: str | Entity) -> Entity:
    found = find(tx, name)
    if not found.live:
        raise Refused(f"{found.name!r} is retired")
    return found


def number(tx: Reader, name: str | Entity | None) -> int | None:
    """The number of whoever is called that; None for nobody in particular."""
    return find(tx, name).number if name is not None else None


def show(tx: Reader, name: str) -> Entity:
    """An entity with its aliases."""
    found = find(tx, name)
    return replace(found, aliases=entities.aliases_of(tx, [found.number]).get(found.number, ()))


def page(
    tx: Reader,
    *,
    kind: Kind | None = None,
    team: str | None = None,
    retired: bool = False,
    after: int = 0,
    limit: int = 1_000,
) -> list[Entity]:
    """Entities in order of registration."""
    return entities.page(tx, kind=kind, team=team, retired=retired, after=after, most=limit)


def update(tx: Transaction, name: str, **changes: Unpack[Changes]) -> Entity:
    """Change what is given of a live entity and leave the rest as it is."""
    entities.lock(tx, find(tx, name).number)
    old = show(tx, find_live(tx, name).name)
    team, role = _place(changes.get("team", old.team), changes.get("role", old.role))
    owner = changes.get("owner", old.owner)
    holder = _administrator(tx) if owner is None else (find_live if "owner" in changes else find)(tx, owner)
    changed = _display(changes.get("display", old.display) or old.name)
    entities.update(
        tx,
        old.number,
        display=changed,
        team=team,
        role=role,
        owner=holder.number if holder else None,
    )
    if (more := count_bytes(line.title(changed)) - count_bytes(line.title(old.display))) > 0:
        items.widen(tx, old, more)
    if "aliases" in changes:
        _give_aliases(tx, old, _aliases(changes["aliases"] or ()))
    return show(tx, old.name)


def _give_aliases(tx: Transaction, entity: Entity, aliases: Sequence[str]) -> None:
    """Let an entity have these aliases and no others."""
    for alias in set(entity.aliases) - set(aliases):
        entities.take_name(tx, alias, entity.number)
    for alias in set(aliases) - set(entity.aliases):
        if not entities.give_name(tx, alias, entity.number, is_alias=True):
            raise _taken(tx, alias)


def retire(tx: Transaction, name: str) -> Entity:
    """Let an entity receive nothing from now on; what it has stays, and what cannot go on without it ends."""
    from gatepost.actions import endings  # it tells people, whom it finds here

    found = find(tx, name)
    if found.name == ADMINISTRATOR:
        raise Refused(f"{ADMINISTRATOR!r} cannot be retired: alerts that nobody owns go there")
    if not entities.retire(tx, found.number):
        raise Conflict(f"{found.name!r} is retired already")
    endings.orphan(tx, found)
    tx.after_commit(Ring(key.TOPIC, "retire"))
    return show(tx, name)


def responsible(tx: Reader, entity: Entity) -> str:
    """Who is asked and told where an entity is concerned: its owner while that one is there, else the administrator."""
    return entity.owner if entity.owner is not None and find(tx, entity.owner).live else ADMINISTRATOR


def resolve(tx: Reader, addresses: Iterable[Address]) -> Mapping[Address, list[Entity]]:
    """Everybody behind each address but `*`; whoever is unknown is simply not in the answer."""
    wanted = set(addresses)
    names = {str(wish) for wish in wanted if isinstance(wish, Named)}
    known = entities.by_names(tx, names) if names else {}
    found: dict[Address, list[Entity]] = {}
    for wish in wanted:
        match wish:
            case Named(name) if name in known:
                found[wish] = [known[name]]
            case Team(team, role):
                found[wish] = entities.of_team(tx, team, role)
            case Named() | Everyone():
                pass
    return found


def unknown(tx: Reader, name: str) -> UnknownAddress:
    """An error that names the nearest known names."""
    near = get_close_matches(name, entities.like(tx, name), n=3, cutoff=0.6)
    if near:
        return UnknownAddress(f"nobody is called {name!r}", hint=f"did you mean {' or '.join(map(repr, near))}?")
    return UnknownAddress(f"nobody is called {name!r}", hint="`gatepost agent list` shows who there is")


def _administrator(tx: Transaction) -> Entity | None:
    return entities.by_names(tx, [ADMINISTRATOR]).get(ADMINISTRATOR)


def _place(team: str | None, role: str | None) -> tuple[str | None, str | None]:
    if role and not team:
        raise Invalid(f"a role ({role!r}) needs a team", hint="add --team")
    return (
        address.name(team, "team") if team is not None else None,
        address.name(role, "role") if role is not None else None,
    )


def _aliases(texts: Sequence[str]) -> list[str]:
    if len(texts) > MOST_ALIASES:
        raise Invalid(f"{len(texts)} aliases are too many", hint=f"give at most {MOST_ALIASES}")
    return [address.alias(text) for text in dict.fromkeys(texts)]


def _taken(tx: Transaction, name: str) -> Conflict:
    holder = entities.by_names(tx, [name]).get(name)
    if holder is None or holder.name == name:
        return Conflict(f"the name {name!r} is taken")
    return Conflict(f"the name {name!r} is taken: it is an alias of {holder.name!r}")


def _display(text: str) -> str:
    if len(text) > _LONGEST_DISPLAY or not text.strip() or not text.isprintable():
        raise Invalid(f"{text[:60]!r} is not a display name", hint=f"use up to {_LONGEST_DISPLAY} printable characters")
    return text
