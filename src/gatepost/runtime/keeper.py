"""
The keeper: ends gates and decisions that have run out of time, or for which what they wait for has come.

It looks when the next deadline is and says so, at most a few seconds ahead. Any number keep side by side on one store,
without a leader (`actions/endings.py`), so that no deadline depends on one process: if one is stopped, another one ends
what is due. It writes only when something is due. What came before its last look it does not go through again.
"""

from typing import Final

import structlog

from gatepost.actions import endings
from gatepost.actions.endings import Looked
from gatepost.core.event import Type
from gatepost.core.frame import TransportMessage
from gatepost.core.instants import SECOND
from gatepost.core.ring import Ring
from gatepost.errors import GatepostError, Unavailable
from gatepost.ports import Reader, Store

log = structlog.get_logger("gatepost.keeper")

#: seconds to sleep at most
LONGEST: Final = 5.0
#: seconds to leave to another keeper that has in hand what is due
_SHORTEST: Final = 0.1
#: what a ring says for a push; another cause may be anything
_TYPES: Final = frozenset(Type)


class Keeper:
    def __init__(self, store: Store) -> None:
        self._store = store
        #: in whose inbox an event of which type is waited for, as of the last look
        self._watched: frozenset[tuple[str, str]] = frozenset()
        #: how far it has looked for events
        self._looked: Looked | None = None

    async def look(self) -> float:
        """End what is over; return in how many seconds to look again."""
        while True:
            wait, watched, self._looked = await self._store.read(_seen, self._looked)
            if not watched <= self._watched:
                # What came to one of these since that look rang in vain: look once more, now that it would not.
                self._watched = watched
                continue
            self._watched = watched
            if wait > 0:
                return wait
            settled, stuck = await self._settled()
            if not settled:
                return LONGEST if stuck else _SHORTEST

    async def _settled(self) -> tuple[int, bool]:
        """
        End what is over: together, as nearly always can be done; else one by one, so that each stands for itself.
        Return how many have ended, and whether any could not be.
        """
        try:
            return await self._store.run(endings.settle, last=self._looked, lane="gates"), False
        except Unavailable:
            raise
        except GatepostError:
            settled = 0
        for id in await self._store.run(endings.over, self._looked, lane="gates"):
            try:
                settled += await self._store.run(endings.settle, only=id, last=self._looked, lane="gates")
            except Unavailable:
                raise
            except GatepostError as error:
                log.warning("gate cannot be ended", gate=id, reason=error.message)
        return settled, True

    def wakes(self, signal: TransportMessage) -> bool:
        """
        Whether a signal says that there may be something to end before the next look. Mail for a busy agent must not
        cause one where a tool's result is waited for.
        """
        if not isinstance(signal, Ring):
            return False
        return signal.recipient.startswith("gate:") or any(
            signal.recipient in (name, "*") and (signal.cause == type or signal.cause not in _TYPES)
            for name, type in self._watched
        )


def _seen(tx: Reader, last: Looked | None) -> tuple[float, frozenset[tuple[str, str]], Looked | None]:
    due = endings.next_due(tx)
    watched = endings.watching(tx)
    looked = endings.came(tx, last) if watched else None
    if looked is not None and looked.met:
        return 0.0, watched, looked
    return LONGEST if due is None else min(LONGEST, (due - tx.now) / SECOND), watched, looked
