"""Gateways with nothing to do read, and write nothing."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from gatepost.app import open_store
from gatepost.core.ports import Store
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.gates import gate_actions as gates
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.plans import actions as plans
from gatepost.stores.threaded_store import ThreadedStore
from gatepost.testing import Kit
from gatepost.transports.memory import MemoryBus, MemoryTransport
from gatepost.worker import background_tasks
from tests.plans.plan_specs import parse_spec
from tests.support.gateways.linked_gateways import LinkedGateway, open_linked_gateway
from tests.support.servers.private_servers import wait_until_async

#: of each duty; in ten minutes each has 120
ROUNDS = 20


def leave_work_for_later(store: Store) -> None:
    """An office in which everything waits for somebody, or for a later time."""
    store.run_sync(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
    store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
    store.run_sync(push.push_event, Push(to="ana", source="test", content="read"))
    batch = store.run_sync(inbox.claim, "ana", owner="test")
    assert batch.claim is not None
    store.run_sync(inbox.ack, batch.claim.id, owner="test", fence=batch.claim.fence)
    for to in ("ana", "husam", "*"):
        store.run_sync(push.push_event, Push(to=to, source="test", content="nobody reads it"))
    store.run_sync(plans.set_plan, "ana", parse_spec({"name": "x", "instruction": "look", "cron": "0 9 * * *"}))
    spec = GateSpec(name="jira", kind=GateKind.EVENT, awaits="service:jira", within=HOUR)
    store.run_sync(gates.add, spec, by="ana")


@pytest.fixture
def verbs(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each verb was run."""
    counts: Counter[str] = Counter()
    run = ThreadedStore.run

    async def count_and_run(store: ThreadedStore, verb: Any, /, *args: Any, **options: Any) -> Any:
        counts[f"{verb.__module__}.{verb.__name__}"] += 1
        return await run(store, verb, *args, **options)

    monkeypatch.setattr(ThreadedStore, "run", count_and_run)
    return counts


@pytest.fixture
async def gateways(
    kit: Kit, tmp_path: Path, verbs: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[list[LinkedGateway]]:
    """Two gateways on one store, with the settings that everybody has, but for how long a duty waits."""
    monkeypatch.setattr(background_tasks, "MAX_WAIT", 0.02)
    with closing(open_store(kit.url)) as store:
        store.migrate()
        leave_work_for_later(store)
    memory_bus = MemoryBus()
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(
                open_linked_gateway(kit.url, tmp_path / name, MemoryTransport(memory_bus), interval="20ms")
            )
            for name in ("first", "second")
        ]


async def wait_for_rounds(gateways: list[LinkedGateway], count: int) -> None:
    """Wait until each duty of each gateway has had so many rounds more."""
    duties = [duty for gateway in gateways for duty in gateway.duties.values()]
    ends = [duty.rounds + count for duty in duties]

    async def are_over() -> bool:
        return all(duty.rounds >= end for duty, end in zip(duties, ends, strict=True))

    await wait_until_async(are_over, f"each duty has had {count} rounds")


async def test_gateways_with_nothing_to_do_write_nothing(gateways: list[LinkedGateway], verbs: Counter[str]) -> None:
    assert {"janitor", "plans", "triggers", "jobs", "deadlines", "gate-checks", "resend"} <= gateways[0].duties.keys()
    await wait_for_rounds(gateways, 2)  # one of them notes the time
    before = [gateway.app_state.store.commit_count for gateway in gateways]
    verbs.clear()
    await wait_for_rounds(gateways, ROUNDS)
    assert verbs == {}
    assert [gateway.app_state.store.commit_count for gateway in gateways] == before
