"""
Lives that pass every named point in a fixed order, and take up what earlier lives left when they were killed.
"""

import asyncio
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push, Ref
from gatepost.jobs.idempotency_actions import run_once
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import AckRequest, MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.commit_points import KillPoint
from tests.faults.crew_store import CREW
from tests.faults.stores import journal
from tests.faults.stores.journaled_client import (
    JournaledClient,
    build_push,
    fail_then_push,
    push_then_fail,
    run_together,
)

#: a claim that lapses as soon as the next one is made, so that the next life takes over where this one died
SHORTEST_HOLD = 1


def list_unanswered(folder: Path) -> list[Push]:
    """What earlier lives tried and were not answered, in their order."""
    entries = [entry for life_entries in journal.read_journals(folder, "journal").values() for entry in life_entries]
    settled_names = {entry["content"] for entry in entries if entry["word"] in ("answered", "refused")}
    attempts = {entry["content"]: entry for entry in entries if entry["word"] == "trying"}
    return [
        build_push(name, entry["to"])
        for name, entry in attempts.items()
        if name not in settled_names and entry["keyed"]
    ]


def retry_unanswered(client: JournaledClient, folder: Path) -> None:
    """Push again, with the same keys, what earlier lives do not know the fate of."""
    for push in list_unanswered(folder):
        if push.to in (*CREW, "team:crew", "*"):
            client.push(push)


def run_sync_round(store: ThreadedStore, client: JournaledClient, life: str, kill_point: KillPoint) -> None:
    """As the command line and the hooks do it: a transaction each."""
    kill_point.is_armed = True
    client.push(build_push(f"{life}-one", "ana"))
    client.push(build_push(f"{life}-loose", "ana", keyed=False))
    client.push(build_push(f"{life}-crew", "team:crew"))
    client.push(build_push(f"{life}-crew", "team:crew"))
    client.push(build_push(f"{life}-all", "*"))
    client.push(build_push(f"{life}-all", "*"))
    store.run_sync(
        inbox.claim, "ana", owner=life, hold=SHORTEST_HOLD, limit=2
    )  # whoever did this died before it wrote out
    client.drain("ana", hold=SHORTEST_HOLD, limit=3)
    client.drain("ana", hold=SHORTEST_HOLD)
    kill_point.is_armed = False


def _send_once(store: ThreadedStore, spec: MailSpec, sender: str, key: str) -> None:
    """Send mail as a request with an idempotency key does: a later life that sends it again sends nothing."""
    store.run_sync(run_once, f"mail of {sender}", key, "", lambda tx: mail.send(tx, spec, sender=sender).id)


def run_mail_round(store: ThreadedStore, life: str, kill_point: KillPoint) -> None:
    """
    Mail that is waited for, read by both who get it; mail to all; a note and an event. The sender of the mail to all
    and the task of the note are new in each life, so that their account and their topics on the ledger are made.
    """
    newcomer, task = f"newcomer-{life}", Ref("task", life)
    with suppress(Conflict):  # an earlier life had the same name
        store.run_sync(directory.register, EntitySpec(name=newcomer, kind=EntityKind.HUMAN))
        store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id=task.id), by="ana")
    kill_point.is_armed = True
    awaited_mail = MailSpec(to="team:crew", payload=f"{life}-mail", ack=AckRequest.REQUIRED)
    _send_once(store, awaited_mail, "ana", life)
    _send_once(store, MailSpec(to="ALL", payload=f"{life}-all"), newcomer, life)
    store.run_sync(work.post_note, task, f"{life}-note", by="ana", notify=["ben", "cleo"])
    store.run_sync(work.post_event, Ref("task", "deck"), "blocked", reason=life, by="ben")
    for name in ("ben", "cleo"):
        while (claim := store.run_sync(inbox.claim, name, owner=life, hold=SHORTEST_HOLD).claim) is not None:
            with suppress(Conflict):  # it has lapsed: what it held is claimed again
                store.run_sync(inbox.ack, claim.id, owner=life, fence=claim.fence)
    kill_point.is_armed = False


async def run_group_round(store: ThreadedStore, client: JournaledClient, life: str, kill_point: KillPoint) -> None:
    """As gateways do it: groups of verbs, some of which fail."""
    kill_point.before_kill = partial(_wait_for_loop_turns, asyncio.get_running_loop())
    kill_point.is_armed = True
    await run_together(
        store,
        client.push_all([build_push(f"{life}-bulk-1", "ben"), build_push(f"{life}-nobody", "nobody")], lane="one"),
        client.push_all([build_push(f"{life}-bulk-2", "team:crew"), build_push(f"{life}-bulk-3", "ben")], lane="one"),
        client.push_async(build_push(f"{life}-soon", "ben"), lane="one"),
        client.fail(push_then_fail, build_push(f"{life}-written", "team:crew"), lane="one"),
        client.fail(fail_then_push, build_push(f"{life}-unwritten", "ben"), lane="one"),
        client.push_async(build_push(f"{life}-loose", "cleo", keyed=False), lane="one"),
        client.push_async(build_push(f"{life}-bulk-1", "ben"), lane="one"),
        client.push_async(build_push(f"{life}-all", "*"), lane="one"),
        lane="one",
    )
    await run_together(
        store,
        client.drain_async("ben", hold=SHORTEST_HOLD, lane="one"),
        client.push_async(build_push(f"{life}-late", "ben"), lane="one"),
        client.drain_async("cleo", hold=SHORTEST_HOLD, lane="one"),
        lane="one",
    )
    await asyncio.to_thread(store.close)  # when it is closed, it has passed the last point
    kill_point.is_armed = False


def _wait_for_loop_turns(loop: asyncio.AbstractEventLoop) -> None:
    """Wait on another thread until the loop has taken a few turns, and with them whatever it had been handed."""
    done_event = threading.Event()

    def take_turn(remaining: int) -> None:
        if remaining:
            loop.call_soon(take_turn, remaining - 1)
        else:
            done_event.set()

    loop.call_soon_threadsafe(take_turn, 5)
    done_event.wait()
