"""
The signal bus: passes signals of this process and of other processes to subscribers, by a table of who listens to what.

`on_commit` is the signal sink of the store. Signals of a commit in this process go to the subscribers in this process
and to the transport; signals that the transport receives from other processes go to the same subscribers. So a
subscriber does not know where a signal came from, and must accept a signal twice. `LISTENERS` names the subscribers in
later rooms, and the kinds of topics that each of them gets; a signal that nobody listens to costs nothing.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final, get_args

from gatepost.core.ports import MessageHandler, Transport
from gatepost.core.signals import Signal, SignalTopicKind, TransportMessage
from gatepost.core.transport_records import TransportStatus

#: who listens to which topics. A duty is woken by signals of these topics; `should_wake` of `Duty` narrows them down:
#: a job wakes the duty that runs jobs of its kind. What a lost signal would have said, a duty finds at its interval
LISTENERS: Final[Mapping[str, Sequence[SignalTopicKind]]] = {
    # the gateway: gateway/web_app.py, gateway/waiting_requests.py, gateway/mcp_endpoint.py, gateway/serve.py
    "streams": ("inbox", "space", "run", "shared", "agent", "plan", "trigger", "keys"),
    "gate frames": ("gate", "decision"),
    "chat presence": ("inbox", "agent"),
    "waiting requests": ("inbox",),
    "authenticator": ("keys",),
    "mcp": ("inbox", "space", "decision", "work"),
    "hook socket": ("inbox",),
    "spool relay": ("inbox",),
    "codex": ("inbox",),
    "queue reader": ("inbox",),
    # the worker: worker/background_tasks.py
    "supervisor": ("inbox",),
    "plans": ("plan",),
    "triggers": ("trigger",),
    "jobs": ("job",),
    "deadlines": ("gate", "inbox"),
    "gate-checks": ("gate",),
    "ledger-jobs": ("job",),
    "ledger-listener": (),
    "janitor": (),
    "disk": (),
    "resend": (),
    # the channels of a worker: channels/background/channel_tasks.py
    "channels": ("trigger",),
    "channel-sender": ("job",),
    "voices": ("job",),
    "voice-patience": (),
    "typing indicator": ("inbox", "agent"),
}


class SignalBus:
    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self._subscribers: dict[SignalTopicKind, list[MessageHandler]] = {
            kind: [] for kind in get_args(SignalTopicKind)
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        #: how often a subscriber raised; it gets the next signal all the same
        self.failures = 0

    @property
    def name(self) -> str:
        """The transport's name, as in the settings."""
        return self._transport.name if self._transport else "none"

    @property
    def status(self) -> TransportStatus:
        return self._transport.status if self._transport else TransportStatus()

    def on_commit(self, signals: Sequence[Signal]) -> None:
        """Pass on the signals of a commit; called on the thread that committed."""
        self.send(signals)

    def send(self, signals: Sequence[TransportMessage]) -> None:
        """Pass signals to the subscribers in this process and to other processes; from any thread."""
        loop = self._loop
        if loop is not None and threading.get_ident() == self._loop_thread:
            loop.call_soon(self.dispatch, signals)  # no need to wake it
        elif loop is not None:
            with suppress(RuntimeError):  # the loop is closed: there are no subscribers any more
                loop.call_soon_threadsafe(self.dispatch, signals)
        if self._transport is not None:
            self._transport.send(signals)

    def dispatch(self, signals: Sequence[TransportMessage]) -> None:
        """Pass signals to the subscribers in this process only; call it in the event loop."""
        for signal in signals:
            for subscriber in tuple(self._subscribers.get(signal.topic.kind, ())):
                try:
                    subscriber(signal)
                except Exception:  # noqa: BLE001 (a failing subscriber must not stop the others)
                    self.failures += 1

    @contextmanager
    def subscribe(self, subscriber: MessageHandler, name: str | None = None) -> Iterator[None]:
        """
        While entered, call `subscriber` in the event loop for every signal that `LISTENERS` has for the name, or,
        without a name, for every signal; it must be quick.
        """
        kinds = get_args(SignalTopicKind) if name is None else LISTENERS[name]
        for kind in kinds:
            self._subscribers[kind].append(subscriber)
        try:
            yield
        finally:
            for kind in kinds:
                self._subscribers[kind].remove(subscriber)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """While entered, pass signals on, and receive those of other processes."""
        self._loop, self._loop_thread = asyncio.get_running_loop(), threading.get_ident()
        try:
            if self._transport is None:
                yield
            else:
                async with self._transport.listen(lambda signal: self.dispatch([signal])):
                    yield
        finally:
            self._loop = None
