"""Whoever follows an inbox sees everything once, wherever they come back."""

import threading
from collections.abc import Iterator

import pytest

from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid, UnknownAddress
from gatepost.inbox import claim_actions as inbox, feed_actions as inbox_feed
from gatepost.inbox.event import ItemState, Push
from gatepost.inbox.feed_actions import FeedPage, Position
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import Kit
from tests.support.races import lift_idle_limit
from tests.support.waits import LAST_RESORT


@pytest.fixture
def store(kit: Kit) -> Store:
    register_entities(kit.store)
    return kit.store


@pytest.fixture
def postgres_kit(empty_postgres_url: str) -> Iterator[Kit]:
    with Kit(empty_postgres_url) as kit:
        register_entities(kit.store)
        yield kit


def register_entities(store: Store) -> None:
    for name in ("ann", "bob"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))


def push_text(store: Store, text: str, to: str = "ann", sender: str | None = None) -> None:
    store.run_sync(push_actions.push_event, Push(to=to, source="test", content=text, sender=sender))


def read_page(store: Store, after: Position, name: str = "ann", limit: int = 100) -> FeedPage:
    return store.read_sync(inbox_feed.read_page, name, after, limit)


def list_texts(page: FeedPage) -> list[str]:
    return [item.event.content for item, _ in page.entries]


def test_everything_after_a_position_in_order(store: Store) -> None:
    push_text(store, "before")
    position = store.read_sync(inbox_feed.read_end)
    for number in range(5):
        push_text(store, str(number))
        push_text(store, "for another", to="bob")
    page = read_page(store, position)
    assert list_texts(page) == ["0", "1", "2", "3", "4"]
    assert not page.has_delayed_items
    assert page.position == store.read_sync(inbox_feed.read_end) > page.entries[-1][1]
    assert read_page(store, page.position) == FeedPage([], page.position, has_delayed_items=False)


def test_every_entry_is_a_place_to_come_back_to(store: Store) -> None:
    start = store.read_sync(inbox_feed.read_end)
    for number in range(6):
        push_text(store, str(number), to="*" if number % 2 else "ann")
    positions = [position for _, position in read_page(store, start).entries]
    assert positions == sorted(set(positions))
    for index, position in enumerate(positions):
        parsed = Position.parse(str(position))
        assert parsed == position
        assert list_texts(read_page(store, parsed)) == [str(number) for number in range(index + 1, 6)]


def test_pages_fit_together(store: Store) -> None:
    position = store.read_sync(inbox_feed.read_end)
    for number in range(10):
        push_text(store, str(number), to="*" if number % 3 == 1 else "ann")
    contents: list[str] = []
    while (page := read_page(store, position, limit=3)).entries:
        contents += list_texts(page)
        position = page.position
    assert contents == [str(number) for number in range(10)]


def test_a_broadcast_is_there_when_it_is_made_and_not_again_when_it_is_taken(store: Store) -> None:
    start = store.read_sync(inbox_feed.read_end)
    push_text(store, "to all", to="*")
    push_text(store, "after it")
    pending_page = read_page(store, start)
    assert list_texts(pending_page) == ["to all", "after it"]
    store.run_sync(inbox.claim, "ann", owner="session")
    claimed_page = read_page(store, start)
    assert list_texts(claimed_page) == ["to all", "after it"]
    assert [item.state for item, _ in claimed_page.entries] == [ItemState.CLAIMED, ItemState.CLAIMED]
    assert [position for _, position in claimed_page.entries] == [position for _, position in pending_page.entries]
    assert list_texts(read_page(store, pending_page.position)) == []


def test_a_broadcast_is_for_every_other_agent_there_was(store: Store) -> None:
    start = store.read_sync(inbox_feed.read_end)
    push_text(store, "mine", to="*", sender="ann")
    store.run_sync(directory.register, EntitySpec(name="late", kind=EntityKind.AGENT))
    assert {name: list_texts(read_page(store, start, name)) for name in ("ann", "bob", "late", "husam")} == {
        "ann": [],
        "bob": ["mine"],
        "late": [],
        "husam": [],
    }


def test_what_has_run_out_of_time_is_shown_as_such_or_never_was(kit: Kit, store: Store) -> None:
    start = store.read_sync(inbox_feed.read_end)
    for to in ("ann", "*"):
        store.run_sync(push_actions.push_event, Push(to=to, source="test", content=to, ttl=60_000_000))
    kit.clock.advance("2 minutes")
    assert [(item.event.content, item.state) for item, _ in read_page(store, start).entries] == [
        ("ann", ItemState.EXPIRED)
    ]


def test_a_person_has_a_feed_too(store: Store) -> None:
    start = store.read_sync(inbox_feed.read_end)
    push_text(store, "please", to="husam")
    [(item, _)] = read_page(store, start, "husam").entries
    assert (item.recipient, item.event.content) == ("husam", "please")


def test_only_what_was_stored_moves_the_position(store: Store) -> None:
    """The number of a transaction that stored nothing may be given again after a crash."""
    push_text(store, "stored")
    position = store.read_sync(inbox_feed.read_end)
    for _ in range(3):
        with pytest.raises(UnknownAddress):
            push_text(store, "refused", to="nobody")
    assert store.read_sync(inbox_feed.read_end) == position


@pytest.mark.parametrize(
    "text",
    ["", "-", "1", "1-", "-1-1", "1-2-3", "01-1", "1 -1", "a-b", "1-1\n", "٣-٤", f"{2**63}-1", f"1-{2**63}", "9" * 40],
)
def test_garbage_is_no_position(text: str) -> None:
    with pytest.raises(Invalid):
        Position.parse(text)


def test_a_place_that_is_not_reached_yet_is_refused(store: Store) -> None:
    push_text(store, "hello")
    for text in (f"{2**62}-0", f"{2**63 - 1}-{2**63 - 1}"):
        with pytest.raises(Invalid):
            read_page(store, Position.parse(text))
    with pytest.raises(UnknownAddress):
        read_page(store, Position(), "nobody")


class SlowTransaction:
    """A verb that pushes at once, or late, and holds its transaction open until it is let go."""

    def __init__(self, store: Store, *, first: bool) -> None:
        self.started, self.may_commit = threading.Event(), threading.Event()
        self._store, self._push_first = store, first
        self._thread = threading.Thread(target=store.run_sync, args=(self._verb,))

    def __enter__(self) -> None:
        self._thread.start()
        assert self.started.wait(LAST_RESORT)

    def __exit__(self, *_: object) -> None:
        self.may_commit.set()
        self._thread.join(LAST_RESORT)

    def _verb(self, tx: Transaction) -> None:
        lift_idle_limit(tx)
        if self._push_first:
            push_actions.push_event(tx, Push(to="ann", source="test", content="slow"))
        self.started.set()
        assert self.may_commit.wait(LAST_RESORT)
        if not self._push_first:
            push_actions.push_event(tx, Push(to="ann", source="test", content="slow"))


@pytest.mark.parametrize("first", [True, False])
def test_an_early_number_that_is_committed_late_is_neither_missed_nor_repeated(postgres_kit: Kit, first: bool) -> None:
    """It takes its arrival first and commits last; or it only began first."""
    store = postgres_kit.store
    start = store.read_sync(inbox_feed.read_end)
    push_text(store, "settled")
    with SlowTransaction(store, first=first):
        push_text(store, "quick")
        push_text(store, "to all", to="*")
        page = read_page(store, start)
        assert list_texts(page) == ["settled"]
        assert page.has_delayed_items
        assert store.read_sync(inbox_feed.read_end) == page.position
        assert list_texts(read_page(store, page.position)) == []
    rest = read_page(store, page.position)
    assert list_texts(rest) == ["slow", "quick", "to all"]
    assert not rest.has_delayed_items
    assert list_texts(read_page(store, rest.position)) == []
    for index, (_, position) in enumerate(rest.entries):
        assert list_texts(read_page(store, position)) == ["slow", "quick", "to all"][index + 1 :]
