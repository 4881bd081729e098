"""Export and import: everything arrives, once, and the accounts balance, also of what is no longer there."""

from typing import Any

import pytest

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.actions.merge import Taken
from gatepost.core.entity import EntityKind
from gatepost.core.event import Push
from gatepost.errors import Conflict, Invalid
from gatepost.ports import Store
from gatepost.testing import Kit
from tests.acceptance.transfer_helpers import (
    assert_healthy,
    export_lines,
    fill_store,
    import_lines,
    list_items,
    read_accounts,
)


class TestBetweenStores:
    @pytest.fixture(params=["from", "to"])
    def stores(self, kit: Kit, request: pytest.FixtureRequest) -> Any:
        """A furnished store and an empty one; one of them on each database in turn."""
        with Kit(clock=kit.clock) as other_kit:
            source, target = (kit, other_kit) if request.param == "from" else (other_kit, kit)
            fill_store(source)
            yield source.store, target

    def test_everything_arrives(self, stores: tuple[Store, Kit]) -> None:
        source, target = stores[0], stores[1].store
        totals = import_lines(target, export_lines(source))
        assert totals == Taken(entities=6, events=12, items=14)
        assert list_items(target) == list_items(source)
        assert target.query(directory.page, retired=True) == source.query(directory.page, retired=True)
        assert {name: account[1:] for name, account in read_accounts(target).items()} == {
            name: account[1:] for name, account in read_accounts(source).items()
        }
        assert read_accounts(target)["ana"] == (12, 5, 2, 1, 2)
        assert_healthy(target)

    def test_twice_is_once(self, stores: tuple[Store, Kit]) -> None:
        source, target = stores[0], stores[1].store
        lines = export_lines(source)
        import_lines(target, lines)
        before = list_items(target), read_accounts(target)
        assert import_lines(target, lines) == Taken(known=14)
        assert (list_items(target), read_accounts(target)) == before

    def test_twice_is_once_also_when_what_ended_was_reaped(self, stores: tuple[Store, Kit]) -> None:
        source, kit = stores
        lines = export_lines(source)
        import_lines(kit.store, lines)
        before = read_accounts(kit.store)
        kit.clock.advance("2 days")
        assert kit.store.call(maintenance.reap) > 0
        assert read_accounts(kit.store) == before
        import_lines(kit.store, lines)
        assert read_accounts(kit.store) == before
        assert_healthy(kit.store)

    def test_cut_off_anywhere_and_run_again(self, stores: tuple[Store, Kit]) -> None:
        source, target = stores[0], stores[1].store
        lines = export_lines(source)
        for cut in range(1, len(lines), 5):
            with pytest.raises(Invalid, match="the rest is missing"):
                import_lines(target, lines[:cut])
            read_accounts(target)
        import_lines(target, lines)
        assert list_items(target) == list_items(source)
        assert_healthy(target)

    def test_into_itself_changes_nothing(self, stores: tuple[Store, Kit]) -> None:
        source = stores[0]
        before = list_items(source)
        assert import_lines(source, export_lines(source)) == Taken(known=14)
        assert list_items(source) == before
        batch = source.call(inbox.claim, "cat", owner="s-3")
        assert [item.event.content for item in batch.items] == ["to all"]
        assert_healthy(source)

    def test_what_waited_is_read_once(self, stores: tuple[Store, Kit]) -> None:
        source, kit = stores
        import_lines(kit.store, export_lines(source))
        kit.store.call(push.push_event, Push(to="*", source="test", content="a new one"))
        batch = kit.store.call(inbox.claim, "ben", owner="s-3")
        contents = [item.event.content for item in batch.items]
        assert contents == ["to all", "to a team", "being read", "a new one"]
        assert kit.store.call(inbox.claim, "ben", owner="s-4").claim is None
        assert [signal.recipient for signal in kit.signal_sink.signals if signal.cause == "import"] == [
            "husam",
            "ana",
            "ben",
            "cat",
            "old",
        ]


class TestMerging:
    @pytest.fixture
    def lines(self) -> list[bytes]:
        with Kit() as kit:
            fill_store(kit)
            return export_lines(kit.store)

    def test_what_is_here_stays(self, kit: Kit, lines: list[bytes]) -> None:
        store = kit.store
        store.call(
            directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT, display="Ana of here", aliases=["bead-9"])
        )
        local_event = store.call(push.push_event, Push(to="ana", source="here", content="mine", key="team")).event
        import_lines(store, lines)
        ana = store.query(directory.show, "ana")
        assert (ana.display, ana.team, ana.aliases) == ("Ana of here", None, ("bead-1", "bead-2", "bead-9"))
        keyed_items = [item for item in store.query(inbox.page, "ana", limit=100) if item.event.key == "team"]
        assert [item.event.id for item in keyed_items] == [local_event]
        assert store.query(inbox.page, "ana")[0].event.id == local_event
        assert_healthy(store)

    def test_history_is_not_lost_for_one_who_is_here(self, kit: Kit, lines: list[bytes]) -> None:
        kit.store.call(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
        import_lines(kit.store, lines)
        assert read_accounts(kit.store)["ana"][1] == 5

    @pytest.mark.parametrize(
        ("newcomer", "message"),
        [
            (EntitySpec(name="ana", kind=EntityKind.HUMAN), "line 4: 'ana' is of the kind human here, not agent"),
            (EntitySpec(name="x", kind=EntityKind.AGENT, aliases=["ana"]), "line 4: 'ana' is an alias of 'x' here"),
            (
                EntitySpec(name="x", kind=EntityKind.AGENT, aliases=["bead-1"]),
                "line 4: the alias 'bead-1' of 'ana' is taken by 'x'",
            ),
        ],
    )
    def test_what_cannot_be_merged(self, lines: list[bytes], newcomer: EntitySpec, message: str) -> None:
        with Kit() as kit:
            kit.store.call(directory.register, newcomer)
            with pytest.raises(Conflict, match=message):
                import_lines(kit.store, lines)
            assert len(kit.store.query(directory.page)) == 1
