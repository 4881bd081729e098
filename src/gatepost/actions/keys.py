"""
Keys: made, found, listed, revoked. The secret itself is made by the door, shown once and never stored; the verbs see it
only to hash it.
"""

from typing import Final

from gatepost.actions import directory
from gatepost.core import key as rules
from gatepost.core.key import Key, Kind
from gatepost.core.ring import Ring
from gatepost.errors import Conflict, Invalid, NotFound
from gatepost.ports import Reader, Transaction
from gatepost.tables import keys

#: whom a ring is for that says that a key, or whoever it stands for, has changed
TOPIC: Final = rules.TOPIC


def create(
    tx: Transaction, *, kind: Kind, secret: str, entity: str | None = None, trigger: str | None = None, name: str = ""
) -> Key:
    """Let a secret stand for the administrator, for one entity, for one trigger, or (public) for this installation."""
    rules.check(kind, secret)
    check_scope(kind, entity, trigger)
    for text in (name, trigger or ""):
        rules.named(text)
    holder = directory.find_live(tx, entity) if entity is not None else None
    made = Key(
        id=tx.new_id("key"),
        prefix=rules.prefix(secret),
        kind=kind,
        entity=holder.name if holder else None,
        trigger=trigger,
        name=name,
        created_at=tx.now,
    )
    if not keys.insert(tx, made, hash=rules.digest(secret), entity=holder.number if holder else None):
        raise Conflict(f"the key {made.prefix!r} is there already")
    tx.after_commit(Ring(TOPIC, "key"))
    return made


def find(tx: Reader, secret: str) -> Key | None:
    """The key that this secret is, if it is in force."""
    return keys.in_force(tx, rules.digest(secret))


def page(tx: Reader, *, after: int = 0, limit: int = 1_000) -> list[Key]:
    """All keys, revoked ones too, in the order in which they were made; `after` is the number of the last one seen."""
    return keys.page(tx, after=after, most=limit)


def revoke(tx: Transaction, text: str) -> Key:
    """Put the key with this id or prefix out of force, for good."""
    wanted = rules.called(text)
    found = keys.called(tx, wanted)
    if not found:
        raise NotFound(f"there is no key {wanted!r}", hint="`gatepost key list` shows which there are")
    if len(found) > 1:
        raise Conflict(f"{len(found)} keys begin with {wanted!r}", hint="use the id of the one you mean")
    if not keys.revoke(tx, found[0].number):
        raise Conflict(f"the key {found[0].prefix!r} is revoked already")
    tx.after_commit(Ring(TOPIC, "key"))
    return keys.called(tx, found[0].id)[0]


def check_scope(kind: Kind, entity: str | None, trigger: str | None) -> None:
    """Refuse a key that is for nobody, or for somebody whom such a key is never for."""
    match kind:
        case "admin" | "public":
            if entity is not None or trigger is not None:
                raise Invalid(f"a key of the kind {kind!r} is not for one entity or trigger")
        case "agent":
            if entity is None or trigger is not None:
                raise Invalid("an agent's key needs the agent, and no trigger", hint="name it with --agent")
        case "trigger":
            if entity is None and trigger is None:
                raise Invalid("a trigger's key needs the trigger", hint="name it with --trigger")
