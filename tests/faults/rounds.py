"""
Lives that pass every named point in a fixed order, and take up what earlier lives left when they were killed.
"""

import asyncio
import threading
from functools import partial
from pathlib import Path

from gatepost.actions import inbox
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.core.event import Push
from tests.faults import journal
from tests.faults.clerk import Clerk, fail_then_push, push_then_fail, together, wish
from tests.faults.office import CREW
from tests.faults.points import Doom

#: a claim that lapses as soon as the next one is made, so that the next life takes over where this one died
NO_TIME = 1


def unanswered(folder: Path) -> list[Push]:
    """What earlier lives tried and were not answered, in their order."""
    entries = [entry for life in journal.read(folder, "journal").values() for entry in life]
    over = {entry["content"] for entry in entries if entry["word"] in ("answered", "refused")}
    tried = {entry["content"]: entry for entry in entries if entry["word"] == "trying"}
    return [wish(name, entry["to"]) for name, entry in tried.items() if name not in over and entry["keyed"]]


def retry(clerk: Clerk, folder: Path) -> None:
    """Push again, with the same keys, what earlier lives do not know the fate of."""
    for again in unanswered(folder):
        if again.to in (*CREW, "team:crew", "*"):
            clerk.push(again)


def sync_round(store: ThreadedStore, clerk: Clerk, life: str, doom: Doom) -> None:
    """As the command line and the hooks do it: a transaction each."""
    doom.armed = True
    clerk.push(wish(f"{life}-one", "ana"))
    clerk.push(wish(f"{life}-loose", "ana", keyed=False))
    clerk.push(wish(f"{life}-crew", "team:crew"))
    clerk.push(wish(f"{life}-crew", "team:crew"))
    clerk.push(wish(f"{life}-all", "*"))
    clerk.push(wish(f"{life}-all", "*"))
    store.call(inbox.claim, "ana", owner=life, hold=NO_TIME, limit=2)  # whoever did this died before it wrote out
    clerk.drain("ana", hold=NO_TIME, cap=3)
    clerk.drain("ana", hold=NO_TIME)
    doom.armed = False


async def group_round(store: ThreadedStore, clerk: Clerk, life: str, doom: Doom) -> None:
    """As gateways do it: groups of verbs, some of which fail."""
    doom.linger = partial(_turns, asyncio.get_running_loop())
    doom.armed = True
    await together(
        store,
        clerk.push_all([wish(f"{life}-bulk-1", "ben"), wish(f"{life}-nobody", "nobody")], lane="one"),
        clerk.push_all([wish(f"{life}-bulk-2", "team:crew"), wish(f"{life}-bulk-3", "ben")], lane="one"),
        clerk.push_soon(wish(f"{life}-soon", "ben"), lane="one"),
        clerk.fail(push_then_fail, wish(f"{life}-written", "team:crew"), lane="one"),
        clerk.fail(fail_then_push, wish(f"{life}-unwritten", "ben"), lane="one"),
        clerk.push_soon(wish(f"{life}-loose", "cleo", keyed=False), lane="one"),
        clerk.push_soon(wish(f"{life}-bulk-1", "ben"), lane="one"),
        clerk.push_soon(wish(f"{life}-all", "*"), lane="one"),
        lane="one",
    )
    await together(
        store,
        clerk.drain_soon("ben", hold=NO_TIME, lane="one"),
        clerk.push_soon(wish(f"{life}-late", "ben"), lane="one"),
        clerk.drain_soon("cleo", hold=NO_TIME, lane="one"),
        lane="one",
    )
    await asyncio.to_thread(store.close)  # when it is closed, it has passed the last point
    doom.armed = False


def _turns(loop: asyncio.AbstractEventLoop) -> None:
    """Wait on another thread until the loop has taken a few turns, and with them whatever it had been handed."""
    taken = threading.Event()

    def turn(left: int) -> None:
        if left:
            loop.call_soon(turn, left - 1)
        else:
            taken.set()

    loop.call_soon_threadsafe(turn, 5)
    taken.wait()
