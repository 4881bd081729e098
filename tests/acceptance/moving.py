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


def furnish(kit: Kit) -> None:
    """Put everything there can be into a store."""
    store, clock = kit.store, kit.clock

    def push(content: str, to: str = "ana", **more: Any) -> str:
        return store.call(push_actions.push_event, Push(to=to, source="test", content=content, **more)).event

    def take(name: str = "ana", **more: Any) -> None:
        batch = store.call(inbox.claim, name, owner="s-1")
        assert batch.claim is not None
        if not more:
            store.call(inbox.ack, batch.claim.id, owner="s-1", fence=batch.claim.fence)
        else:
            store.call(inbox.release, batch.claim.id, owner="s-1", fence=batch.claim.fence, **more)

    for who in (
        EntitySpec(name="admin", kind=EntityKind.HUMAN),
        EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam", aliases=["0.0.7"]),
        EntitySpec(
            name="ana", kind=EntityKind.AGENT, team="web", role="lead", owner="husam", aliases=["bead-1", "bead-2"]
        ),
        EntitySpec(name="ben", kind=EntityKind.AGENT, team="web"),
        EntitySpec(name="cat", kind=EntityKind.AGENT),
        EntitySpec(name="old", kind=EntityKind.AGENT),
    ):
        store.call(directory.register, who)
    push("for one who leaves", "old")
    store.call(directory.retire, "old")
    for number in range(3):
        push(f"long ago {number}", key=f"k{number}")
    take()
    push("too late", ttl=1)
    store.call(inbox.discard, push("unwanted"))
    clock.advance("2 days")
    store.call(maintenance.expire_items)
    clock.advance("2 days")
    assert store.call(maintenance.reap) > 0
    poison = push("poison")
    for _ in range(5):
        take(failed=[poison])
    push("delivered", key="k9", sender="husam", ref=Ref("task", "0.0.1"), subject="About", priority=Priority.HIGH)
    push("also delivered", type=EventType.CHANNEL, route=Route("telegram", "chat-1"), trust=Trust.EXTERNAL, hops=3)
    take()
    store.call(inbox.discard, push("put away"))
    push("runs out", ttl=1)
    clock.advance("1 second")
    store.call(maintenance.expire_items)
    push("to all", "*", sender="ana")
    push("to a team", "team:web", data={"n": [1, None, "ü\u2028"]}, key="team")
    signed = push("please sign", "husam")
    store.call(inbox.mark_seen, "husam", [signed])
    store.call(inbox.mark_done, "husam", signed)
    push("unsigned", "husam", priority=Priority.FYI)
    push("being read", "ben", ttl=10**15)
    store.call(inbox.claim, "ben", owner="s-2")
    push("waits", type=EventType.SPACE_MESSAGE, data={"spaceId": "s", "seq": 4})


def lines_of(store: Store, *, secrets: bool = False) -> list[bytes]:
    return store.query(lambda tx: [record.write(each).encode() for each in transfer.records(tx, secrets=secrets)])


def take_all(store: Store, lines: Sequence[bytes]) -> Taken:
    taken = Taken()
    for chunk in transfer.chunks((number, record.read(line)) for number, line in enumerate(lines, 1)):
        taken += store.call(merge.take, chunk)
    return taken


def everything(store: Store) -> list[tuple[str, Any]]:
    """All items with all that is known of them, in order, but for what is ours alone."""

    def query(tx: Reader) -> list[tuple[str, Any]]:
        return [(item.recipient, _plain(item)) for item in inbox.page(tx, limit=1_000)]

    return store.query(query)


def _plain(item: Item) -> Any:
    event = item.event
    claimed = item.state is ItemState.CLAIMED
    return (
        *(event.id, event.type, event.source, event.sender, event.subject, event.content, event.data, event.priority),
        *(event.key, event.created_at, event.expires_at, event.ref, event.route, event.hops, event.trust, event.wakes),
        *(ItemState.PENDING if claimed else item.state, item.attempts, item.seen_at, item.ended_at),
        None if claimed else item.receipt,
    )


def accounts(store: Store) -> dict[str, tuple[int, int, int, int, int]]:
    """What has become of what, by inbox; and both sides are equal."""
    found = store.query(maintenance.list_accounts)
    assert all(account.is_balanced for account in found), found
    return {each.name: (each.accepted, each.delivered, each.expired, each.dead, each.discarded) for each in found}


def healthy(store: Store) -> None:
    assert store.check() == []
    assert store.query(health.find_orphans) == []
    accounts(store)
