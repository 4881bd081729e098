"""A request that may be repeated is done once, and every repeat gets the first answer."""

import asyncio

import pytest

from gatepost.core.json_limits import Json
from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid, Reused, UnknownAddress
from gatepost.executor import LocalExecutor
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.inbox.push.api import PushEvent
from gatepost.jobs.idempotency_actions import run_once
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention


@pytest.fixture
def store(kit: Kit) -> Store:
    kit.store.run_sync(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT))
    kit.signal_sink.clear()
    return kit.store


def push_text(tx: Transaction, text: str, *, to: str = "ann") -> Json:
    """A verb that would do it twice."""
    return {"eventId": push.push_event(tx, Push(to=to, source="test", content=text)).event, "n": [1, 2.5, None, "é"]}


def list_texts(store: Store) -> list[str]:
    return [item.event.content for item in store.read_sync(inbox.peek, "ann")]


def test_a_repeat_gets_the_same_answer_and_changes_nothing(kit: Kit, store: Store) -> None:
    first = store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello")
    assert len(kit.signal_sink.clear()) == 1
    assert store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello") == first
    assert list_texts(store) == ["hello"]
    assert kit.signal_sink.clear() == []


def test_another_request_with_the_same_key_is_refused(store: Store) -> None:
    store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello")
    with pytest.raises(Reused) as error:
        store.run_sync(run_once, "husam", "k-1", "other", push_text, "goodbye")
    assert (error.value.status, error.value.type) == (422, "idempotency-key-reused")
    assert list_texts(store) == ["hello"]


def test_callers_do_not_share_their_keys(store: Store) -> None:
    for scope in ("husam", "ana"):
        store.run_sync(run_once, scope, "k-1", "digest", push_text, scope)
    assert list_texts(store) == ["husam", "ana"]


def test_whoever_was_refused_may_try_again(store: Store) -> None:
    with pytest.raises(UnknownAddress):
        store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello", to="nobody")
    store.run_sync(run_once, "husam", "k-1", "other", push_text, "hello")
    assert list_texts(store) == ["hello"]


async def test_of_many_at_the_same_time_one_is_done(kit: Kit, store: Store) -> None:
    stores = [store, kit.open(), kit.open()]
    answers = await asyncio.gather(
        *(
            target.run(run_once, "husam", f"k-{number}", "digest", push_text, str(number))
            for target in stores * 5
            for number in range(10)
        )
    )
    assert sorted(list_texts(store)) == sorted(map(str, range(10)))
    assert {answer["eventId"] for answer in answers} == {item.event.id for item in store.read_sync(inbox.peek, "ann")}


async def test_a_repeat_in_the_same_group_gets_the_answer_too(kit: Kit, store: Store) -> None:
    answers = await asyncio.gather(
        *(store.run(run_once, "husam", "k-1", "digest", push_text, "hello", lane="one") for _ in range(20))
    )
    assert list_texts(store) == ["hello"]
    assert all(answer == answers[0] for answer in answers)


def test_an_answer_is_forgotten_when_it_has_been_remembered_long_enough(kit: Kit, store: Store) -> None:
    store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello")
    kit.clock.advance("23 hours")
    store.run_sync(run_once, "husam", "k-2", "digest", push_text, "again")
    store.run_sync(retention.reap)
    store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello")
    assert list_texts(store) == ["hello", "again"]
    kit.clock.advance("1 hour")
    assert store.run_sync(retention.reap) == 1
    store.run_sync(run_once, "husam", "k-1", "digest", push_text, "hello")
    store.run_sync(run_once, "husam", "k-2", "digest", push_text, "again")
    assert list_texts(store) == ["hello", "again", "hello"]


def test_a_key_is_something_to_write_down(store: Store) -> None:
    for key in ("", "x" * 256, "a\nb", "é", "\x00"):
        with pytest.raises(Invalid):
            LocalExecutor(store).send(PushEvent(to="ann", source="test", content="hello"), key=key)
    assert list_texts(store) == []
