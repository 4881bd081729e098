"""
The ticker: fires plans when they are due.

It looks when the next plan is due and says so, at most a few seconds ahead, so that whatever it did not hear of is seen
soon anyway. Any number tick side by side on one store without a leader: what is due is shared out among them by row
(`actions/plans.py`). It writes only when something is due.
"""

from typing import Final

from gatepost.actions import plans
from gatepost.core.frame import TransportMessage
from gatepost.core.signals import Signal
from gatepost.core.times import SECOND
from gatepost.ports import Reader, Store

#: seconds to sleep at most
MAX_WAIT: Final = 5.0
#: seconds to leave to another ticker that has in hand what is due
_MIN_WAIT: Final = 0.1


async def fire_due_plans(store: Store) -> float:
    """Fire what is due; return in how many seconds to look again."""
    while (wait := await store.read(_get_seconds_until_due)) <= 0:
        if not await store.run(plans.fire, lane="plans"):
            return _MIN_WAIT
    return wait


def is_wake_signal(signal: TransportMessage) -> bool:
    """Whether a signal says that a plan was set, which may be due before the next look."""
    return isinstance(signal, Signal) and signal.recipient.startswith("plan:")


def _get_seconds_until_due(tx: Reader) -> float:
    due = plans.find_next_due(tx)
    return MAX_WAIT if due is None else min(MAX_WAIT, (due - tx.now) / SECOND)
