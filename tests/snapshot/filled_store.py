"""Where transcripts take place: a store with something of every kind in it, a clock that a test moves, and silence."""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import structlog

from gatepost.app import open_store, register_administrator
from gatepost.core.ports import Store
from gatepost.stores.clock import SystemClock
from gatepost.testing import FakeClock
from gatepost.worker.background_tasks import GateEnder, fire_due_plans, fire_due_triggers
from tests.operations.access_cases import create_owned_objects


def copy_store(path: Path) -> Mapping[str, Any]:
    """Write the database to a file; return what is in it by name (`create_owned_objects`)."""
    content, objects = _build_store()
    path.write_bytes(content)
    return objects


@cache
def _build_store() -> tuple[bytes, Mapping[str, Any]]:
    with TemporaryDirectory() as folder:
        path = Path(folder, "office.db")
        with closing(open_store(f"sqlite:///{path}", clock=FakeClock())) as store:
            store.migrate()
            register_administrator(store)
            objects = create_owned_objects(store)
        assert [file.name for file in path.parent.iterdir()] == [path.name], "all of it is in the file"
        return path.read_bytes(), objects


async def do_what_is_due(store: Store) -> None:
    """Do what a gateway does in the background when the time has come."""
    await fire_due_plans(store)
    await fire_due_triggers(store)
    await GateEnder(store).check()


@contextmanager
def hold_clock() -> Iterator[FakeClock]:
    """While entered, everything in this process that asks for the time gets that of the clock."""
    clock = FakeClock(seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SystemClock, "now", lambda _: clock.now())
        patch.setattr(SystemClock, "entropy", lambda _: clock.entropy())
        patch.setattr(time, "time_ns", lambda: clock.now() * 1_000)
        yield clock


@contextmanager
def silence_logs() -> Iterator[None]:
    """While entered, nothing is logged."""
    config = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**config)
