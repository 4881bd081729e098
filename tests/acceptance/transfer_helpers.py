"""Stores with everything in them, and moving all of it from one to another."""

from collections.abc import Sequence
from typing import Any

from gatepost.actions import directory, health, inbox, maintenance, merge, transfer
from gatepost.actions import push as push_actions
from gatepost.actions.directory import EntitySpec
from gatepost.actions.merge import Taken
from gatepost.core import record
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Item, ItemState, Priority, Push, Ref, Route, Trust
from gatepost.ports import Reader, Store
from gatepost.testing import Kit


def fill_store(kit: Kit) -> None:
    """Put everything there can be into a store."""
    store, clock = kit.store, kit.clock

    def push_event(content: str, to: str = "ana", **fields: Any) -> str:
        return store.call(push_actions.push_event, Push(to=to, source="test", content=content, **fields)).event

    def claim_items(name: str = "ana", **release_options: Any) -> None:
        batch = store.call(inbox.claim, name, owner="s-1")
        assert batch.claim is not None
        if not release_options:
            store.call(inbox.ack, batch.claim.id, owner="s-1", fence=batch.claim.fence)
        else:
            store.call(inbox.release, batch.claim.id, owner="s-1", fence=batch.claim.fence, **release_options)

    for entity in (
        EntitySpec(name="admin", kind=EntityKind.HUMAN),
        EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam", aliases=["0.0.7"]),
        EntitySpec(
            name="ana", kind=EntityKind.AGENT, team="web", role="lead", owner="husam", aliases=["bead-1", "bead-2"]
        ),
        EntitySpec(name="ben", kind=EntityKind.AGENT, team="web"),
        EntitySpec(name="cat", kind=EntityKind.AGENT),
        EntitySpec(name="old", kind=EntityKind.AGENT),
    ):
        store.call(directory.register, entity)
    push_event("for one who leaves", "old")
    store.call(directory.retire, "old")
    for number in range(3):
        push_event(f"long ago {number}", key=f"k{number}")
    claim_items()
    push_event("too late", ttl=1)
    store.call(inbox.discard, push_event("unwanted"))
    clock.advance("2 days")
    store.call(maintenance.expire_items)
    clock.advance("2 days")
    assert store.call(maintenance.reap) > 0
    poison_event = push_event("poison")
    for _ in range(5):
        claim_items(failed=[poison_event])
    push_event("delivered", key="k9", sender="husam", ref=Ref("task", "0.0.1"), subject="About", priority=Priority.HIGH)
    push_event(
        "also delivered", type=EventType.CHANNEL, route=Route("telegram", "chat-1"), trust=Trust.EXTERNAL, hops=3
    )
    claim_items()
    store.call(inbox.discard, push_event("put away"))
    push_event("runs out", ttl=1)
    clock.advance("1 second")
    store.call(maintenance.expire_items)
    push_event("to all", "*", sender="ana")
    push_event("to a team", "team:web", data={"n": [1, None, "ü\u2028"]}, key="team")
    signature_event = push_event("please sign", "husam")
    store.call(inbox.mark_seen, "husam", [signature_event])
    store.call(inbox.mark_done, "husam", signature_event)
    push_event("unsigned", "husam", priority=Priority.FYI)
    push_event("being read", "ben", ttl=10**15)
    store.call(inbox.claim, "ben", owner="s-2")
    push_event("waits", type=EventType.SPACE_MESSAGE, data={"spaceId": "s", "seq": 4})


def export_lines(store: Store, *, secrets: bool = False) -> list[bytes]:
    return store.query(lambda tx: [record.write(entry).encode() for entry in transfer.records(tx, secrets=secrets)])


def import_lines(store: Store, lines: Sequence[bytes]) -> Taken:
    totals = Taken()
    for chunk in transfer.chunks((number, record.read(line)) for number, line in enumerate(lines, 1)):
        totals += store.call(merge.take, chunk)
    return totals


def list_items(store: Store) -> list[tuple[str, Any]]:
    """All items with all that is known of them, in order, but for what is ours alone."""

    def query(tx: Reader) -> list[tuple[str, Any]]:
        return [(item.recipient, _flatten_item(item)) for item in inbox.page(tx, limit=1_000)]

    return store.query(query)


def _flatten_item(item: Item) -> Any:
    event = item.event
    is_claimed = item.state is ItemState.CLAIMED
    return (
        *(event.id, event.type, event.source, event.sender, event.subject, event.content, event.data, event.priority),
        *(event.key, event.created_at, event.expires_at, event.ref, event.route, event.hops, event.trust, event.wakes),
        *(ItemState.PENDING if is_claimed else item.state, item.attempts, item.seen_at, item.ended_at),
        None if is_claimed else item.receipt,
    )


def read_accounts(store: Store) -> dict[str, tuple[int, int, int, int, int]]:
    """What has become of what, by inbox; and both sides are equal."""
    rows = store.query(maintenance.list_accounts)
    assert all(account.is_balanced for account in rows), rows
    return {row.name: (row.accepted, row.delivered, row.expired, row.dead, row.discarded) for row in rows}


def assert_healthy(store: Store) -> None:
    assert store.check() == []
    assert store.query(health.find_orphans) == []
    read_accounts(store)
