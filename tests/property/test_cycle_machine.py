"""Residents and the processes that think for them, on both stores, against the model."""

from pathlib import Path

import pytest

from gatepost.core.times import SECOND
from gatepost.errors import Lost
from gatepost.jobs import lease_actions as leases
from gatepost.jobs.lease_actions import Lease
from gatepost.testing import Kit
from tests.property.cycle_machine import CycleMachine
from tests.property.run_machine import run_on_postgres, run_on_sqlite


def test_thinkers_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(CycleMachine, tmp_path, examples=20, steps=40)


def test_thinkers_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(CycleMachine, empty_postgres_url, examples=3, steps=40)


def test_a_task_that_was_overtaken_is_refused_though_its_process_has_the_lease_again(kit: Kit) -> None:
    """The holder has the same name, so it is the fence that tells the two tasks apart."""

    def take(process: str) -> Lease:
        kit.clock.advance(11 * SECOND)
        lease = kit.store.run_sync(leases.take, "agent:ana", process, 10 * SECOND)
        assert lease is not None
        return lease

    first_lease, other_lease, last_lease = (take(process) for process in ("p1", "p2", "p1"))
    for lease in (first_lease, other_lease):
        with pytest.raises(Lost):
            kit.store.run_sync(leases.require_and_extend, lease, 10 * SECOND)
        with pytest.raises(Lost):
            kit.store.run_sync(leases.release_or_raise, lease)
    kit.store.run_sync(leases.require_and_extend, last_lease, 10 * SECOND)
    kit.store.run_sync(leases.release_or_raise, last_lease)
