"""Keys: kept hashed, found by the secret, listed by prefix, revocable."""

import secrets
from typing import Any

import msgspec
import pytest

from gatepost.app import register_administrator
from gatepost.core.ports import Reader, Store
from gatepost.core.signals import KEYS, Signal
from gatepost.directory import (
    entity_actions as directory,
    key as key_rules,
    key_actions as keys,
    sign_in_actions as sign_in,
)
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.directory.key import Key
from gatepost.directory.key_api import CreateKey, ListKeys
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, Refused, UnknownAddress
from gatepost.executor import LocalExecutor
from gatepost.export import catalog_rows as catalog, export_actions as export
from gatepost.testing import Kit


@pytest.fixture
def store(kit: Kit) -> Store:
    kit.store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT, aliases=["an-1"]))
    kit.signal_sink.clear()
    return kit.store


def create_secret(prefix: str = "sk_") -> str:
    return prefix + secrets.token_urlsafe(32)


def test_a_secret_is_found_as_what_it_stands_for(store: Store) -> None:
    secret, other_secret, trigger_secret, public_secret = (
        create_secret(),
        create_secret(),
        create_secret(),
        create_secret("pk_"),
    )
    created_keys = [
        store.run_sync(keys.create, kind="admin", secret=secret, name="laptop"),
        store.run_sync(keys.create, kind="agent", secret=other_secret, entity="an-1"),
        store.run_sync(keys.create, kind="trigger", secret=trigger_secret, trigger="jira", entity="analyst"),
        store.run_sync(keys.create, kind="public", secret=public_secret),
    ]
    found_keys = [store.read_sync(keys.find, text) for text in (secret, other_secret, trigger_secret, public_secret)]
    assert [key and key.id for key in found_keys] == [key.id for key in created_keys]
    assert [key and (key.kind, key.entity, key.trigger) for key in found_keys] == [
        ("admin", None, None),
        ("agent", "analyst", None),
        ("trigger", "analyst", "jira"),
        ("public", None, None),
    ]
    for bad_secret in (
        create_secret(),
        secret[:-1],
        secret + "x",
        secret.lower(),
        created_keys[0].prefix,
        key_rules.hash_secret(secret),
        "",
        "\ud800",
        "\x00",
    ):
        assert store.read_sync(keys.find, bad_secret) is None


def test_nothing_of_the_secret_is_kept_but_its_prefix(store: Store) -> None:
    secret = create_secret()
    key = store.run_sync(keys.create, kind="admin", secret=secret)
    assert key.prefix == secret[:11]

    def read_rows(tx: Reader) -> str:
        return repr(tx.fetch_all("directory/keys/find_by_hash", hash=key_rules.hash_secret(secret), now=tx.now))

    assert secret[11:] not in store.read_sync(read_rows)
    with pytest.raises(Conflict) as error:
        store.run_sync(keys.create, kind="admin", secret=secret)
    assert secret not in str(error.value)


def test_a_new_key_is_shown_once_and_never_by_a_repr(store: Store) -> None:
    answer = LocalExecutor(store).send(CreateKey(agent="an-1", name="laptop"))
    assert answer.key.startswith(answer.prefix)
    assert len(answer.key) == 46
    assert msgspec.to_builtins(answer)["key"] == answer.key
    assert (answer.kind, answer.entity, answer.name) == ("agent", "analyst", "laptop")
    for text in (repr(answer), str(answer), f"{[answer]}", repr(answer.__rich_repr__())):
        assert answer.prefix in text
        assert answer.key not in text
        assert answer.key[11:] not in text
    [row] = LocalExecutor(store).send(ListKeys()).items
    assert msgspec.to_builtins(answer) == msgspec.to_builtins(row) | {"key": answer.key}


def test_a_key_is_for_one_thing(store: Store) -> None:
    executor = LocalExecutor(store)
    for request in (CreateKey(agent="analyst", public=True), CreateKey(agent="analyst", trigger="analyst")):
        with pytest.raises(Invalid) as error:
            executor.send(request)
        assert error.value.message == "give only one of `agent`, `trigger` and `public`"
    assert executor.send(CreateKey(trigger="analyst")).kind == "trigger"
    assert executor.send(CreateKey(public=True)).key.startswith("pk_")
    assert executor.send(CreateKey()).kind == "admin"


def test_a_revoked_key_is_nobodys(kit: Kit, store: Store) -> None:
    secret, other_secret = create_secret(), create_secret()
    key = store.run_sync(keys.create, kind="admin", secret=secret)
    agent_key = store.run_sync(keys.create, kind="agent", secret=other_secret, entity="analyst", name="ci")
    kit.signal_sink.clear()
    kit.clock.advance("1 minute")
    assert store.run_sync(keys.revoke, key.prefix).revoked_at == kit.clock.now()
    assert kit.signal_sink.clear() == [Signal(KEYS, "key")]
    assert store.read_sync(keys.find, secret) is None
    assert store.read_sync(keys.find, other_secret) is not None
    assert [(key.name, key.revoked_at) for key in store.read_sync(keys.list_page)] == [
        ("", kit.clock.now()),
        ("ci", None),
    ]
    with pytest.raises(Conflict):
        store.run_sync(keys.revoke, key.id)
    store.run_sync(keys.revoke, agent_key.id)
    assert store.read_sync(keys.find, other_secret) is None


def test_a_whole_secret_names_its_key_and_is_not_repeated(store: Store) -> None:
    secret = create_secret()
    store.run_sync(keys.create, kind="admin", secret=secret)
    store.run_sync(keys.revoke, secret)
    unknown_secret = create_secret()
    for text in (unknown_secret, unknown_secret + "x", f" {unknown_secret}", "key_\x00", "key_0", "\x00", ""):
        with pytest.raises((NotFound, Invalid)) as error:
            store.run_sync(keys.revoke, text)
        assert unknown_secret[11:] not in str(error.value)


def test_one_of_two_with_the_same_prefix_is_named_by_its_id(store: Store) -> None:
    secret = create_secret()
    twin_secret = secret[:11] + create_secret()[11:]
    first = store.run_sync(keys.create, kind="admin", secret=secret)
    store.run_sync(keys.create, kind="admin", secret=twin_secret)
    with pytest.raises(Conflict):
        store.run_sync(keys.revoke, first.prefix)
    store.run_sync(keys.revoke, first.id)
    assert store.read_sync(keys.find, secret) is None
    assert store.read_sync(keys.find, twin_secret) is not None


def test_a_retired_entity_has_no_key(kit: Kit, store: Store) -> None:
    secret = create_secret()
    store.run_sync(keys.create, kind="agent", secret=secret, entity="analyst")
    kit.signal_sink.clear()
    store.run_sync(directory.retire, "analyst")
    assert kit.signal_sink.clear() == [Signal(KEYS, "retire")]
    assert store.read_sync(keys.find, secret) is None
    with pytest.raises(Refused):
        store.run_sync(keys.create, kind="agent", secret=create_secret(), entity="analyst")


def test_a_key_is_for_what_its_kind_says(store: Store) -> None:
    cases: list[tuple[key_rules.KeyKind, dict[str, Any], type[GatepostError]]] = [
        ("agent", {}, Invalid),
        ("agent", {"entity": "nobody"}, UnknownAddress),
        ("agent", {"entity": "analyst", "trigger": "jira"}, Invalid),
        ("admin", {"entity": "analyst"}, Invalid),
        ("trigger", {}, Invalid),
        ("admin", {"name": "x" * 201}, Invalid),
        ("admin", {"name": "\x00"}, Invalid),
        ("trigger", {"trigger": "\x00"}, Invalid),
    ]
    for kind, scope, error_type in cases:
        with pytest.raises(error_type):
            store.run_sync(keys.create, kind=kind, secret=create_secret(), **scope)
    assert store.read_sync(keys.list_page) == []


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
    with pytest.raises(Invalid) as error:
        key_rules.check(kind, text)
    assert text not in f"{error.value} {error.value.hint}"


def test_pages_go_on_after_a_number(store: Store) -> None:
    for number in range(3):
        store.run_sync(keys.create, kind="admin", secret=create_secret(), name=str(number))
    first: list[Key] = store.read_sync(keys.list_page, limit=2)
    rest = store.read_sync(keys.list_page, after=first[-1].number, limit=2)
    assert [key.name for key in (*first, *rest)] == ["0", "1", "2"]


def test_what_lets_a_browser_in_is_never_exported(kit: Kit, store: Store) -> None:
    """And a store in which only the administrator has signed in can still be filled by an import."""
    register_administrator(store)
    link, page_secret = create_secret("lk_"), create_secret("ck_")
    store.run_sync(sign_in.create_link, link, "admin")
    store.run_sync(sign_in.sign_in, link, page_secret)
    store.run_sync(sign_in.create_link, create_secret("lk_"), "admin")
    lines: list[bytes] = []
    store.read_sync(export.export_store, lines.append, secrets=True)
    assert not any(b'"table":"keys"' in line and (b'"page"' in line or b'"link"' in line) for line in lines)
    _, key_count, _ = store.read_sync(catalog.count_occupants, "admin")
    assert key_count == 0


def test_links_are_in_no_list_and_cannot_be_named(store: Store) -> None:
    register_administrator(store)
    secret = create_secret("lk_")
    link = store.run_sync(sign_in.create_link, secret, "admin")
    assert store.read_sync(keys.list_page) == []
    for text in (secret, link.prefix, link.id):
        with pytest.raises(NotFound):
            store.run_sync(keys.revoke, text)
