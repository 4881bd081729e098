"""
The waiters of guest sessions: each keeps a line to the gateway until its session is to be woken.

A waiter is looked at when something is committed for its agent, when a hook of its session was answered (the agent may
be idle now), and when the janitor says again who has pending items. So a waiter costs nothing while nothing happens.
Each look reads by the rule in `guests/wake_actions.py`; what it decides is recorded before the waiter is told.

Readers on this machine look at the process of a waiter. Where a store is shared by machines, the others go by what is
recorded: so it is confirmed now and then, and taken back when the line ends.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import structlog

from gatepost.core.ports import Store
from gatepost.core.signals import EVERY_INBOX, Signal, TransportMessage
from gatepost.core.times import Instant
from gatepost.errors import GatepostError
from gatepost.guests import reachability, session_actions as sessions, wake_actions as wakes
from gatepost.guests.hooks import host_process
from gatepost.guests.hooks.session_state import has_ended

log = structlog.get_logger("gatepost.waiters")

#: seconds between two confirmations, where the store is shared by machines
_CONFIRM_INTERVAL: Final = 60.0


@dataclass(slots=True)
class _Waiter:
    session: str
    waker: str | None
    #: the process of the program, if it has a name
    program: str | None
    #: None until the hooks of the session have made it known
    agent: str | None = None
    look: asyncio.Event = field(default_factory=asyncio.Event)


def end_gone(store: Store) -> None:
    """End the sessions whose program was killed, and could not say that it ends."""
    gone = [(id, program) for id, program in store.read_sync(sessions.list_programs) if host_process.is_gone(program)]
    if gone:
        store.run_sync(sessions.end_gone, gone)


class SessionWaiters:
    def __init__(self, home: Path, store: Store, *, is_shared: bool) -> None:
        self._home = home
        self._store = store
        self._is_shared = is_shared
        self._waiters: list[_Waiter] = []

    def on_signal(self, signal: TransportMessage) -> None:
        """Look at the waiters of an agent for whom something was committed."""
        if isinstance(signal, Signal) and (signal.topic.kind == "inbox" or signal.topic == EVERY_INBOX):
            for waiter in self._waiters:
                if waiter.agent in (None, signal.topic.name) or signal.topic == EVERY_INBOX:
                    waiter.look.set()

    def on_hook(self, session: str) -> None:
        """Look at the waiters of the agent of a session that has just called a hook: another may be better now."""
        agents = {waiter.agent for waiter in self._waiters if waiter.session == session}
        for waiter in self._waiters:
            if waiter.agent is None or waiter.agent in agents:
                waiter.look.set()

    async def wait(
        self,
        session: str,
        waker: str | None,
        program: str | None,
        hung_up: "asyncio.Future[Any]",
        closing: "asyncio.Future[Any]",
    ) -> Instant | None:
        """
        Wait until a session is to be woken; return since when it could have been shown the item. Return None if the
        waiter hangs up, the session ends, or the gateway stops.
        """
        waiter = _Waiter(session, waker, program)
        self._waiters.append(waiter)
        is_woken = False
        waiter.look.set()
        try:
            while not (hung_up.done() or closing.done()):
                if waiter.look.is_set():
                    waiter.look.clear()
                    since = await asyncio.to_thread(self._look, waiter)
                    if since is not None:
                        is_woken = True
                        return since
                    if await asyncio.to_thread(has_ended, self._home, session):
                        return None
                await self._wait_for_look(waiter, hung_up, closing)
            return None
        finally:
            self._waiters.remove(waiter)
            if not is_woken and not closing.done():
                await asyncio.to_thread(self._disarm, waiter)

    async def _wait_for_look(
        self, waiter: _Waiter, hung_up: "asyncio.Future[Any]", closing: "asyncio.Future[Any]"
    ) -> None:
        looking = asyncio.ensure_future(waiter.look.wait())
        timeout = _CONFIRM_INTERVAL if self._is_shared else None
        try:
            done, _ = await asyncio.wait(
                {looking, hung_up, closing}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                await asyncio.to_thread(self._confirm, waiter)
        finally:
            looking.cancel()

    def _look(self, waiter: _Waiter) -> Instant | None:
        """Return since when the session could have been shown an item, if it is to be woken now."""
        try:
            if waiter.agent is None and not self._arm(waiter):
                return None
            find = self._store.read_sync(wakes.find_wake, waiter.session, is_running=host_process.is_running)
            if find is None:
                return None
            return self._store.run_sync(wakes.take_wake, waiter.session, is_running=host_process.is_running)
        except GatepostError as error:
            log.warning("a session cannot be woken now", session=waiter.session, reason=error.message)
            return None

    def _arm(self, waiter: _Waiter) -> bool:
        """Record that a session has a waiter; return False if its hooks have not recorded yet that it has begun."""
        processes = {"waker": waiter.waker, "program": waiter.program}
        is_known = self._store.run_sync(sessions.arm, waiter.session, method=reachability.WAITER, **processes)
        if is_known:
            waiter.agent = self._store.read_sync(sessions.find, waiter.session).agent
        return is_known

    def _confirm(self, waiter: _Waiter) -> None:
        with suppress(GatepostError):  # then the next one does it
            self._store.run_sync(sessions.confirm, [waiter.session])

    def _disarm(self, waiter: _Waiter) -> None:
        with suppress(GatepostError):  # then its process, or the age of the report, says so
            self._store.run_sync(sessions.disarm, waiter.session, waker=waiter.waker)
            end_gone(self._store)
