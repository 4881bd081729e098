"""
Fire plans when they are due.

A round reads when the next plan is due, and asks to run again then, or after a few seconds at most, so that a plan
whose signal was lost is seen soon anyway. Any number of processes do this on one store without a leader: they share the
due plans by row (`actions/plans.py`). A round writes only if a plan is due.
"""

from typing import Final

from gatepost.actions import plans
from gatepost.core.signals import Signal, TransportMessage
from gatepost.core.times import SECOND
from gatepost.ports import Reader, Store

#: the most seconds between two rounds
MAX_WAIT: Final = 5.0
#: seconds to wait for another process that is firing what is due
_MIN_WAIT: Final = 0.1


async def fire_due_plans(store: Store) -> float:
    """Fire the plans that are due; return the seconds until the next round."""
    while (wait := await store.read(_get_seconds_until_due)) <= 0:
        if not await store.run(plans.fire, lane="plans"):
            return _MIN_WAIT
    return wait


def is_wake_signal(signal: TransportMessage) -> bool:
    """Return True if a signal says that a plan was set, which may be due before the next round."""
    return isinstance(signal, Signal) and signal.recipient.startswith("plan:")


def _get_seconds_until_due(tx: Reader) -> float:
    due = plans.find_next_due(tx)
    return MAX_WAIT if due is None else min(MAX_WAIT, (due - tx.now) / SECOND)
