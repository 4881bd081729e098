"""How something gets into inboxes: what is accepted, what is a repeat, what is refused."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from gatepost.core.policy import Policy
from gatepost.core.ports import Store
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, Invalid, Refused, TooLarge, UnknownAddress
from gatepost.inbox import account_actions, claim_actions as inbox
from gatepost.inbox.event import Delivery, EventType, Item, ItemState, Priority, Push, PushResult, Ref, Route, Trust
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention


@pytest.fixture
def store(kit: Kit) -> Store:
    """Two agents of a team, a person, and the administrator, whom they belong to."""
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam", team="red"))
    for name in ("ann", "bob"):
        kit.store.run_sync(
            directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="red", aliases=[f"{name}-1"])
        )
    return kit.store


def build_push(content: str = "tea", to: str = "ann", **fields: Any) -> Push:
    return Push(to=to, source="test", content=content, **fields)


def list_waiting(store: Store, name: str = "ann") -> list[Item]:
    return store.read_sync(inbox.peek, name, limit=1_000)


def list_texts(store: Store, name: str = "ann") -> list[str]:
    return [item.event.content for item in list_waiting(store, name)]


def is_empty(store: Store) -> bool:
    return all(account.accepted == account.total == 0 for account in store.read_sync(account_actions.list_accounts))


class TestAccepting:
    def test_an_event_comes_back_as_it_was_pushed(self, store: Store, kit: Kit) -> None:
        pushed = store.run_sync(
            push.push_event,
            build_push(
                "a\nb\u2028 \U0001f984",
                type=EventType.MAIL,
                sender="husam",
                subject="s",
                data={"mailId": "m_1", "list": [1, 2.5, None, "\U0001f984"]},
                priority=Priority.HIGH,
                dedup_key="k",
                ttl=HOUR,
                ref=Ref("task", "1"),
                route=Route("telegram", "chat-1"),
                hops=3,
                trust=Trust.EXTERNAL,
            ),
        )
        [item] = list_waiting(store)
        event = item.event
        assert pushed.deliveries == (Delivery("ann", event.id, duplicate=False),)
        assert (event.content, event.subject, event.type, event.source) == (
            "a\nb\u2028 \U0001f984",
            "s",
            "mail",
            "test",
        )
        assert event.data == {"mailId": "m_1", "list": [1, 2.5, None, "\U0001f984"]}
        assert event.sender is not None
        assert (event.sender.name, event.sender.display, event.sender.kind) == ("husam", "Husam", EntityKind.HUMAN)
        assert (event.priority, event.dedup_key, event.trust, event.hops) == (1, "k", "external", 3)
        assert (event.created_at, event.expires_at) == (kit.clock.now(), kit.clock.now() + HOUR)
        assert (event.ref, event.route, event.wakes) == (Ref("task", "1"), Route("telegram", "chat-1"), True)
        assert kit.signal_sink.signals[-1] == Signal(Topic("inbox", "ann"), "mail", event, wakes=True)

    def test_a_team_gets_it_but_the_sender_does_not(self, store: Store) -> None:
        pushed = store.run_sync(push.push_event, build_push(to="team:red", sender="ann"))
        assert [delivery.name for delivery in pushed.deliveries] == ["husam", "bob"]
        assert list_texts(store) == []
        assert {delivery.event for delivery in pushed.deliveries} == {pushed.event}

    def test_alone_in_a_team_nobody_hears_it(self, store: Store) -> None:
        store.run_sync(directory.register, EntitySpec(name="solo", kind=EntityKind.AGENT, team="blue"))
        assert store.run_sync(push.push_event, build_push(to="team:blue", sender="solo")).deliveries == ()
        assert is_empty(store)

    def test_one_may_write_to_oneself(self, store: Store) -> None:
        store.run_sync(push.push_event, build_push("note to self", to="ann", sender="ann"))
        assert list_texts(store) == ["note to self"]

    def test_an_alias_is_as_good_as_a_name(self, store: Store) -> None:
        [delivery] = store.run_sync(push.push_event, build_push(to="ann-1", sender="bob-1")).deliveries
        assert delivery.name == "ann"
        [item] = list_waiting(store)
        assert item.event.sender is not None
        assert item.event.sender.name == "bob"

    def test_an_fyi_does_not_wake(self, store: Store, kit: Kit) -> None:
        store.run_sync(push.push_event, build_push(priority=Priority.FYI))
        assert not kit.signal_sink.signals[-1].wakes
        assert not list_waiting(store)[0].event.wakes

    def test_order_is_priority_then_arrival(self, store: Store) -> None:
        for number, priority in enumerate([2, 4, 0, 2, 1, 3, 0]):
            store.run_sync(push.push_event, build_push(str(number), priority=Priority(priority)))
        assert list_texts(store) == ["2", "6", "4", "0", "3", "5", "1"]

    def test_a_list_keeps_its_order_also_with_a_broadcast_in_it(self, store: Store) -> None:
        store.run_sync(
            push.push_all, [build_push("1"), build_push("2", to="*"), build_push("3"), build_push("4", to="team:red")]
        )
        assert list_texts(store) == ["1", "2", "3", "4"]


class TestRepeats:
    def test_a_repeat_changes_nothing_and_says_so(self, store: Store, kit: Kit) -> None:
        first = store.run_sync(push.push_event, build_push("first", dedup_key="k"))
        kit.signal_sink.clear()
        repeat = store.run_sync(
            push.push_event, build_push("second", dedup_key="k", priority=Priority.CRITICAL, hops=99)
        )
        assert repeat == PushResult(first.event, (Delivery("ann", first.event, duplicate=True),))
        assert list_texts(store) == ["first"]
        assert list_texts(store, "admin") == []
        assert kit.signal_sink.signals == []

    def test_a_key_is_remembered_per_recipient(self, store: Store) -> None:
        first = store.run_sync(push.push_event, build_push("first", dedup_key="k"))
        pushed = store.run_sync(push.push_event, build_push("second", to="team:red", dedup_key="k"))
        assert pushed.deliveries == (
            Delivery("husam", pushed.event, duplicate=False),
            Delivery("ann", first.event, duplicate=True),
            Delivery("bob", pushed.event, duplicate=False),
        )
        assert (list_texts(store), list_texts(store, "bob")) == (["first"], ["second"])

    def test_repeats_in_one_list_are_seen(self, store: Store) -> None:
        first, second, other = store.run_sync(
            push.push_all,
            [
                build_push("first", dedup_key="k"),
                build_push("second", dedup_key="k"),
                build_push("x", to="bob", dedup_key="k"),
            ],
        )
        assert isinstance(first, PushResult)
        assert second == PushResult(first.event, (Delivery("ann", first.event, duplicate=True),))
        assert isinstance(other, PushResult)
        assert other.deliveries[0].duplicate is False
        assert list_texts(store) == ["first"]

    def test_a_key_is_remembered_a_day_after_delivery_and_then_forgotten(self, store: Store, kit: Kit) -> None:
        store.run_sync(push.push_event, build_push("first", dedup_key="k"))
        batch = store.run_sync(inbox.claim, "ann", owner="me")
        assert batch.claim is not None
        kit.clock.advance("30s")
        store.run_sync(inbox.ack, batch.claim.id, owner="me", fence=batch.claim.fence)
        kit.clock.advance(Policy().remember - 1)
        assert store.run_sync(retention.reap) == 0
        assert store.run_sync(push.push_event, build_push("second", dedup_key="k")).deliveries[0].duplicate
        kit.clock.advance(1)
        assert store.run_sync(retention.reap) > 0
        assert not store.run_sync(push.push_event, build_push("third", dedup_key="k")).deliveries[0].duplicate
        assert list_texts(store) == ["third"]


INVALID_PUSHES: list[tuple[dict[str, Any], type[GatepostError]]] = [
    ({"to": "nobody"}, UnknownAddress),
    ({"to": "team:nowhere"}, UnknownAddress),
    ({"to": "team:red/nobody"}, UnknownAddress),
    ({"to": "A b"}, Invalid),
    ({"to": "\ud800"}, Invalid),
    ({"sender": "nobody"}, UnknownAddress),
    ({"sender": "*"}, Invalid),
    ({"sender": "a\x00b"}, Invalid),
    ({"sender": "\ud800"}, Invalid),
    ({"source": ""}, Invalid),
    ({"source": "x" * 201}, TooLarge),
    ({"subject": "x" * 1_001}, TooLarge),
    ({"dedup_key": ""}, Invalid),
    ({"dedup_key": "x" * 513}, TooLarge),
    ({"ref": Ref("x" * 257, "y")}, TooLarge),
    ({"ref": Ref("", "y")}, Invalid),
    ({"route": Route("telegram", "x" * 257)}, TooLarge),
    ({"route": Route("", "x")}, Invalid),
    ({"hops": -1}, Invalid),
    ({"hops": 10_001}, Invalid),
    ({"ttl": 0}, Invalid),
    ({"ttl": -1}, Invalid),
    ({"ttl": 2**62}, Invalid),
    ({"data": float("nan")}, Invalid),
    ({"data": {"x": float("inf")}}, Invalid),
    ({"data": {"x": {1, 2}}}, Invalid),
    ({"type": EventType.PLAN, "data": {"dueAt": "soon"}}, Invalid),
    ({"type": EventType.PLAN, "data": {"dueAt": 2**62}}, Invalid),
    ({"type": EventType.SPACE_MESSAGE, "data": {"spaceId": 7}}, Invalid),
    ({"type": EventType.SPACE_MESSAGE, "data": {"seq": True}}, Invalid),
]


def build_policy(size: int) -> Policy:
    return Policy(content=size, data=size)


class TestRefusing:
    def test_what_is_wrong_is_refused_and_nothing_is_stored(self, store: Store) -> None:
        for changes, error in INVALID_PUSHES:
            invalid_push = replace(build_push(), **changes)
            with pytest.raises(error):
                store.run_sync(push.push_event, invalid_push)
            assert is_empty(store), changes

    def test_one_bad_wish_fails_alone(self, store: Store) -> None:
        for number, (changes, error) in enumerate(INVALID_PUSHES):
            first_result, bad_result, last_result = store.run_sync(
                push.push_all,
                [build_push(f"{number} a"), replace(build_push(), **changes), build_push(f"{number} b", to="bob")],
            )
            assert isinstance(bad_result, error), changes
            assert isinstance(first_result, PushResult)
            assert isinstance(last_result, PushResult)
        assert list_texts(store) == [f"{number} a" for number in range(len(INVALID_PUSHES))]
        assert list_texts(store, "bob") == [f"{number} b" for number in range(len(INVALID_PUSHES))]

    def test_text_that_no_database_takes_is_refused(self, store: Store) -> None:
        for text in ("a\x00b", "a\ud800b", "\udfff", "\\\x00"):
            fields = [{field: text} for field in ("content", "subject", "source", "dedup_key")]
            payloads: list[Any] = [text, [text], {"deep": [{"x": text}]}, {text: 1}]
            for changes in (*fields, *({"data": data} for data in payloads)):
                with pytest.raises(Invalid):
                    store.run_sync(push.push_event, replace(build_push(), **changes))
        assert is_empty(store)

    def test_text_that_only_looks_like_it_is_not(self, store: Store) -> None:
        for text in ("\\u0000", "\\\\u0000", "\u0001", "\x7f", "\U0001f984"):
            store.run_sync(push.push_event, build_push(text, data={text: text}, subject=text, dedup_key=text))
            event = list_waiting(store)[-1].event
            assert (event.content, event.data, event.subject, event.dedup_key) == (text, {text: text}, text, text)

    def test_limits_are_in_bytes_and_exact(self, kit: Kit, store: Store) -> None:
        limited_store = kit.open(policy=build_policy(40))
        limited_store.run_sync(push.push_event, build_push("é" * 20, data="é" * 19))
        with pytest.raises(TooLarge, match="42 bytes, over the limit of 40"):
            limited_store.run_sync(push.push_event, build_push("é" * 21))
        with pytest.raises(TooLarge, match="42 bytes as JSON, over the limit of 40"):
            limited_store.run_sync(push.push_event, build_push(data="é" * 20))
        assert list_texts(store) == ["é" * 20]

    def test_what_is_as_large_as_can_be_is_read_again(self, store: Store) -> None:
        content, data = "\x01" * Policy().content, "x" * (Policy().data - 2)
        store.run_sync(push.push_event, build_push(content, data=data))
        batch = store.run_sync(inbox.claim, "ann", owner="me", budget=9_000)
        assert (batch.items[0].event.content, batch.items[0].event.data) == (content, data)
        assert len(str(batch).encode()) <= 9_000

    @pytest.mark.parametrize("make", [lambda inner: [inner], lambda inner: {"x": inner}])
    def test_what_is_nested_deep_is_refused_or_can_be_read(self, store: Store, make: Callable[[Any], Any]) -> None:
        data: Any = None
        for depth in range(1_200):
            data = make(data)
            if depth in (50, 200, 400, 800, 900, 950, 990, 1_199):
                try:
                    store.run_sync(push.push_event, build_push(data=data))
                except Invalid:
                    continue
        assert _call_deeply(lambda: len(list_waiting(store)), 300) >= 1

    def test_the_retired_send_nothing(self, store: Store) -> None:
        store.run_sync(directory.retire, "bob")
        with pytest.raises(Refused, match="'bob' is retired"):
            store.run_sync(push.push_event, build_push(sender="bob"))
        assert is_empty(store)


def _call_deeply(action: Callable[[], int], frames: int) -> int:
    """Do something far down the stack, as a handler in a framework does."""
    return _call_deeply(action, frames - 1) if frames else action()


class TestChains:
    def test_a_chain_that_is_too_long_does_not_wake_and_its_owner_is_told_once(self, store: Store, kit: Kit) -> None:
        store.run_sync(push.push_event, build_push("16", hops=16))
        assert list_waiting(store)[0].event.wakes
        kit.signal_sink.clear()
        for hops in (17, 18):
            store.run_sync(push.push_event, build_push(str(hops), hops=hops))
        assert [signal.wakes for signal in kit.signal_sink.signals if signal.topic.recipient == "ann"] == [False, False]
        assert list_texts(store) == ["16", "17", "18"]
        [alert] = list_waiting(store, "admin")
        assert (alert.event.type, alert.event.priority, alert.event.trust) == (
            EventType.ALERT,
            Priority.HIGH,
            Trust.OWNER,
        )
        assert "'ann'" in alert.event.content
        assert list_waiting(store)[1].event.id in alert.event.content

    def test_each_recipient_has_an_owner_to_tell(self, store: Store) -> None:
        store.run_sync(directory.register, EntitySpec(name="cem", kind=EntityKind.AGENT, team="red", owner="husam"))
        store.run_sync(push.push_event, build_push("far", to="team:red", sender="husam", hops=20))
        assert len(list_waiting(store, "admin")) == 2
        assert [item.event.type for item in list_waiting(store, "husam")] == [EventType.ALERT]

    def test_for_an_owner_who_is_retired_the_administrator_is_told(self, store: Store) -> None:
        store.run_sync(directory.register, EntitySpec(name="cem", kind=EntityKind.AGENT, owner="bob"))
        store.run_sync(directory.retire, "bob")
        store.run_sync(push.push_event, build_push("far", to="cem", hops=20))
        assert list_texts(store, "cem") == ["far"]
        [alert] = list_waiting(store, "admin")
        assert "reached 'cem'" in alert.event.content

    def test_states_are_only_known_ones(self) -> None:
        assert set(ItemState) == {"pending", "claimed", "delivered", "expired", "dead", "discarded"}
