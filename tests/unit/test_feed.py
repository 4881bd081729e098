"""Whoever follows an inbox sees everything once, wherever they come back."""

import threading
from collections.abc import Iterator

import pytest

from gatepost.actions import directory, inbox, inbox_feed
from gatepost.actions import push as push_actions
from gatepost.actions.directory import EntitySpec
from gatepost.actions.inbox_feed import FeedPage, Position
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.errors import Invalid, UnknownAddress
from gatepost.ports import Store, Transaction
from gatepost.testing import Kit

PATIENCE = 20.0


@pytest.fixture
def store(kit: Kit) -> Store:
    furnish(kit.store)
    return kit.store


@pytest.fixture
def postgres_kit(postgres_url: str) -> Iterator[Kit]:
    with Kit(postgres_url) as kit:
        furnish(kit.store)
        yield kit


def furnish(store: Store) -> None:
    for name in ("ann", "bob"):
        store.call(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT))
    store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))


def push(store: Store, text: str, to: str = "ann", sender: str | None = None) -> None:
    store.call(push_actions.push_event, Push(to=to, source="test", content=text, sender=sender))


def look(store: Store, after: Position, name: str = "ann", limit: int = 100) -> FeedPage:
    return store.query(inbox_feed.read_page, name, after, limit)


def texts(page: FeedPage) -> list[str]:
    return [item.event.content for item, _ in page.entries]


def test_everything_after_a_position_in_order(store: Store) -> None:
    push(store, "before")
    here = store.query(inbox_feed.read_end)
    for number in range(5):
        push(store, str(number))
        push(store, "for another", to="bob")
    page = look(store, here)
    assert texts(page) == ["0", "1", "2", "3", "4"]
    assert not page.has_delayed_items
    assert page.position == store.query(inbox_feed.read_end) > page.entries[-1][1]
    assert look(store, page.position) == FeedPage([], page.position, has_delayed_items=False)


def test_every_entry_is_a_place_to_come_back_to(store: Store) -> None:
    start = store.query(inbox_feed.read_end)
    for number in range(6):
        push(store, str(number), to="*" if number % 2 else "ann")
    positions = [position for _, position in look(store, start).entries]
    assert positions == sorted(set(positions))
    for place, position in enumerate(positions):
        again = Position.parse(str(position))
        assert again == position
        assert texts(look(store, again)) == [str(number) for number in range(place + 1, 6)]


def test_pages_fit_together(store: Store) -> None:
    position = store.query(inbox_feed.read_end)
    for number in range(10):
        push(store, str(number), to="*" if number % 3 == 1 else "ann")
    seen: list[str] = []
    while (page := look(store, position, limit=3)).entries:
        seen += texts(page)
        position = page.position
    assert seen == [str(number) for number in range(10)]


def test_a_broadcast_is_there_when_it_is_made_and_not_again_when_it_is_taken(store: Store) -> None:
    start = store.query(inbox_feed.read_end)
    push(store, "to all", to="*")
    push(store, "after it")
    untaken = look(store, start)
    assert texts(untaken) == ["to all", "after it"]
    store.call(inbox.claim, "ann", owner="session")
    taken = look(store, start)
    assert texts(taken) == ["to all", "after it"]
    assert [item.state for item, _ in taken.entries] == [ItemState.CLAIMED, ItemState.CLAIMED]
    assert [position for _, position in taken.entries] == [position for _, position in untaken.entries]
    assert texts(look(store, untaken.position)) == []


def test_a_broadcast_is_for_every_other_agent_there_was(store: Store) -> None:
    start = store.query(inbox_feed.read_end)
    push(store, "mine", to="*", sender="ann")
    store.call(directory.register, EntitySpec(name="late", kind=EntityKind.AGENT))
    assert {name: texts(look(store, start, name)) for name in ("ann", "bob", "late", "husam")} == {
        "ann": [],
        "bob": ["mine"],
        "late": [],
        "husam": [],
    }


def test_what_has_run_out_of_time_is_shown_as_such_or_never_was(kit: Kit, store: Store) -> None:
    start = store.query(inbox_feed.read_end)
    for to in ("ann", "*"):
        store.call(push_actions.push_event, Push(to=to, source="test", content=to, ttl=60_000_000))
    kit.clock.advance("2 minutes")
    assert [(item.event.content, item.state) for item, _ in look(store, start).entries] == [("ann", ItemState.EXPIRED)]


def test_a_person_has_a_feed_too(store: Store) -> None:
    start = store.query(inbox_feed.read_end)
    push(store, "please", to="husam")
    [(item, _)] = look(store, start, "husam").entries
    assert (item.recipient, item.event.content) == ("husam", "please")


def test_only_what_was_stored_moves_the_position(store: Store) -> None:
    """The number of a transaction that stored nothing may be given again after a crash."""
    push(store, "stored")
    here = store.query(inbox_feed.read_end)
    for _ in range(3):
        with pytest.raises(UnknownAddress):
            push(store, "refused", to="nobody")
    assert store.query(inbox_feed.read_end) == here


@pytest.mark.parametrize(
    "text",
    ["", "-", "1", "1-", "-1-1", "1-2-3", "01-1", "1 -1", "a-b", "1-1\n", "٣-٤", f"{2**63}-1", f"1-{2**63}", "9" * 40],
)
def test_garbage_is_no_position(text: str) -> None:
    with pytest.raises(Invalid):
        Position.parse(text)


def test_a_place_that_is_not_reached_yet_is_refused(store: Store) -> None:
    push(store, "hello")
    for text in (f"{2**62}-0", f"{2**63 - 1}-{2**63 - 1}"):
        with pytest.raises(Invalid):
            look(store, Position.parse(text))
    with pytest.raises(UnknownAddress):
        look(store, Position(), "nobody")


class Slow:
    """A verb that pushes at once, or late, and holds its transaction open until it is let go."""

    def __init__(self, store: Store, *, first: bool) -> None:
        self.began, self.go = threading.Event(), threading.Event()
        self._store, self._first = store, first
        self._thread = threading.Thread(target=store.call, args=(self._verb,))

    def __enter__(self) -> None:
        self._thread.start()
        assert self.began.wait(PATIENCE)

    def __exit__(self, *_: object) -> None:
        self.go.set()
        self._thread.join(PATIENCE)

    def _verb(self, tx: Transaction) -> None:
        if self._first:
            push_actions.push_event(tx, Push(to="ann", source="test", content="slow"))
        self.began.set()
        assert self.go.wait(PATIENCE)
        if not self._first:
            push_actions.push_event(tx, Push(to="ann", source="test", content="slow"))


@pytest.mark.parametrize("first", [True, False])
def test_an_early_number_that_is_committed_late_is_neither_missed_nor_repeated(postgres_kit: Kit, first: bool) -> None:
    """It takes its arrival first and commits last; or it only began first."""
    store = postgres_kit.store
    start = store.query(inbox_feed.read_end)
    push(store, "settled")
    with Slow(store, first=first):
        push(store, "quick")
        push(store, "to all", to="*")
        page = look(store, start)
        assert texts(page) == ["settled"]
        assert page.has_delayed_items
        assert store.query(inbox_feed.read_end) == page.position
        assert texts(look(store, page.position)) == []
    rest = look(store, page.position)
    assert texts(rest) == ["slow", "quick", "to all"]
    assert not rest.has_delayed_items
    assert texts(look(store, rest.position)) == []
    for place, (_, position) in enumerate(rest.entries):
        assert texts(look(store, position)) == ["slow", "quick", "to all"][place + 1 :]
