"""Changing an entity: what is given changes, and the rest stays."""

import threading

import pytest

from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntityChanges, EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, Refused, UnknownAddress
from gatepost.testing import Kit


@pytest.fixture
def store(kit: Kit) -> Store:
    for name in ("admin", "husam"):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
    kit.store.run_sync(
        directory.register,
        EntitySpec(
            name="ann",
            kind=EntityKind.AGENT,
            display="Ann",
            team="core",
            role="lead",
            owner="husam",
            aliases=["b-1", "b-2"],
        ),
    )
    kit.store.run_sync(directory.register, EntitySpec(name="bob", kind=EntityKind.AGENT, aliases=["b-9"]))
    return kit.store


def test_what_is_not_given_stays(store: Store) -> None:
    before = store.read_sync(directory.show, "ann")
    assert store.run_sync(directory.update, "ann") == before
    after = store.run_sync(directory.update, "b-1", display="Anna")
    assert (after.display, after.team, after.role, after.owner) == ("Anna", "core", "lead", "husam")
    assert after.aliases == ("b-1", "b-2")
    assert store.read_sync(directory.show, "ann") == after


def test_none_takes_it_away(store: Store) -> None:
    after = store.run_sync(directory.update, "ann", display=None, team=None, role=None, owner=None, aliases=None)
    assert (after.display, after.team, after.role, after.owner, after.aliases) == ("ann", None, None, "admin", ())


def test_aliases_are_exchanged(store: Store) -> None:
    after = store.run_sync(directory.update, "ann", aliases=["b-2", "b-3", "b-3"])
    assert after.aliases == ("b-2", "b-3")
    assert store.read_sync(directory.find, "b-3").name == "ann"
    with pytest.raises(UnknownAddress):
        store.read_sync(directory.find, "b-1")
    assert store.run_sync(directory.update, "bob", aliases=["b-1"]).aliases == ("b-1",)


def test_what_is_wrong_changes_nothing(store: Store) -> None:
    before = store.read_sync(directory.show, "ann")
    cases: list[tuple[EntityChanges, type[GatepostError]]] = [
        ({"display": "\n"}, Invalid),
        ({"team": "No Team"}, Invalid),
        ({"team": None}, Invalid),
        ({"role": "\x00"}, Invalid),
        ({"owner": "nobody"}, UnknownAddress),
        ({"owner": "*"}, Invalid),
        ({"display": "Anna", "aliases": ["b-9"]}, Conflict),
        ({"display": "Anna", "aliases": ["bob"]}, Conflict),
        ({"aliases": ["ALL"]}, Invalid),
    ]
    for changes, error_type in cases:
        with pytest.raises(error_type):
            store.run_sync(directory.update, "ann", **changes)
    assert store.read_sync(directory.show, "ann") == before


def test_who_is_retired_stays_as_they_are(store: Store) -> None:
    store.run_sync(directory.retire, "ann")
    with pytest.raises(Refused):
        store.run_sync(directory.update, "ann", display="Anna")
    with pytest.raises(UnknownAddress):
        store.run_sync(directory.update, "nobody", display="Anna")


def test_two_changes_at_once_do_not_undo_each_other(store: Store) -> None:
    def change(changes: EntityChanges) -> None:
        for _ in range(10):
            store.run_sync(directory.update, "ann", **changes)

    threads = [
        threading.Thread(target=change, args=(changes,))
        for changes in (EntityChanges(display="Anna"), EntityChanges(team="ops"), EntityChanges(owner="bob"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = store.read_sync(directory.show, "ann")
    assert (after.display, after.team, after.role, after.owner) == ("Anna", "ops", "lead", "bob")
