"""
Create, find, list and revoke keys.

The caller makes the secret and shows it once; the verbs only hash it, and nothing stores it.
"""

import hmac
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import KEYS, Signal
from gatepost.core.times import Instant
from gatepost.directory import entity_actions as directory, key as key_rules
from gatepost.directory.entity import EntityKind
from gatepost.directory.key import Key, KeyKind, parse_prefix
from gatepost.errors import Conflict, Invalid, NotFound, Refused
from gatepost.stores.row_mapping import Mapper, get_columns

#: the recipient of signals about keys: a key has changed, or an entity with a key has retired
_KEY: Final = Mapper(Key)


def create(
    tx: Transaction,
    *,
    kind: KeyKind,
    secret: str,
    entity: str | None = None,
    trigger: str | None = None,
    name: str = "",
    expires_at: Instant | None = None,
) -> Key:
    """
    Create a key for the administrator, for one entity, for one trigger, or (public) for this installation, and return
    it. `directory/sign_in_actions.py` creates those that end.
    """
    key_rules.check(kind, secret)
    check_scope(kind, entity, trigger)
    for text in (name, trigger or ""):
        key_rules.check_name(text)
    holder = directory.find_live(tx, entity) if entity is not None else None
    if kind == "trigger" and holder is not None and holder.kind is EntityKind.HUMAN:
        raise Refused(f"{holder.name!r} is a person, and nothing triggers a person", hint="name an agent")
    key = Key(
        id=tx.new_id("key"),
        prefix=key_rules.parse_prefix(secret),
        kind=kind,
        entity=holder.name if holder else None,
        trigger=trigger,
        name=name,
        created_at=tx.now,
        expires_at=expires_at,
    )
    row = tx.fetch_one(
        "directory/keys/insert",
        **get_columns(key, "id prefix kind trigger name expires_at"),
        hash=key_rules.hash_secret(secret),
        entity=holder.number if holder else None,
        now=tx.now,
    )
    if row is None:
        raise Conflict(f"the key {key.prefix!r} is there already")
    tx.after_commit(Signal(KEYS, "key"))
    return key


def find(tx: Reader, secret: str) -> Key | None:
    """
    Return the key with this secret, unless it is revoked or has ended, or its entity is retired; hashes are compared in
    constant time.
    """
    hash = key_rules.hash_secret(secret)
    row = tx.fetch_one("directory/keys/find_by_hash", hash=hash, now=tx.now)
    return _KEY.read(row) if row and hmac.compare_digest(row.hash, hash) else None


def list_page(tx: Reader, *, after: int = 0, limit: int = 1_000) -> list[Key]:
    """Return keys, also revoked ones, in the order of their creation; `after` is the number of the last key seen."""
    return _KEY.fetch_page(tx, "directory/keys/list_page", after=after, limit=limit)


def revoke(tx: Transaction, text: str) -> Key:
    """Revoke the key with this id or prefix for ever, and return it."""
    id_or_prefix = text if text.startswith("key_") and text.isascii() and text.isprintable() else parse_prefix(text)
    matches = _find_by_id_or_prefix(tx, id_or_prefix)
    if not matches:
        raise NotFound(f"there is no key {id_or_prefix!r}", hint="`gatepost key list` lists them")
    if len(matches) > 1:
        raise Conflict(f"{len(matches)} keys begin with {id_or_prefix!r}", hint="use the id of the one you mean")
    if not end(tx, matches[0]):
        raise Conflict(f"the key {matches[0].prefix!r} is revoked already")
    return _find_by_id_or_prefix(tx, matches[0].id)[0]


def end(tx: Transaction, key: Key) -> bool:
    """Revoke a key; return False if it was revoked before."""
    if tx.execute("directory/keys/revoke", number=key.number, now=tx.now) != 1:
        return False
    tx.after_commit(Signal(KEYS, "key"))
    return True


def check_scope(kind: KeyKind, entity: str | None, trigger: str | None) -> None:
    """Refuse an entity or a trigger that this kind of key cannot have, and a key without one that it needs."""
    match kind:
        case "admin" | "public":
            if entity is not None or trigger is not None:
                raise Invalid(f"a key of the kind {kind!r} is not for one entity or trigger")
        case "agent":
            if entity is None or trigger is not None:
                raise Invalid("an agent's key needs the agent, and no trigger", hint="give `agent`")
        case "trigger":
            if entity is None and trigger is None:
                raise Invalid("a trigger's key needs the trigger", hint="give `trigger`")
        case "page" | "link":
            if entity is None or trigger is not None:
                raise Invalid(f"a key of the kind {kind!r} needs the person who signs in, and no trigger")


def _find_by_id_or_prefix(tx: Reader, id_or_prefix: str) -> list[Key]:
    return _KEY.fetch_all(tx, "directory/keys/find_by_id_or_prefix", id_or_prefix=id_or_prefix)
