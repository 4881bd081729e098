"""A store for the tests of verbs: some agents, some people, short ways to say the usual things, and fixtures."""

from collections.abc import Iterable
from typing import Any, Final

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Store, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions, claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.claimed_batch import Batch, Claim
from gatepost.inbox.event import Item, Push, PushResult
from gatepost.inbox.push import actions as push_actions
from gatepost.testing import FakeClock, Kit, RecordingSignalSink
from tests.support.servers.database_reset import furnish_database

ENTITIES: Final = (
    *(EntitySpec(name=name, kind=EntityKind.HUMAN, display=name.title()) for name in ("admin", "husam")),
    *(EntitySpec(name=name, kind=EntityKind.AGENT, team="red") for name in ("ann", "bob")),
)


def _register_all(tx: Transaction, specs: Iterable[EntitySpec]) -> None:
    for spec in specs:
        directory.register(tx, spec)


class StoreContext:
    """A store with the agents ann and bob (team red), the person husam and the administrator in it."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit
        self.store: Store = kit.store
        self.clock: FakeClock = kit.clock
        self.signal_sink: RecordingSignalSink = kit.signal_sink
        furnish_database(kit.url, lambda: self.store.run_sync(_register_all, ENTITIES))
        self.signal_sink.clear()

    def set_policy(self, **policy: Any) -> None:
        """Go on by other rules."""
        self.store = self.kit.open(policy=Policy(**policy))

    def register(self, name: str, kind: EntityKind = EntityKind.AGENT, **fields: Any) -> None:
        self.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, **fields))

    def register_agents(self, *names: str, **fields: Any) -> None:
        """Register many in one transaction."""
        specs = [EntitySpec(name=name, kind=EntityKind.AGENT, **fields) for name in names]
        self.store.run_sync(_register_all, specs)

    def push(self, content: str = "tea", to: str = "ann", *, source: str = "test", **fields: Any) -> PushResult:
        return self.store.run_sync(push_actions.push_event, Push(to=to, source=source, content=content, **fields))

    def push_event(self, content: str = "tea", to: str = "ann", **fields: Any) -> str:
        """Push and return the event."""
        return self.push(content, to, **fields).event

    def claim(self, name: str = "ann", owner: str = "me", **options: Any) -> Batch:
        return self.store.run_sync(inbox.claim, name, owner=owner, **options)

    def take_claim(self, name: str = "ann", owner: str = "me", **options: Any) -> Claim:
        """Claim something that must be there, and return the claim."""
        claim = self.claim(name, owner, **options).claim
        assert claim is not None
        return claim

    def pull(self, claim: Claim, **filters: Any) -> Batch:
        return self.store.run_sync(inbox.pull, claim.id, owner=claim.owner, fence=claim.fence, **filters)

    def ack(self, claim: Claim) -> int:
        return self.store.run_sync(inbox.ack, claim.id, owner=claim.owner, fence=claim.fence)

    def release(self, claim: Claim, *failed: str) -> int:
        return self.store.run_sync(inbox.release, claim.id, owner=claim.owner, fence=claim.fence, failed_events=failed)

    def show_item(self, event: str, name: str = "ann") -> Item:
        [item] = [item for item in self.store.read_sync(inbox_items.show, event) if item.recipient == name]
        return item

    def list_waiting(self, name: str = "ann") -> list[str]:
        return [item.event.content for item in self.store.read_sync(inbox.peek, name, limit=1_000)]

    def list_inbox(self, name: str | None = "ann", **filters: Any) -> list[str]:
        return [item.event.content for item in self.store.read_sync(inbox.list_page, name, **filters)]

    def is_balanced(self) -> bool:
        return all(account.is_balanced for account in self.store.read_sync(account_actions.list_accounts))


def list_contents(batch: Batch) -> list[str]:
    return [item.event.content for item in batch.items]


@pytest.fixture
def ctx(kit: Kit) -> StoreContext:
    return StoreContext(kit)


@pytest.fixture
def retired_agent(ctx: StoreContext) -> str:
    ctx.register("gone")
    ctx.store.run_sync(directory.retire, "gone")
    return "gone"
