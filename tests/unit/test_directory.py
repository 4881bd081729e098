"""Who there is: one namespace, addresses, near names, and those who are retired."""

import pytest

from gatepost.actions import directory, inbox, push
from gatepost.actions.directory import EntitySpec
from gatepost.core import render
from gatepost.core.address import Address, AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import Push
from gatepost.errors import Conflict, GatepostError, Invalid, Refused, UnknownAddress
from gatepost.ports import Reader, Store
from gatepost.testing import Kit


@pytest.fixture
def store(kit: Kit) -> Store:
    return kit.store


def register(store: Store, name: str, kind: EntityKind = EntityKind.AGENT, **more: object) -> Entity:
    return store.call(directory.register, EntitySpec(name=name, kind=kind, **more))  # type: ignore[arg-type]


class TestRegistering:
    def test_an_entity_comes_back_as_it_was_registered(self, store: Store, kit: Kit) -> None:
        register(store, "admin", EntityKind.HUMAN)
        made = register(store, "ann", display="Ann Ö.", team="red", role="lead", aliases=["0.0.7", "bead:1", "0.0.7"])
        assert made.created_at == kit.clock.now()
        assert made.is_live
        assert (made.display, made.team, made.role, made.owner) == ("Ann Ö.", "red", "lead", "admin")
        assert made.aliases == ("0.0.7", "bead:1")
        assert store.query(directory.show, "ann") == store.query(directory.show, "bead:1") == made

    def test_what_is_not_said_has_a_default(self, store: Store) -> None:
        made = register(store, "ann")
        assert (made.display, made.team, made.role, made.owner, made.aliases) == ("ann", None, None, None, ())

    def test_an_owner_may_be_named_by_an_alias(self, store: Store) -> None:
        register(store, "husam", EntityKind.HUMAN, aliases=["H"])
        assert register(store, "ann", owner="H").owner == "husam"

    @pytest.mark.parametrize("taken", ["ann", "annie", "0.0.7"])
    @pytest.mark.parametrize("as_alias", [False, True])
    def test_names_and_aliases_share_one_namespace(self, store: Store, taken: str, as_alias: bool) -> None:
        register(store, "ann", aliases=["annie", "0.0.7"])
        name, aliases = ("bob", ["free", taken]) if as_alias else (taken, ["free"])
        with pytest.raises(Conflict, match=f"the name '{taken}' is taken"):
            register(store, name, EntityKind.HUMAN, aliases=aliases)
        assert [one.name for one in store.query(directory.page, retired=True)] == ["ann"]
        assert register(store, "free").name == "free"

    def test_the_error_says_whose_alias_it_is(self, store: Store) -> None:
        register(store, "ann", aliases=["annie"])
        with pytest.raises(Conflict, match="an alias of 'ann'"):
            register(store, "annie")

    def test_a_retired_name_stays_taken(self, store: Store) -> None:
        register(store, "ann", aliases=["annie"])
        store.call(directory.retire, "ann")
        for name in ("ann", "annie"):
            with pytest.raises(Conflict):
                register(store, name)

    @pytest.mark.parametrize(
        "wrong",
        [
            {"name": "Ann"},
            {"name": "all"},
            {"name": ""},
            {"name": "ann", "role": "lead"},
            {"name": "ann", "team": "Red"},
            {"name": "ann", "team": "red", "role": "x y"},
            {"name": "ann", "aliases": ["ALL"]},
            {"name": "ann", "aliases": ["team:red"]},
            {"name": "ann", "aliases": [""]},
            {"name": "ann", "display": "a\nb"},
            {"name": "ann", "display": "\u202eann"},
            {"name": "ann", "display": " "},
            {"name": "ann", "display": "x" * 201},
            {"name": "ann", "display": "\ud800"},
            {"name": "ann", "owner": "nobody"},
        ],
    )
    def test_what_is_wrong_is_refused_and_nothing_is_stored(self, store: Store, wrong: dict[str, object]) -> None:
        with pytest.raises(Invalid):
            store.call(directory.register, EntitySpec(kind=EntityKind.AGENT, **wrong))  # type: ignore[arg-type]
        assert store.query(directory.page, retired=True) == []

    def test_an_owner_must_be_there_to_be_told(self, store: Store) -> None:
        register(store, "husam", EntityKind.HUMAN)
        store.call(directory.retire, "husam")
        with pytest.raises(Refused, match="'husam' is retired"):
            register(store, "ann", owner="husam")

    def test_aliases_are_counted_as_they_are_given(self, store: Store) -> None:
        register(store, "ann")
        with pytest.raises(Invalid, match="51 aliases are too many"):
            register(store, "bob", aliases=["b"] * 51)
        with pytest.raises(Invalid, match="51 aliases are too many"):
            store.call(directory.update, "ann", aliases=[f"a{number}" for number in range(51)])
        assert store.call(directory.show, "ann").aliases == ()


class TestFinding:
    def test_an_unknown_name_is_met_with_the_nearest_ones(self, store: Store) -> None:
        for name in ("analyst", "designer", "developer"):
            register(store, name)
        with pytest.raises(UnknownAddress, match="nobody is called 'analist'") as error:
            store.query(directory.find, "analist")
        assert error.value.hint == "did you mean 'analyst'?"

    def test_aliases_are_near_too_and_the_retired_are_not(self, store: Store) -> None:
        register(store, "ann", aliases=["bookkeeper"])
        register(store, "bookkeeping")
        store.call(directory.retire, "bookkeeping")
        with pytest.raises(UnknownAddress) as error:
            store.query(directory.find, "bookeeper")
        assert error.value.hint == "did you mean 'bookkeeper'?"

    def test_with_nobody_near_the_hint_says_where_to_look(self, store: Store) -> None:
        register(store, "ann")
        with pytest.raises(UnknownAddress) as error:
            store.query(directory.find, "xyzzy")
        assert "agent list" in str(error.value.hint)

    @pytest.mark.parametrize("address", ["*", "ALL", "team:red", "", "a b", "a\x00b", "\ud800", "é"])
    def test_only_one_entity_can_be_found(self, store: Store, address: str) -> None:
        with pytest.raises(Invalid):
            store.query(directory.find, address)

    def test_entities_are_listed_in_order_of_registration(self, store: Store) -> None:
        for name, kind, team in (
            ("z", EntityKind.AGENT, "red"),
            ("y", EntityKind.HUMAN, "red"),
            ("x", EntityKind.AGENT, None),
        ):
            register(store, name, kind, team=team, aliases=[f"{name}-1"])
        store.call(directory.retire, "z")

        def names(**filters: object) -> list[str]:
            return [one.name for one in store.query(directory.page, **filters)]  # type: ignore[arg-type]

        assert names() == ["y", "x"]
        assert names(retired=True) == ["z", "y", "x"]
        assert names(kind=EntityKind.AGENT, retired=True) == ["z", "x"]
        assert names(team="red") == ["y"]
        first, *_ = store.query(directory.page, retired=True, limit=1)
        assert names(after=first.number, limit=1) == ["y"]
        assert first.aliases == ("z-1",)

    def test_addresses_are_resolved_together(self, store: Store) -> None:
        register(store, "ann", team="red", role="lead", aliases=["annie"])
        register(store, "bob", team="red")
        register(store, "cem", EntityKind.HUMAN, team="red", role="lead")
        wanted: list[Address] = [
            EntityAddress("annie"),
            EntityAddress("nobody"),
            TeamAddress("red"),
            TeamAddress("red", "lead"),
            TeamAddress("blue"),
            AllAgentsAddress(),
        ]

        def names(tx: Reader) -> dict[str, list[str]]:
            found = directory.resolve(tx, wanted)
            return {str(one): [entity.name for entity in everybody] for one, everybody in found.items()}

        assert store.query(names) == {
            "annie": ["ann"],
            "team:red": ["ann", "bob", "cem"],
            "team:red/lead": ["ann", "cem"],
            "team:blue": [],
        }


class TestRetiring:
    def test_the_retired_keep_their_history_and_receive_nothing(self, store: Store, kit: Kit) -> None:
        register(store, "ann", aliases=["annie"])
        store.call(push.push_event, Push(to="ann", source="test", content="before"))
        assert store.call(directory.retire, "annie").retired_at == kit.clock.now()
        assert not store.query(directory.find, "ann").is_live
        for attempt in ("ann", "annie"):
            with pytest.raises(Refused, match="'ann' is retired"):
                store.call(push.push_event, Push(to=attempt, source="test"))
        with pytest.raises(Refused):
            store.call(inbox.claim, "ann", owner="me")
        assert [item.event.content for item in store.query(inbox.peek, "ann")] == ["before"]

    def test_nobody_retires_twice(self, store: Store) -> None:
        register(store, "ann")
        store.call(directory.retire, "ann")
        with pytest.raises(Conflict, match="retired already"):
            store.call(directory.retire, "ann")

    def test_the_administrator_stays(self, store: Store) -> None:
        register(store, "admin", EntityKind.HUMAN, aliases=["root"])
        with pytest.raises(Refused):
            store.call(directory.retire, "root")

    def test_the_retired_never_block_a_fan_out(self, store: Store) -> None:
        for name in ("ann", "bob", "cem"):
            register(store, name, team="red")
        store.call(directory.retire, "bob")
        pushed = store.call(push.push_event, Push(to="team:red", source="test"))
        assert [one.name for one in pushed.deliveries] == ["ann", "cem"]

    def test_a_team_of_the_retired_is_nobody(self, store: Store) -> None:
        register(store, "ann", team="red")
        store.call(directory.retire, "ann")
        with pytest.raises(GatepostError, match="nobody is in 'team:red'"):
            store.call(push.push_event, Push(to="team:red", source="test"))


class TestALongerDisplayName:
    @pytest.mark.parametrize("to", ["ann", "*"])
    @pytest.mark.parametrize("taken", [False, True])
    def test_does_not_let_a_batch_outgrow_its_budget(self, store: Store, to: str, taken: bool) -> None:
        for name, kind in (("husam", EntityKind.HUMAN), ("ann", EntityKind.AGENT)):
            register(store, name, kind)
        for number in range(20):
            store.call(push.push_event, Push(to=to, source="test", sender="husam", content=f"{number} {'x' * 300}"))
        held = store.call(inbox.claim, "ann", owner="first", budget=6_000).claim if taken else None
        store.call(directory.update, "husam", display="Husam \u00df" + " of the long name" * 10)
        if held is not None:
            store.call(inbox.release, held.id, owner=held.owner, fence=held.fence)
        batch = store.call(inbox.claim, "ann", owner="second", budget=6_000)
        shown = render.render_batch(
            batch.items, at=batch.at, deferred_count=batch.deferred_count, size_limits=batch.size_limits
        )
        assert 3_000 < len(shown) <= 6_000
