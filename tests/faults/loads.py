"""
Lives that keep a store busy: `load` pushes and drains without end, `crowd` is many callers some of whom fail,
`besieged` never gives up, `quarrel` does everything at once to the same few rows, in every order.
"""

import asyncio
import itertools
import random
import resource
import threading
from collections.abc import Callable
from contextlib import suppress

from gatepost.actions import directory, inbox, maintenance, push
from gatepost.actions.directory import EntitySpec
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.core.entity import EntityKind
from gatepost.core.event import Push
from gatepost.errors import GatepostError, Unavailable
from tests.faults.clerk import Clerk, fail_then_push, push_then_fail, wish
from tests.faults.office import CREW


async def load(clerk: Clerk, life: str, *, warm: Callable[[], None], stop: threading.Event, answers: int = 20) -> None:
    """Push and drain until told to stop; call `warm` when the first answers are there, so many."""
    told = asyncio.Event()

    def on_thread() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            clerk.push(wish(f"{life}-sync-{number}", "team:crew" if number % 5 == 0 else CREW[number % 3]))
            if number % 4 == 3:
                clerk.drain(CREW[number % 3])

    async def push_singly(caller: int) -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            name = f"{life}-{caller}-{number}"
            await clerk.push_soon(wish(name, CREW[number % 3], keyed=number % 7 > 0), lane=CREW[number % 3])

    async def push_in_bulk() -> None:
        for number in itertools.count():
            if stop.is_set():
                return
            names = [f"{life}-bulk-{number}-{part}" for part in range(5)]
            to = ("ana", "team:crew", "nobody", "ben", "cleo")
            await clerk.push_all([wish(name, one) for name, one in zip(names, to, strict=True)])

    async def drain(name: str) -> None:
        while not stop.is_set():
            await clerk.drain_soon(name, cap=100)
            if not told.is_set() and clerk.answers > answers:
                told.set()
                warm()

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(on_thread))
            for caller in range(3):
                group.create_task(push_singly(caller))
            group.create_task(push_in_bulk())
            for name in CREW:
                group.create_task(drain(name))
    finally:
        stop.set()


async def crowd(clerk: Clerk, life: str, *, callers: int, stop: threading.Event, warm: Callable[[], None]) -> None:
    """
    Callers who call until told to stop, and each ten times at least: once a verb that fails and once in bulk with a bad
    item. When the store is unavailable, half of them try again with the same key until it is not, half leave it.
    """

    async def caller(number: int) -> None:
        for turn in itertools.takewhile(lambda turn: turn < 10 or not stop.is_set(), itertools.count()):
            name, to = f"{life}-{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4]
            match turn % 10:
                case 3:
                    verb = push_then_fail if number % 2 else fail_then_push
                    with suppress(Unavailable):
                        await clerk.fail(verb, wish(name, to))
                case 7:
                    bad = Push(to="ana", source="clerk", content=f"{name}-bad", data={"nul": "\0"})
                    with suppress(Unavailable):
                        await clerk.push_all([wish(f"{name}-1", "ana"), bad, wish(f"{name}-2", to)], lane=to)
                case _:
                    await push(wish(name, to), lane=to, insist=number % 2 == 0)
            if clerk.answers > callers and not told:
                told.append(True)
                warm()

    async def push(wanted: Push, *, lane: str, insist: bool) -> None:
        tries = 1_000 if insist else 1
        while tries:
            tries -= 1
            with suppress(Unavailable):
                await clerk.push_soon(wanted, lane=lane)
                return
        assert not insist, f"the store was unavailable for {wanted.content} a thousand times"

    told: list[bool] = []
    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(caller(number))


async def besieged(
    clerk: Clerk, life: str, *, callers: int, stop: threading.Event, asked: threading.Event, warm: Callable[[], None]
) -> None:
    """
    Callers who push, each until it is answered, whatever happens to the store. Whenever this is `asked`, call `warm`
    after as many answers as there are callers, three times over.
    """
    marks: list[int] = []

    async def caller(number: int) -> None:
        for turn in itertools.count():
            if stop.is_set():
                return
            wanted = wish(f"{life}-{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4])
            while not await answered(wanted):
                pass
            if asked.is_set():
                asked.clear()
                marks.append(clerk.answers + 3 * callers)
            if marks and clerk.answers >= marks[0]:
                del marks[0]
                warm()

    async def answered(wanted: Push) -> bool:
        with suppress(Unavailable):
            await clerk.push_soon(wanted, lane=wanted.to)
            return True
        await asyncio.sleep(0.01)  # as a patient client would
        return False

    async with asyncio.TaskGroup() as group:
        for number in range(callers):
            group.create_task(caller(number))


async def rationed(clerk: Clerk, life: str, *, size: Callable[[], int], warm: Callable[[], None]) -> None:
    """
    Callers who push while the operating system lets no file grow past a size. In the end the limit is lifted, and all
    that was not stored is pushed again.
    """
    failed: list[Push] = []

    async def caller(number: int) -> None:
        for turn in range(30):
            wanted = wish(f"{life}-{number}-{turn}", ("team:crew", *CREW)[(number + turn) % 4])
            try:
                await clerk.push_soon(wanted)
            except Unavailable:
                failed.append(wanted)

    await clerk.push_soon(wish(f"{life}-first", "ana"))
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size() + 200_000, most))
    await asyncio.gather(*(caller(number) for number in range(10)))
    assert failed
    warm()
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    await asyncio.gather(*(clerk.push_soon(wanted) for wanted in failed))


async def quarrel(store: ThreadedStore, life: str, *, stop: threading.Event, warm: Callable[[], None]) -> None:
    """
    Overlapping keys and teams in every order, against claims, the reaper and registrations. Nothing may fail.
    """
    keys = [f"shared-{number}" for number in range(12)]
    places = ("team:crew", *CREW, "*")

    def wishes(count: int) -> list[Push]:
        some = random.sample(keys, count)
        return [
            Push(to=random.choice(places), source=life, content=key, key=key, ttl=random.choice((None, 1_000)))
            for key in some
        ]

    async def push_singly() -> None:
        while not stop.is_set():
            for pushed in await asyncio.gather(*(store.run(push.push_event, one) for one in wishes(6))):
                assert pushed.event

    async def push_in_bulk() -> None:
        while not stop.is_set():
            for outcome in await store.run(push.push_all, wishes(12)):
                assert not isinstance(outcome, GatepostError), outcome

    async def read(names: tuple[str, ...]) -> None:
        while not stop.is_set():
            batches = await asyncio.gather(
                *(store.run(inbox.claim, name, owner=f"{life}-{names[0]}", limit=50) for name in names)
            )
            held = [batch.claim for batch in batches if batch.claim is not None]
            end = random.choice((inbox.ack, inbox.ack, inbox.release))
            await asyncio.gather(*(store.run(end, one.id, owner=one.owner, fence=one.fence) for one in reversed(held)))

    async def keep_house() -> None:
        while not stop.is_set():
            await asyncio.gather(
                *(
                    store.run(verb)
                    for verb in random.sample((maintenance.expire_items, maintenance.reap, maintenance.lapse_claims), 3)
                )
            )

    async def register() -> None:
        for number in range(3):
            await store.run(directory.register, EntitySpec(name=f"{life}-{number}", kind=EntityKind.SERVICE))
        warm()

    async with asyncio.TaskGroup() as group:
        for work in (push_singly(), push_in_bulk(), read(CREW), read(CREW[::-1]), keep_house(), register()):
            group.create_task(work)
