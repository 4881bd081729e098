"""
Processes that keep a store busy: `run_load` pushes and drains without end, `run_crowd` is many callers some of whom
fail, `run_persistent_callers` never gives up, `run_conflicting_writes` does everything at once to the same few rows, in
every order.
"""

import asyncio
import itertools
import random
import resource
import threading
from collections.abc import Callable
from contextlib import suppress

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import GatepostError, Unavailable
from gatepost.inbox import claim_actions as inbox, expiry_actions as expiry
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push_actions
from gatepost.stores.threaded_store import ThreadedStore
from gatepost.worker import retention_actions as retention
from tests.faults.crew_store import CREW
from tests.faults.stores.journaled_client import JournaledClient, build_push, fail_then_push, push_then_fail


async def run_load(
    client: JournaledClient, life: str, *, on_warm: Callable[[], None], stop: threading.Event, answers: int = 20
) -> None:
    """Push and drain until told to stop; call `on_warm` when the first answers are there, so many."""
    warm_event = asyncio.Event()

    def run_on_thread() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            client.push(build_push(f"{life}-sync-{number}", "team:crew" if number % 5 == 0 else CREW[number % 3]))
            if number % 4 == 3:
                client.drain(CREW[number % 3])

    async def push_singly(caller: int) -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            name = f"{life}-{caller}-{number}"
            await client.push_async(build_push(name, CREW[number % 3], keyed=number % 7 > 0), lane=CREW[number % 3])

    async def push_in_bulk() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            names = [f"{life}-bulk-{number}-{part}" for part in range(5)]
            addresses = ("ana", "team:crew", "nobody", "ben", "cleo")
            await client.push_all([build_push(name, address) for name, address in zip(names, addresses, strict=True)])

    async def drain(name: str) -> None:
        while not stop.is_set():
            await client.drain_async(name, limit=100)
            if not warm_event.is_set() and client.answer_count > answers:
                warm_event.set()
                on_warm()

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(run_on_thread))
            for caller in range(3):
                group.create_task(push_singly(caller))
            group.create_task(push_in_bulk())
            for name in CREW:
                group.create_task(drain(name))
    finally:
        stop.set()


async def run_crowd(
    client: JournaledClient, life: str, *, callers: int, stop: threading.Event, on_warm: Callable[[], None]
) -> None:
    """
    Callers who call until told to stop, and each ten times at least: once a verb that fails and once in bulk with a bad
    item. When the store is unavailable, half of them try again with the same key until it is not, half leave it.
    """

    async def run_caller(number: int) -> None:
        for turn in itertools.takewhile(lambda turn: turn < 10 or not stop.is_set(), itertools.count()):
            name, address = f"{life}-{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4]
            match turn % 10:
                case 3:
                    verb = push_then_fail if number % 2 else fail_then_push
                    with suppress(Unavailable):
                        await client.fail(verb, build_push(name, address))
                case 7:
                    bad = Push(to="ana", source="clerk", content=f"{name}-bad", data={"nul": "\0"})
                    with suppress(Unavailable):
                        await client.push_all(
                            [build_push(f"{name}-1", "ana"), bad, build_push(f"{name}-2", address)], lane=address
                        )
                case _:
                    await push(build_push(name, address), lane=address, is_insisting=number % 2 == 0)
            if client.answer_count > callers and not warm_flags:
                warm_flags.append(True)
                on_warm()

    async def push(push: Push, *, lane: str, is_insisting: bool) -> None:
        attempts = 1_000 if is_insisting else 1
        while attempts:
            attempts -= 1
            with suppress(Unavailable):
                await client.push_async(push, lane=lane)
                return
        assert not is_insisting, f"the store was unavailable for {push.content} a thousand times"

    warm_flags: list[bool] = []
    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(run_caller(number))


async def run_persistent_callers(
    client: JournaledClient,
    life: str,
    *,
    callers: int,
    stop: threading.Event,
    request_event: threading.Event,
    on_warm: Callable[[], None],
) -> None:
    """
    Callers who push, each until it is answered, whatever happens to the store. Whenever `request_event` is set, call
    `on_warm` after as many answers as there are callers, three times over.
    """
    answer_targets: list[int] = []

    async def run_caller(number: int) -> None:
        for turn in itertools.count():
            if stop.is_set():
                return
            push = build_push(f"{life}-{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4])
            while not await try_push(push):
                pass
            if request_event.is_set():
                request_event.clear()
                answer_targets.append(client.answer_count + 3 * callers)
            if answer_targets and client.answer_count >= answer_targets[0]:
                del answer_targets[0]
                on_warm()

    async def try_push(push: Push) -> bool:
        with suppress(Unavailable):
            await client.push_async(push, lane=push.to)
            return True
        await asyncio.sleep(0.01)  # as a patient client would
        return False

    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(run_caller(number))


async def run_with_file_limit(
    client: JournaledClient, life: str, *, measure_file: Callable[[], int], on_warm: Callable[[], None]
) -> None:
    """
    Callers who push while the operating system lets no file grow past a size. In the end the limit is lifted, and all
    that was not stored is pushed again.
    """
    failed_pushes: list[Push] = []

    async def run_caller(number: int) -> None:
        for turn in range(30):
            push = build_push(f"{life}-{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4])
            try:
                await client.push_async(push)
            except Unavailable:
                failed_pushes.append(push)

    await client.push_async(build_push(f"{life}-first", "ana"))
    _, hard_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (measure_file() + 200_000, hard_limit))
    await asyncio.gather(*(run_caller(number) for number in range(10)))
    assert failed_pushes
    on_warm()
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard_limit, hard_limit))
    await asyncio.gather(*(client.push_async(push) for push in failed_pushes))


async def run_conflicting_writes(
    store: ThreadedStore, life: str, *, stop: threading.Event, on_warm: Callable[[], None]
) -> None:
    """
    Overlapping keys and teams in every order, against claims, the reaper and registrations. Nothing may fail.
    """
    keys = [f"shared-{number}" for number in range(12)]
    addresses = ("team:crew", *CREW, "*")

    def build_pushes(count: int) -> list[Push]:
        chosen_keys = random.sample(keys, count)
        return [
            Push(to=random.choice(addresses), source=life, content=key, dedup_key=key, ttl=random.choice((None, 1_000)))
            for key in chosen_keys
        ]

    async def push_singly() -> None:
        while not stop.is_set():
            for result in await asyncio.gather(*(store.run(push_actions.push_event, push) for push in build_pushes(6))):
                assert result.event

    async def push_in_bulk() -> None:
        while not stop.is_set():
            for outcome in await store.run(push_actions.push_all, build_pushes(12)):
                assert not isinstance(outcome, GatepostError), outcome

    async def read(names: tuple[str, ...]) -> None:
        while not stop.is_set():
            batches = await asyncio.gather(
                *(store.run(inbox.claim, name, owner=f"{life}-{names[0]}", limit=50) for name in names)
            )
            claims = [batch.claim for batch in batches if batch.claim is not None]
            end_claim = random.choice((inbox.ack, inbox.ack, inbox.release))
            await asyncio.gather(
                *(store.run(end_claim, claim.id, owner=claim.owner, fence=claim.fence) for claim in reversed(claims))
            )

    async def run_maintenance() -> None:
        while not stop.is_set():
            await asyncio.gather(
                *(
                    store.run(verb)
                    for verb in random.sample((expiry.expire_items, retention.reap, expiry.lapse_claims), 3)
                )
            )

    async def register() -> None:
        for number in range(3):
            await store.run(directory.register, EntitySpec(name=f"{life}-{number}", kind=EntityKind.SERVICE))
        on_warm()

    async with asyncio.TaskGroup() as group:
        for task in (push_singly(), push_in_bulk(), read(CREW), read(CREW[::-1]), run_maintenance(), register()):
            group.create_task(task)
