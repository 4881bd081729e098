"""Spaces: their members, their messages, and who hears them."""

import pytest
from msgspec import to_builtins

from gatepost.core.json_limits import Json
from gatepost.core.ports import Store, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import EventType, Trust
from gatepost.inbox.event_api import EventView
from gatepost.spaces import actions as spaces, space as rules
from gatepost.spaces.api import MessageView
from gatepost.spaces.commands import _build_line
from gatepost.testing import Kit
from tests.residents.tools.tool_caller import continue_chain

PEOPLE = ("admin", "husam", "ana")
AGENTS = ("designer", "developer", "analyst")


@pytest.fixture
def store(kit: Kit) -> Store:
    """An office of people and agents, and a space in which all but the administrator are."""
    for name in PEOPLE:
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN, display=name.title()))
    for name in AGENTS:
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    kit.store.run_sync(spaces.create, name="Project Alpha", id="alpha", members=[*PEOPLE[1:], *AGENTS])
    kit.signal_sink.clear()
    return kit.store


def post_message(store: Store, content: str = "Let's finalize the Q4 report", by: str = "husam") -> int:
    return store.run_sync(spaces.post, "alpha", sender=by, content=content).seq


def list_contents(store: Store, name: str) -> list[str]:
    return [item.event.content for item in store.read_sync(inbox.peek, name)]


class TestMaking:
    def test_it_is_found_again_by_its_id_or_its_title(self, store: Store) -> None:
        alpha = store.read_sync(spaces.show, "alpha")
        assert store.run_sync(spaces.ensure, "alpha", members=["admin"]) == alpha
        assert store.run_sync(spaces.ensure, "Project Alpha", members=["husam"]) == alpha
        assert "admin" in {member.name for member in store.read_sync(spaces.list_members, "alpha")}
        titles = ("Project Beta", "Project Beta!", "プロジェクト", "ALL", "project-gamma")
        new_spaces = [store.run_sync(spaces.ensure, title, members=["husam"]) for title in titles]
        assert [space.name for space in new_spaces] == list(titles)
        assert [new_spaces[0].id, new_spaces[4].id] == ["project-beta", "project-gamma"]
        assert [store.run_sync(spaces.ensure, title).id for title in titles] == [space.id for space in new_spaces]

    def test_a_space_has_the_id_that_its_name_suggests(self, store: Store) -> None:
        space = store.run_sync(spaces.create, name="Q4 Report: the Münster office!", members=["husam"])
        assert space.id == "q4-report-the-munster-office"
        assert space.name == "Q4 Report: the Münster office!"
        assert store.read_sync(spaces.show, space.id) == space

    def test_a_name_without_such_letters_does_as_well(self, store: Store) -> None:
        space = store.run_sync(spaces.create, name="四半期")
        assert space.id.startswith("spc_")
        assert store.read_sync(spaces.show, space.id).name == "四半期"

    def test_an_id_is_given_once(self, store: Store) -> None:
        with pytest.raises(Conflict):
            store.run_sync(spaces.create, name="alpha")

    def test_a_name_is_something_to_show(self, store: Store) -> None:
        for name in ("", " ", "a\nb", "x" * 201, "a\x00b", "\ud800"):
            with pytest.raises(Invalid):
                store.run_sync(spaces.create, name=name)

    def test_an_id_is_a_name(self, store: Store) -> None:
        for id in ("", "Alpha", "a b", "-a", "a\x00", "all", "x" * 64):
            with pytest.raises(Invalid):
                store.run_sync(spaces.create, name="Beta", id=id)
            with pytest.raises(Invalid):
                store.read_sync(spaces.show, id)

    def test_everybody_in_it_must_be_there(self, store: Store) -> None:
        store.run_sync(directory.retire, "ana")
        for member, error_type in (("anna", UnknownAddress), ("ana", Refused), ("team:x", Invalid)):
            with pytest.raises(error_type):
                store.run_sync(spaces.create, name="Beta", members=["husam", member])
        with pytest.raises(NotFound):
            store.read_sync(spaces.show, "beta")

    def test_a_long_name_is_cut_to_an_id(self) -> None:
        assert rules.make_id("a" * 62 + " b") == "a" * 62
        assert rules.make_id("...") is None


class TestMembers:
    def test_are_listed_in_the_order_in_which_they_joined(self, kit: Kit, store: Store) -> None:
        kit.clock.advance("1 minute")
        store.run_sync(spaces.join, "alpha", "admin")
        names = [member.name for member in store.read_sync(spaces.list_members, "alpha", viewer="ana")]
        assert names == ["husam", "ana", *AGENTS, "admin"]

    def test_joining_twice_changes_nothing(self, kit: Kit, store: Store) -> None:
        post_message(store)
        before = store.run_sync(spaces.mark_read, "alpha", "ana", 1)
        kit.clock.advance("1 minute")
        assert store.run_sync(spaces.join, "alpha", "ana") == before

    def test_a_newcomer_reads_all_and_has_nothing_unread(self, store: Store) -> None:
        post_message(store)
        store.run_sync(spaces.join, "alpha", "admin")
        assert len(store.read_sync(spaces.read, "alpha", viewer="admin")) == 1
        assert store.read_sync(spaces.count_unread, "admin") == {"alpha": 0}

    def test_only_they_may_look(self, store: Store) -> None:
        for query in (spaces.show, spaces.list_members, spaces.read):
            with pytest.raises(Refused):
                store.read_sync(query, "alpha", viewer="admin")
        with pytest.raises(Refused):
            store.run_sync(spaces.mark_read, "alpha", "admin", 0)
        assert store.read_sync(spaces.list_page, viewer="admin") == []
        assert [space.id for space in store.read_sync(spaces.list_page, viewer="ana")] == ["alpha"]
        assert [space.id for space in store.read_sync(spaces.list_page)] == ["alpha"]

    def test_one_who_has_left_hears_and_reads_nothing_more(self, store: Store) -> None:
        post_message(store, "one")
        store.run_sync(spaces.leave, "alpha", "analyst")
        post_message(store, "two")
        assert list_contents(store, "analyst") == ["one"]
        assert list_contents(store, "designer") == ["one", "two"]
        with pytest.raises(Refused):
            store.read_sync(spaces.read, "alpha", viewer="analyst", after_seq=1)
        with pytest.raises(Refused):
            post_message(store, by="analyst")
        with pytest.raises(NotFound):
            store.run_sync(spaces.leave, "alpha", "analyst")

    def test_a_retired_one_blocks_nobody_and_gets_nothing(self, store: Store) -> None:
        store.run_sync(directory.retire, "analyst")
        post_message(store)
        assert len(list_contents(store, "designer")) == 1
        assert store.read_sync(inbox.list_page, "analyst") == []
        assert "analyst" not in [member.name for member in store.read_sync(spaces.list_members, "alpha")]
        with pytest.raises(Refused):
            post_message(store, by="analyst")
        with pytest.raises(Refused):
            store.read_sync(spaces.read, "alpha", viewer="analyst")
        store.run_sync(spaces.leave, "alpha", "analyst")

    def test_pages_go_on_after_a_number(self, store: Store) -> None:
        for name in ("beta", "gamma", "delta"):
            store.run_sync(spaces.create, name=name, members=["ana"])
        first = store.read_sync(spaces.list_page, viewer="ana", limit=2)
        rest = store.read_sync(spaces.list_page, viewer="ana", after=first[-1].number)
        assert [space.id for space in (*first, *rest)] == ["alpha", "beta", "gamma", "delta"]


class TestPosting:
    def test_a_message_reaches_exactly_the_other_agents_once_each(self, kit: Kit, store: Store) -> None:
        post_message(store)
        post_message(store, "On it.", by="analyst")
        assert {name: len(store.read_sync(inbox.list_page, name)) for name in (*PEOPLE, *AGENTS)} == {
            "admin": 0,
            "husam": 0,
            "ana": 0,
            "designer": 2,
            "developer": 2,
            "analyst": 1,
        }
        assert all(account.is_balanced for account in store.read_sync(account_actions.list_accounts))
        signals = [(signal.topic.recipient, signal.cause) for signal in kit.signal_sink.clear()]
        assert sorted(signals[:4]) == sorted((name, "space_message") for name in (*AGENTS, "space:alpha"))

    def test_the_event_says_all_that_the_wire_needs(self, store: Store) -> None:
        message = store.run_sync(
            spaces.post, "alpha", sender="husam", content="Hello", data={"n": 1}, trust=Trust.OWNER
        )
        [item] = store.read_sync(inbox.peek, "analyst")
        event = item.event
        assert (event.type, event.source, event.dedup_key) == (EventType.SPACE_MESSAGE, "alpha", f"msg:{message.id}")
        assert (event.hops, event.trust) == (0, Trust.OWNER)
        document = to_builtins(EventView.of(item))
        assert document["data"] == {
            "spaceId": "alpha",
            "spaceName": "Project Alpha",
            "messageId": message.id,
            "senderEntityId": "husam",
            "senderName": "Husam",
            "senderType": "human",
            "content": "Hello",
        }
        assert document["extra"] == {"seq": 1}
        [stored_message] = store.read_sync(spaces.read, "alpha")
        assert stored_message == message

    def test_a_batch_reads_as_the_source_document_has_it(self, store: Store) -> None:
        post_message(store)
        batch = store.run_sync(inbox.claim, "analyst", owner="session")
        assert str(batch).splitlines()[1] == (
            '[Project Alpha] Husam (human): "Let\'s finalize the Q4 report" (space alpha, message 1)'
        )

    def test_a_chain_that_is_too_long_does_not_wake(self, kit: Kit, store: Store) -> None:
        with continue_chain(store, "designer", 17):
            kit.signal_sink.clear()
            store.run_sync(spaces.post, "alpha", sender="designer", content="again")
            signals = kit.signal_sink.clear()
        assert {signal.topic.recipient: signal.wakes for signal in signals} == {
            "developer": False,
            "analyst": False,
            "admin": True,
            "space:alpha": True,
        }

    def test_nobody_else_may_speak(self, kit: Kit, store: Store) -> None:
        for sender, error_type in (("admin", Refused), ("nobody", UnknownAddress), ("*", Invalid)):
            with pytest.raises(error_type):
                post_message(store, by=sender)
        with pytest.raises(Refused, match="not a member of the space 'beta'"):  # as of one that is there
            store.run_sync(spaces.post, "beta", sender="husam", content="?")
        assert store.read_sync(spaces.show, "alpha").last_seq == 0
        assert kit.signal_sink.clear() == []

    def test_what_cannot_be_stored_takes_no_number(self, store: Store) -> None:
        cases: list[tuple[str, Json, type[Exception]]] = [
            ("", None, Invalid),
            ("a\x00b", None, Invalid),
            ("\ud800", None, Invalid),
            ("x" * (256 * 1024 + 1), None, TooLarge),
            ("x", "y" * (1024 * 1024), TooLarge),
            ("x", {"n": "\x00"}, Invalid),
            ("x", float("nan"), Invalid),
        ]
        for content, data, error_type in cases:
            with pytest.raises(error_type):
                store.run_sync(spaces.post, "alpha", sender="husam", content=content, data=data)
        assert post_message(store) == 1
        assert len(list_contents(store, "analyst")) == 1

    def test_a_failure_later_in_the_transaction_takes_the_number_back(self, kit: Kit, store: Store) -> None:
        def post_and_fail(tx: Transaction) -> None:
            spaces.post(tx, "alpha", sender="husam", content="never")
            raise RuntimeError

        with pytest.raises(RuntimeError):
            store.run_sync(post_and_fail)
        assert kit.signal_sink.clear() == []
        assert post_message(store) == 1
        assert list_contents(store, "analyst") == ["Let's finalize the Q4 report"]

    def test_the_name_of_a_message_is_its_senders_of_today(self, store: Store) -> None:
        post_message(store)
        store.run_sync(directory.update, "husam", display="Husam A.")
        [message] = store.read_sync(spaces.read, "alpha")
        assert message.sender_display == "Husam A."


class TestReading:
    def test_pages_by_number_oldest_first(self, store: Store) -> None:
        for number in range(1, 11):
            post_message(store, str(number))

        def list_seqs(**bounds: int) -> list[int]:
            return [message.seq for message in store.read_sync(spaces.read, "alpha", viewer="ana", **bounds)]

        assert list_seqs() == list(range(1, 11))
        assert list_seqs(limit=3) == [8, 9, 10]
        assert list_seqs(before_seq=8, limit=3) == [5, 6, 7]
        assert list_seqs(after_seq=0, limit=3) == [1, 2, 3]
        assert list_seqs(after_seq=3, before_seq=6) == [4, 5]
        assert list_seqs(after_seq=10) == []
        assert list_seqs(before_seq=1) == []
        assert list_seqs(after_seq=-(2**70)) == list(range(1, 11))
        assert list_seqs(after_seq=2**70) == []
        assert list_seqs(before_seq=2**70, limit=1) == [10]

    def test_read_marks_never_go_back(self, store: Store) -> None:
        for _ in range(3):
            post_message(store)
        assert store.read_sync(spaces.count_unread, "ana") == {"alpha": 3}
        assert store.run_sync(spaces.mark_read, "alpha", "ana", 2).read_seq == 2
        assert store.run_sync(spaces.mark_read, "alpha", "ana", 1).read_seq == 2
        assert store.read_sync(spaces.count_unread, "ana") == {"alpha": 1}
        for seq in (-1, 4, 2**70):
            with pytest.raises(Invalid):
                store.run_sync(spaces.mark_read, "alpha", "ana", seq)

    def test_what_one_says_oneself_is_read_by_whoever_had_read_the_rest(self, store: Store) -> None:
        post_message(store, by="ana")
        assert store.read_sync(spaces.count_unread, "ana") == {"alpha": 0}
        assert store.read_sync(spaces.count_unread, "husam") == {"alpha": 1}
        post_message(store, by="husam")
        assert store.read_sync(spaces.count_unread, "husam") == {"alpha": 2}

    def test_people_have_unread_counts_and_no_items(self, store: Store) -> None:
        post_message(store, by="designer")
        for name in ("husam", "ana"):
            assert store.read_sync(inbox.list_page, name) == []
            assert store.read_sync(spaces.count_unread, name) == {"alpha": 1}


class TestChanging:
    def test_a_new_name_leaves_the_id(self, store: Store) -> None:
        assert store.run_sync(spaces.rename, "alpha", "Project Omega").id == "alpha"
        assert store.read_sync(spaces.show, "alpha").name == "Project Omega"
        with pytest.raises(Invalid):
            store.run_sync(spaces.rename, "alpha", "\n")

    def test_an_archived_space_is_read_and_nothing_else(self, kit: Kit, store: Store) -> None:
        post_message(store)
        kit.clock.advance("1 minute")
        space = store.run_sync(spaces.archive, "alpha")
        assert space.archived_at == kit.clock.now()
        assert store.read_sync(spaces.show, "alpha", viewer="ana") == space
        for call in (
            lambda: post_message(store),
            lambda: store.run_sync(spaces.join, "alpha", "admin"),
            lambda: store.run_sync(spaces.rename, "alpha", "Beta"),
            lambda: store.run_sync(spaces.archive, "alpha"),
        ):
            with pytest.raises(Conflict):
                call()
        assert len(store.read_sync(spaces.read, "alpha", viewer="ana")) == 1
        assert store.run_sync(spaces.mark_read, "alpha", "ana", 1).read_seq == 1
        store.run_sync(spaces.leave, "alpha", "ana")

    def test_that_a_space_is_archived_is_for_its_members_to_know(self, store: Store) -> None:
        store.run_sync(spaces.archive, "alpha")
        for call in (
            lambda: post_message(store, by="admin"),
            lambda: store.run_sync(spaces.mark_read, "alpha", "admin", 0),
            lambda: store.read_sync(spaces.read, "alpha", viewer="admin"),
            lambda: store.read_sync(spaces.list_members, "alpha", viewer="admin"),
            lambda: store.read_sync(spaces.show, "alpha", viewer="admin"),
        ):
            with pytest.raises(Refused, match="not a member"):
                call()

    def test_whoever_reads_along_is_told_of_every_change(self, kit: Kit, store: Store) -> None:
        store.run_sync(spaces.join, "alpha", "admin")
        store.run_sync(spaces.leave, "alpha", "admin")
        store.run_sync(spaces.rename, "alpha", "Beta")
        store.run_sync(spaces.archive, "alpha")
        assert kit.signal_sink.clear() == [
            Signal(Topic("space", "alpha"), cause) for cause in ("join", "leave", "rename", "archive")
        ]


def test_a_message_on_one_line_has_nothing_that_is_for_programs(store: Store) -> None:
    for data in ({"streamId": "c1", "runId": "run_1"}, {"streamId": "c1", "file": "q4.csv"}, None, [1]):
        store.run_sync(spaces.post, "alpha", sender="analyst", content="4.2M", data=data)
    texts = [_build_line(MessageView.of(row)).partition(": ")[2] for row in store.read_sync(spaces.read, "alpha")]
    assert texts == ['"4.2M"', '"4.2M" {"file":"q4.csv"}', '"4.2M"', '"4.2M" [1]']
