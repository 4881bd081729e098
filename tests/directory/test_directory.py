"""Who there is: one namespace, addresses, near names, and those who are retired."""

import pytest

from gatepost.core.address import Address, AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.ports import Reader, Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity, EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, Refused, UnknownAddress
from gatepost.inbox import claim_actions as inbox, event_rendering as render
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit
from tests.support.collected_failures import check_cases


@pytest.fixture
def store(kit: Kit) -> Store:
    return kit.store


def register(store: Store, name: str, kind: EntityKind = EntityKind.AGENT, **fields: object) -> Entity:
    return store.run_sync(directory.register, EntitySpec(name=name, kind=kind, **fields))  # type: ignore[arg-type]


class TestRegistering:
    def test_an_entity_comes_back_as_it_was_registered(self, store: Store, kit: Kit) -> None:
        register(store, "admin", EntityKind.HUMAN)
        entity = register(store, "ann", display="Ann Ö.", team="red", role="lead", aliases=["0.0.7", "bead:1", "0.0.7"])
        assert entity.created_at == kit.clock.now()
        assert entity.is_live
        assert (entity.display, entity.team, entity.role, entity.owner) == ("Ann Ö.", "red", "lead", "admin")
        assert entity.aliases == ("0.0.7", "bead:1")
        assert store.read_sync(directory.show, "ann") == store.read_sync(directory.show, "bead:1") == entity

    def test_what_is_not_said_has_a_default(self, store: Store) -> None:
        entity = register(store, "ann")
        assert (entity.display, entity.team, entity.role, entity.owner, entity.aliases) == ("ann", None, None, None, ())

    def test_the_administrator_does_not_come_to_own_itself(self, store: Store) -> None:
        register(store, "admin", EntityKind.HUMAN)
        assert store.run_sync(directory.update, "admin", display="Boss").owner is None
        with pytest.raises(Invalid, match="'admin' cannot own itself"):
            store.run_sync(directory.update, "admin", owner="admin")

    def test_an_owner_may_be_named_by_an_alias(self, store: Store) -> None:
        register(store, "husam", EntityKind.HUMAN, aliases=["H"])
        assert register(store, "ann", owner="H").owner == "husam"

    @pytest.mark.parametrize("used_name", ["ann", "annie", "0.0.7"])
    @pytest.mark.parametrize("as_alias", [False, True])
    def test_names_and_aliases_share_one_namespace(self, store: Store, used_name: str, as_alias: bool) -> None:
        register(store, "ann", aliases=["annie", "0.0.7"])
        name, aliases = ("bob", ["free", used_name]) if as_alias else (used_name, ["free"])
        with pytest.raises(Conflict, match=f"the name '{used_name}' is taken"):
            register(store, name, EntityKind.HUMAN, aliases=aliases)
        assert [entity.name for entity in store.read_sync(directory.list_page, retired=True)] == ["ann"]
        assert register(store, "free").name == "free"

    def test_the_error_says_whose_alias_it_is(self, store: Store) -> None:
        register(store, "ann", aliases=["annie"])
        with pytest.raises(Conflict, match="an alias of 'ann'"):
            register(store, "annie")

    def test_a_retired_name_stays_taken(self, store: Store) -> None:
        register(store, "ann", aliases=["annie"])
        store.run_sync(directory.retire, "ann")
        for name in ("ann", "annie"):
            with pytest.raises(Conflict):
                register(store, name)

    @check_cases(
        "fields",
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
    def test_what_is_wrong_is_refused_and_nothing_is_stored(self, store: Store, fields: dict[str, object]) -> None:
        with pytest.raises(Invalid):
            store.run_sync(directory.register, EntitySpec(kind=EntityKind.AGENT, **fields))  # type: ignore[arg-type]
        assert store.read_sync(directory.list_page, retired=True) == []

    def test_an_owner_must_be_there_to_be_told(self, store: Store) -> None:
        register(store, "husam", EntityKind.HUMAN)
        store.run_sync(directory.retire, "husam")
        with pytest.raises(Refused, match="'husam' is retired"):
            register(store, "ann", owner="husam")

    def test_aliases_are_counted_as_they_are_given(self, store: Store) -> None:
        register(store, "ann")
        with pytest.raises(Invalid, match="51 aliases are too many"):
            register(store, "bob", aliases=["b"] * 51)
        with pytest.raises(Invalid, match="51 aliases are too many"):
            store.run_sync(directory.update, "ann", aliases=[f"a{number}" for number in range(51)])
        assert store.run_sync(directory.show, "ann").aliases == ()


class TestFinding:
    def test_an_unknown_name_is_met_with_the_nearest_ones(self, store: Store) -> None:
        for name in ("analyst", "designer", "developer"):
            register(store, name)
        with pytest.raises(UnknownAddress, match="there is no entity 'analist'") as error:
            store.read_sync(directory.find, "analist")
        assert error.value.hint == "did you mean 'analyst'?"

    def test_aliases_are_near_too_and_the_retired_are_not(self, store: Store) -> None:
        register(store, "ann", aliases=["bookkeeper"])
        register(store, "bookkeeping")
        store.run_sync(directory.retire, "bookkeeping")
        with pytest.raises(UnknownAddress) as error:
            store.read_sync(directory.find, "bookeeper")
        assert error.value.hint == "did you mean 'bookkeeper'?"

    def test_with_nobody_near_the_hint_says_where_to_look(self, store: Store) -> None:
        register(store, "ann")
        with pytest.raises(UnknownAddress) as error:
            store.read_sync(directory.find, "xyzzy")
        assert "agent list" in str(error.value.hint)

    @check_cases("address", ["*", "ALL", "team:red", "", "a b", "a\x00b", "\ud800", "é"])
    def test_only_one_entity_can_be_found(self, store: Store, address: str) -> None:
        with pytest.raises(Invalid):
            store.read_sync(directory.find, address)

    def test_entities_are_listed_in_order_of_registration(self, store: Store) -> None:
        for name, kind, team in (
            ("z", EntityKind.AGENT, "red"),
            ("y", EntityKind.HUMAN, "red"),
            ("x", EntityKind.AGENT, None),
        ):
            register(store, name, kind, team=team, aliases=[f"{name}-1"])
        store.run_sync(directory.retire, "z")

        def list_names(**filters: object) -> list[str]:
            return [entity.name for entity in store.read_sync(directory.list_page, **filters)]  # type: ignore[arg-type]

        assert list_names() == ["y", "x"]
        assert list_names(retired=True) == ["z", "y", "x"]
        assert list_names(kind=EntityKind.AGENT, retired=True) == ["z", "x"]
        assert list_names(team="red") == ["y"]
        first, *_ = store.read_sync(directory.list_page, retired=True, limit=1)
        assert list_names(after=first.number, limit=1) == ["y"]
        assert first.aliases == ("z-1",)

    def test_addresses_are_resolved_together(self, store: Store) -> None:
        register(store, "ann", team="red", role="lead", aliases=["annie"])
        register(store, "bob", team="red")
        register(store, "cem", EntityKind.HUMAN, team="red", role="lead")
        addresses: list[Address] = [
            EntityAddress("annie"),
            EntityAddress("nobody"),
            TeamAddress("red"),
            TeamAddress("red", "lead"),
            TeamAddress("blue"),
            AllAgentsAddress(),
        ]

        def list_names(tx: Reader) -> dict[str, list[str]]:
            entities_by_address = directory.resolve(tx, addresses)
            return {
                str(address): [entity.name for entity in entities] for address, entities in entities_by_address.items()
            }

        assert store.read_sync(list_names) == {
            "annie": ["ann"],
            "team:red": ["ann", "bob", "cem"],
            "team:red/lead": ["ann", "cem"],
            "team:blue": [],
        }


class TestRetiring:
    def test_the_retired_keep_their_history_and_receive_nothing(self, store: Store, kit: Kit) -> None:
        register(store, "ann", aliases=["annie"])
        store.run_sync(push.push_event, Push(to="ann", source="test", content="before"))
        assert store.run_sync(directory.retire, "annie").retired_at == kit.clock.now()
        assert not store.read_sync(directory.find, "ann").is_live
        for attempt in ("ann", "annie"):
            with pytest.raises(Refused, match="'ann' is retired"):
                store.run_sync(push.push_event, Push(to=attempt, source="test"))
        with pytest.raises(Refused):
            store.run_sync(inbox.claim, "ann", owner="me")
        assert [item.event.content for item in store.read_sync(inbox.peek, "ann")] == ["before"]

    def test_nobody_retires_twice(self, store: Store) -> None:
        register(store, "ann")
        store.run_sync(directory.retire, "ann")
        with pytest.raises(Conflict, match="retired already"):
            store.run_sync(directory.retire, "ann")

    def test_the_administrator_stays(self, store: Store) -> None:
        register(store, "admin", EntityKind.HUMAN, aliases=["root"])
        with pytest.raises(Refused):
            store.run_sync(directory.retire, "root")

    def test_the_retired_never_block_a_fan_out(self, store: Store) -> None:
        for name in ("ann", "bob", "cem"):
            register(store, name, team="red")
        store.run_sync(directory.retire, "bob")
        pushed = store.run_sync(push.push_event, Push(to="team:red", source="test"))
        assert [delivery.name for delivery in pushed.deliveries] == ["ann", "cem"]

    def test_a_team_of_the_retired_is_nobody(self, store: Store) -> None:
        register(store, "ann", team="red")
        store.run_sync(directory.retire, "ann")
        with pytest.raises(GatepostError, match="no entity is in 'team:red'"):
            store.run_sync(push.push_event, Push(to="team:red", source="test"))


class TestALongerDisplayName:
    @pytest.mark.parametrize("to", ["ann", "*"])
    @pytest.mark.parametrize("is_claimed", [False, True])
    def test_does_not_let_a_batch_outgrow_its_budget(self, store: Store, to: str, is_claimed: bool) -> None:
        for name, kind in (("husam", EntityKind.HUMAN), ("ann", EntityKind.AGENT)):
            register(store, name, kind)
        for number in range(20):
            store.run_sync(push.push_event, Push(to=to, source="test", sender="husam", content=f"{number} {'x' * 300}"))
        claim = store.run_sync(inbox.claim, "ann", owner="first", budget=6_000).claim if is_claimed else None
        store.run_sync(directory.update, "husam", display="Husam \u00df" + " of the long name" * 10)
        if claim is not None:
            store.run_sync(inbox.release, claim.id, owner=claim.owner, fence=claim.fence)
        batch = store.run_sync(inbox.claim, "ann", owner="second", budget=6_000)
        text = render.render_batch(
            batch.items, at=batch.at, deferred_count=batch.deferred_count, size_limits=batch.size_limits
        )
        assert 3_000 < len(text) <= 6_000
