"""Checks of the database: its schema, the disk, and whether its contents fit together."""

import time
from collections.abc import Iterator
from typing import Final

from gatepost.cli import output
from gatepost.cli.doctor.finding import Finding
from gatepost.core.ports import Store
from gatepost.core.times import CLOCK_TOLERANCE, SECOND, format_duration
from gatepost.inbox import account_actions
from gatepost.settings import Configuration
from gatepost.worker import clock_repair_actions as clock_repair

_DISK_HINT: Final = (
    "after a crash of the machine, answered pushes may be lost or damaged: set fsync and full_page_writes to on"
)
_REPORT_HINT: Final = "this should not happen: keep a copy of the store and report it"


def check_schema(_: Configuration, store: Store) -> Iterator[Finding]:
    yield Finding("schema", True, f"version {store.migrate()[1]}")


def check_disk(_: Configuration, store: Store) -> Iterator[Finding]:
    """Check that commits survive a crash of the machine."""
    is_durable, detail = store.check_durability()
    yield Finding("disk", is_durable, detail, _DISK_HINT)


def check_room(configuration: Configuration, store: Store) -> Iterator[Finding]:
    """Check that the database can grow."""
    store.try_to_write()
    free = store.measure_free_space()
    limit = f"nothing new is stored below {configuration.settings.store.reserve >> 20} MiB (store.reserve)"
    detail = "the database can grow" if free is None else f"{free >> 20} MiB are free; {limit}"
    yield Finding("room", True, detail)


def check_integrity(_: Configuration, store: Store) -> Iterator[Finding]:
    problems = store.check()
    yield Finding(
        "integrity",
        not problems,
        "; ".join(problems[:3]) or "the database is intact",
        "restore a backup, or save what can be read with `gatepost export`: docs/howto/damaged-store.md",
    )


def check_accounts(_: Configuration, store: Store) -> Iterator[Finding]:
    unbalanced, total = store.read_sync(account_actions.find_unbalanced)
    detail = "; ".join(
        f"{account.name!r} accepted {account.accepted} but has {account.total}" for account in unbalanced[:3]
    )
    counts = f"{output.count(total.accepted, 'item')} accepted by {output.count(total.inboxes, 'inbox')}"
    yield Finding("accounts", not unbalanced, detail or f"{counts}, all accounted for", _REPORT_HINT)


def check_orphans(_: Configuration, store: Store) -> Iterator[Finding]:
    orphans = store.read_sync(account_actions.find_orphans)
    yield Finding("orphans", not orphans, "; ".join(orphans) or "none", _REPORT_HINT)


def check_clock(_: Configuration, store: Store) -> Iterator[Finding]:
    """Compare the clock of this machine with that of the store, and with the times that are stored."""
    difference = abs(store.read_sync(lambda tx: tx.now) - time.time_ns() // 1_000)
    if difference > CLOCK_TOLERANCE:
        seconds = format_duration(difference // SECOND * SECOND)
        detail = f"the clock of this machine and that of the database differ by {seconds}"
        yield Finding("clock", False, detail, "set both by NTP, such as with `timedatectl set-ntp true`")
    elif store.read_sync(clock_repair.was_clock_set_back):
        detail = "the clock was set back: times in the store are ahead of it"
        yield Finding("clock", False, detail, "if the clock is right now, `gatepost up` mends them; else set it")
    else:
        yield Finding("clock", True, "it agrees with the store")
