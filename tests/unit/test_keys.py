"""Keys: kept hashed, found by the secret, listed by prefix, revocable."""

import secrets

import pytest

from gatepost.actions import directory, keys
from gatepost.actions.directory import EntitySpec
from gatepost.core import key as key_rules
from gatepost.core.entity import EntityKind
from gatepost.core.key import Key
from gatepost.core.signals import Signal
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, UnknownAddress
from gatepost.ports import Reader, Store
from gatepost.testing import Kit


@pytest.fixture
def store(kit: Kit) -> Store:
    kit.store.call(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT, aliases=["an-1"]))
    kit.signal_sink.clear()
    return kit.store


def secret(prefix: str = "sk_") -> str:
    return prefix + secrets.token_urlsafe(32)


def test_a_secret_is_found_as_what_it_stands_for(store: Store) -> None:
    mine, other, webhook, public = secret(), secret(), secret(), secret("pk_")
    made = [
        store.call(keys.create, kind="admin", secret=mine, name="laptop"),
        store.call(keys.create, kind="agent", secret=other, entity="an-1"),
        store.call(keys.create, kind="trigger", secret=webhook, trigger="jira", entity="analyst"),
        store.call(keys.create, kind="public", secret=public),
    ]
    found = [store.query(keys.find, text) for text in (mine, other, webhook, public)]
    assert [key and key.id for key in found] == [key.id for key in made]
    assert [key and (key.kind, key.entity, key.trigger) for key in found] == [
        ("admin", None, None),
        ("agent", "analyst", None),
        ("trigger", "analyst", "jira"),
        ("public", None, None),
    ]
    for wrong in (
        secret(),
        mine[:-1],
        mine + "x",
        mine.lower(),
        made[0].prefix,
        key_rules.hash_secret(mine),
        "",
        "\ud800",
        "\x00",
    ):
        assert store.query(keys.find, wrong) is None


def test_nothing_of_the_secret_is_kept_but_its_prefix(store: Store) -> None:
    mine = secret()
    key = store.call(keys.create, kind="admin", secret=mine)
    assert key.prefix == mine[:11]

    def rows(tx: Reader) -> str:
        return repr(tx.fetch_all("keys/by_hash", hash=key_rules.hash_secret(mine)))

    assert mine[11:] not in store.query(rows)
    with pytest.raises(Conflict) as twice:
        store.call(keys.create, kind="admin", secret=mine)
    assert mine not in str(twice.value)


def test_a_revoked_key_is_nobodys(kit: Kit, store: Store) -> None:
    mine, other = secret(), secret()
    key = store.call(keys.create, kind="admin", secret=mine)
    kept = store.call(keys.create, kind="agent", secret=other, entity="analyst", name="ci")
    kit.signal_sink.clear()
    kit.clock.advance("1 minute")
    assert store.call(keys.revoke, key.prefix).revoked_at == kit.clock.now()
    assert kit.signal_sink.clear() == [Signal(keys.TOPIC, "key")]
    assert store.query(keys.find, mine) is None
    assert store.query(keys.find, other) is not None
    assert [(key.name, key.revoked_at) for key in store.query(keys.page)] == [("", kit.clock.now()), ("ci", None)]
    with pytest.raises(Conflict):
        store.call(keys.revoke, key.id)
    store.call(keys.revoke, kept.id)
    assert store.query(keys.find, other) is None


def test_a_whole_secret_names_its_key_and_is_not_repeated(store: Store) -> None:
    mine = secret()
    store.call(keys.create, kind="admin", secret=mine)
    store.call(keys.revoke, mine)
    unknown = secret()
    for text in (unknown, unknown + "x", f" {unknown}", "key_\x00", "key_0", "\x00", ""):
        with pytest.raises((NotFound, Invalid)) as refusal:
            store.call(keys.revoke, text)
        assert unknown[11:] not in str(refusal.value)


def test_one_of_two_with_the_same_prefix_is_named_by_its_id(store: Store) -> None:
    mine = secret()
    twin = mine[:11] + secret()[11:]
    first = store.call(keys.create, kind="admin", secret=mine)
    store.call(keys.create, kind="admin", secret=twin)
    with pytest.raises(Conflict):
        store.call(keys.revoke, first.prefix)
    store.call(keys.revoke, first.id)
    assert store.query(keys.find, mine) is None
    assert store.query(keys.find, twin) is not None


def test_a_retired_entity_has_no_key(kit: Kit, store: Store) -> None:
    mine = secret()
    store.call(keys.create, kind="agent", secret=mine, entity="analyst")
    kit.signal_sink.clear()
    store.call(directory.retire, "analyst")
    assert kit.signal_sink.clear() == [Signal(keys.TOPIC, "retire")]
    assert store.query(keys.find, mine) is None
    with pytest.raises(Refused):
        store.call(keys.create, kind="agent", secret=secret(), entity="analyst")


def test_a_key_is_for_what_its_kind_says(store: Store) -> None:
    wrong: list[tuple[key_rules.KeyKind, dict[str, str], type[GatepostError]]] = [
        ("agent", {}, Invalid),
        ("agent", {"entity": "nobody"}, UnknownAddress),
        ("agent", {"entity": "analyst", "trigger": "jira"}, Invalid),
        ("admin", {"entity": "analyst"}, Invalid),
        ("trigger", {}, Invalid),
        ("admin", {"name": "x" * 201}, Invalid),
        ("admin", {"name": "\x00"}, Invalid),
        ("trigger", {"trigger": "\x00"}, Invalid),
    ]
    for kind, scope, refusal in wrong:
        with pytest.raises(refusal):
            store.call(keys.create, kind=kind, secret=secret(), **scope)
    assert store.query(keys.page) == []


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("admin", "pk_" + "a" * 43),
        ("public", "sk_" + "a" * 43),
        ("admin", "sk_" + "a" * 42),
        ("admin", "sk_" + "é" * 43),
    ],
)
def test_a_secret_has_one_form(kind: key_rules.KeyKind, text: str) -> None:
    with pytest.raises(Invalid) as refusal:
        key_rules.check(kind, text)
    assert text not in f"{refusal.value} {refusal.value.hint}"


def test_pages_go_on_after_a_number(store: Store) -> None:
    for number in range(3):
        store.call(keys.create, kind="admin", secret=secret(), name=str(number))
    first: list[Key] = store.query(keys.page, limit=2)
    rest = store.query(keys.page, after=first[-1].number, limit=2)
    assert [key.name for key in (*first, *rest)] == ["0", "1", "2"]
