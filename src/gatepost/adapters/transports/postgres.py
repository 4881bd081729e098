"""
PostgreSQL's LISTEN and NOTIFY, on the channel `gatepost` of the store's database.

One connection speaks and one listens: who listens must never wait for an answer. Many signals go in one NOTIFY, whose
payload has to stay under 8,000 bytes; so rings go without their events. Within one transaction PostgreSQL passes equal
payloads on only once, therefore each begins with a number.

The sign of life is a word to oneself, on a channel of one's own: it shows that both connections work and that whatever
lies between us and the server (a pooler, say) lets notifications through.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import Any, ClassVar, Final

import psycopg
from psycopg import AsyncConnection, sql

from gatepost.adapters.transports import codec
from gatepost.adapters.transports.remote import Line, RemoteTransport
from gatepost.core.frame import TransportMessage
from gatepost.ports import MessageHandler

CHANNEL: Final = "gatepost"
_ROOM: Final = 7_900
_NOTIFY: Final = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"

Connection = AsyncConnection[tuple[Any, ...]]


class PostgresTransport(RemoteTransport):
    name: ClassVar[str] = "postgres"

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(**options)
        self._url = url

    @asynccontextmanager
    async def connect(self, heard: MessageHandler | None) -> AsyncIterator["_Line"]:
        async with AsyncExitStack() as stack:
            mouth = await self._open(stack)
            line = _Line(mouth, await self._open(stack) if heard else None, heard)
            stack.callback(line.abort)
            # before the patience of whoever waits for this ends: see `abort`
            breaking = asyncio.get_running_loop().call_later(self._patience * 0.9, line.abort)
            try:
                await line.listen()
            finally:
                breaking.cancel()
            yield line

    async def _open(self, stack: AsyncExitStack) -> Connection:
        connection = await AsyncConnection.connect(
            self._url, autocommit=True, application_name="gatepost-rings", prepare_threshold=None
        )
        stack.push_async_callback(connection.close)
        return connection


class _Line(Line):
    def __init__(self, mouth: Connection, ears: Connection | None, heard: MessageHandler | None) -> None:
        self._mouth = mouth
        self._ears = ears
        self._watched: int | None = None
        self._heard = heard
        self._self = f"{CHANNEL}_{secrets.token_hex(8)}"
        self._echo = asyncio.Event()
        self._gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._numbers = count()

    async def listen(self) -> None:
        if self._ears is None:
            return
        self._ears.add_notify_handler(lambda note: self._note(note.channel, note.pid, note.payload))
        for channel in (CHANNEL, self._self):
            await self._ears.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        self._watched = self._ears.fileno()
        asyncio.get_running_loop().add_reader(self._watched, self._read)

    async def send(self, signals: Sequence[TransportMessage]) -> int:
        messages, lost = codec.messages(signals, most=_ROOM, events=False)
        payloads = [f"{next(self._numbers)} {message}" for message in messages]
        await self._mouth.execute(_NOTIFY, (CHANNEL, payloads))
        return lost

    async def check(self) -> None:
        self._echo.clear()
        await self._mouth.execute(_NOTIFY, (self._self, [""]))
        await self._echo.wait()

    async def lost(self) -> None:
        await self._gone

    def abort(self) -> None:
        """libpq says goodbye without waiting; the driver, if cancelled, would first ask the server to cancel."""
        if self._ears is not None:
            self._stop_reading()
            self._ears.pgconn.finish()
        self._mouth.pgconn.finish()

    def _read(self) -> None:
        """Whatever comes in is a notification, because nothing is asked on this connection."""
        assert self._ears is not None
        try:
            self._ears.pgconn.consume_input()
            while note := self._ears.pgconn.notifies():
                self._note(note.relname.decode(), note.be_pid, note.extra.decode())
        except psycopg.Error as error:
            self._stop_reading()
            with suppress(asyncio.InvalidStateError):
                self._gone.set_exception(error)

    def _stop_reading(self) -> None:
        if self._watched is not None:
            asyncio.get_running_loop().remove_reader(self._watched)
            self._watched = None

    def _note(self, channel: str, pid: int, payload: str) -> None:
        assert self._heard is not None
        if channel == self._self:
            self._echo.set()
        elif pid != self._mouth.info.backend_pid:
            for signal in codec.read(payload.partition(" ")[2]):
                self._heard(signal)
