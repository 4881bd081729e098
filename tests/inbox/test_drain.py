"""Drain: written out before it is acked, and given out again whatever happens in between (I10)."""

from collections.abc import Callable
from typing import Any

import pytest

from gatepost.client import LocalClient
from gatepost.core.times import parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Unavailable
from gatepost.guests import drain_commands as drain
from gatepost.guests.drain_commands import sweep
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Item, ItemState, Push
from gatepost.inbox.item_api import BatchView, ClaimBatch
from gatepost.inbox.push import actions as push
from gatepost.testing import Kit

POSTGRES_BY_NIGHT = True


@pytest.fixture(autouse=True)
def populate_store(kit: Kit) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
    for content in ("one", "two"):
        kit.store.run_sync(push.push_event, Push(to="ana", source="test", content=content))
    kit.signal_sink.signals.clear()


def list_items(kit: Kit) -> list[Item]:
    return kit.store.read_sync(inbox.list_page, "ana")


def list_states(kit: Kit) -> list[ItemState]:
    return [item.state for item in list_items(kit)]


def drain_inbox(kit: Kit, owner: str, write: Callable[[BatchView], None], **options: Any) -> BatchView:
    return drain.drain_inbox(LocalClient(kit.store).send, ClaimBatch(name="ana", owner=owner, **options), write)


def raise_broken_pipe(_: BatchView) -> None:
    raise BrokenPipeError


def test_written_while_claimed_and_delivered_after(kit: Kit) -> None:
    states_during_write: list[ItemState] = []
    batch = drain_inbox(kit, "s-1", lambda _: states_during_write.extend(list_states(kit)))
    assert states_during_write == [ItemState.CLAIMED, ItemState.CLAIMED]
    assert [item.content for item in batch.items] == ["one", "two"]
    assert list_states(kit) == [ItemState.DELIVERED, ItemState.DELIVERED]
    assert {item.receipt.owner for item in list_items(kit) if item.receipt} == {"s-1"}


def test_nothing_is_written_when_nothing_waits(kit: Kit) -> None:
    drain_inbox(kit, "s-1", lambda _: None)
    assert drain_inbox(kit, "s-2", raise_broken_pipe).claim is None


@pytest.mark.parametrize(
    "error", [BrokenPipeError, KeyboardInterrupt, UnicodeEncodeError("ascii", "", 0, 1, ""), SystemExit]
)
def test_a_write_that_fails_gives_everything_back_at_once(kit: Kit, error: type[BaseException] | BaseException) -> None:
    def write(_: BatchView) -> None:
        raise error

    with pytest.raises(error if isinstance(error, type) else type(error)):
        drain_inbox(kit, "s-1", write)
    assert list_states(kit) == [ItemState.PENDING, ItemState.PENDING]
    assert [item.attempts for item in list_items(kit)] == [0, 0]
    assert [(signal.topic.recipient, signal.cause) for signal in kit.signal_sink.signals] == [("ana", "release")]
    assert len(drain_inbox(kit, "s-2", lambda _: None).items) == 2


def test_a_release_that_fails_too_leaves_the_claim_to_lapse(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_unavailable(*_: object, **__: object) -> int:
        raise Unavailable("the store is gone")

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "release", raise_unavailable)
        with pytest.raises(BrokenPipeError):
            drain_inbox(kit, "s-1", raise_broken_pipe)
    assert list_states(kit) == [ItemState.CLAIMED, ItemState.CLAIMED]
    assert drain_inbox(kit, "s-2", raise_broken_pipe).claim is None
    kit.clock.advance("1 minute")
    assert len(drain_inbox(kit, "s-2", lambda _: None).items) == 2


def test_a_write_that_takes_too_long_loses_to_the_next_reader(kit: Kit) -> None:
    batches: list[BatchView] = []

    def write_slowly(_: BatchView) -> None:
        kit.clock.advance("2 minutes")
        batches.append(drain_inbox(kit, "s-2", lambda _: None))

    with pytest.raises(Conflict, match="lapsed"):
        drain_inbox(kit, "s-1", write_slowly)
    assert len(batches[0].items) == 2
    assert {item.receipt.owner for item in list_items(kit) if item.receipt} == {"s-2"}


def test_a_late_ack_counts_while_nobody_else_has_them(kit: Kit) -> None:
    def write_slowly(_: BatchView) -> None:
        kit.clock.advance("2 minutes")

    drain_inbox(kit, "s-1", write_slowly)
    assert list_states(kit) == [ItemState.DELIVERED, ItemState.DELIVERED]


def test_cap_budget_and_hold(kit: Kit) -> None:
    batch = drain_inbox(kit, "s-1", lambda _: None, limit=1, hold="5ms")
    assert (len(batch.items), batch.held) == (1, 1)
    assert batch.claim is not None
    assert parse_instant(batch.claim.deadline or "") == parse_instant(batch.claim.taken_at) + 5_000


def test_a_sweep_keeps_house_and_never_fails(kit: Kit) -> None:
    kit.store.run_sync(inbox.claim, "ana", owner="s-1")
    kit.clock.advance("2 minutes")
    sweep(kit.store)
    assert list_states(kit) == [ItemState.PENDING, ItemState.PENDING]
    drain_inbox(kit, "s-1", lambda _: None)
    kit.clock.advance("2 days")
    sweep(kit.store)
    assert list_items(kit) == []
    closed_store = kit.open()
    closed_store.close()
    sweep(closed_store)
