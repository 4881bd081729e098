"""
The transport on LISTEN and NOTIFY of PostgreSQL, on the channel `gatepost` of the store's database.

One connection sends and one listens: a listener must never wait for an answer. Many messages go in one NOTIFY, whose
payload must stay under 8,000 bytes; so signals go without their events. Within one transaction PostgreSQL delivers
equal payloads only once, therefore each payload begins with a number.

The heartbeat is a message to our own channel: it shows that both connections work and that everything between us and
the server (a connection pooler, for example) lets notifications through.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import count
from typing import Any, ClassVar, Final

import psycopg
from psycopg import AsyncConnection, sql

from gatepost.core.ports import MessageHandler
from gatepost.core.signals import TransportMessage
from gatepost.transports import codec
from gatepost.transports.server_transport import BrokerConnection, RemoteTransport

CHANNEL: Final = "gatepost"
_MAX_PAYLOAD_BYTES: Final = 7_900
_NOTIFY: Final = "SELECT pg_notify(%s, payload) FROM unnest(%s::text[]) AS payload"

Connection = AsyncConnection[tuple[Any, ...]]


class PostgresTransport(RemoteTransport):
    name: ClassVar[str] = "postgres"

    @asynccontextmanager
    async def connect(self, on_message: MessageHandler | None) -> AsyncIterator["_PostgresTransportConnection"]:
        async with AsyncExitStack() as stack:
            sender = await self._open_connection(stack)
            connection = _PostgresTransportConnection(
                sender, await self._open_connection(stack) if on_message else None, on_message
            )
            stack.callback(connection.abort)
            # Abort before the timeout of the caller cancels this: see `abort`.
            abort_timer = asyncio.get_running_loop().call_later(self._timeout * 0.9, connection.abort)
            try:
                await connection.listen()
            finally:
                abort_timer.cancel()
            yield connection

    async def _open_connection(self, stack: AsyncExitStack) -> Connection:
        connection = await AsyncConnection.connect(
            self._url, autocommit=True, application_name="gatepost-signals", prepare_threshold=None
        )
        stack.push_async_callback(connection.close)
        return connection


class _PostgresTransportConnection(BrokerConnection):
    def __init__(self, sender: Connection, listener: Connection | None, on_message: MessageHandler | None) -> None:
        self._sender = sender
        self._listener = listener
        self._watched_fd: int | None = None
        self._on_message = on_message
        self._own_channel = f"{CHANNEL}_{secrets.token_hex(8)}"
        self._echo = asyncio.Event()
        self._lost_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._numbers = count()

    async def listen(self) -> None:
        if self._listener is None:
            return
        self._listener.add_notify_handler(
            lambda notification: self._handle_notification(notification.channel, notification.pid, notification.payload)
        )
        for channel in (CHANNEL, self._own_channel):
            await self._listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
        self._watched_fd = self._listener.fileno()
        asyncio.get_running_loop().add_reader(self._watched_fd, self._read_notifications)

    async def send(self, messages: Sequence[TransportMessage]) -> int:
        bodies, lost_count = codec.encode_payloads(messages, max_bytes=_MAX_PAYLOAD_BYTES, include_events=False)
        payloads = [f"{next(self._numbers)} {body}" for body in bodies]
        await self._sender.execute(_NOTIFY, (CHANNEL, payloads))
        return lost_count

    async def check(self) -> None:
        self._echo.clear()
        await self._sender.execute(_NOTIFY, (self._own_channel, [""]))
        await self._echo.wait()

    async def wait_until_lost(self) -> None:
        await self._lost_future

    def abort(self) -> None:
        """Close by libpq, which does not wait; a cancelled driver would first ask the server to cancel."""
        if self._listener is not None:
            self._stop_reading()
            self._listener.pgconn.finish()
        self._sender.pgconn.finish()

    def _read_notifications(self) -> None:
        """Pass on the notifications. Nothing else arrives, because this connection sends no queries."""
        assert self._listener is not None
        try:
            self._listener.pgconn.consume_input()
            while notification := self._listener.pgconn.notifies():
                self._handle_notification(
                    notification.relname.decode(), notification.be_pid, notification.extra.decode()
                )
        except psycopg.Error as error:
            self._stop_reading()
            with suppress(asyncio.InvalidStateError):
                self._lost_future.set_exception(error)

    def _stop_reading(self) -> None:
        if self._watched_fd is not None:
            asyncio.get_running_loop().remove_reader(self._watched_fd)
            self._watched_fd = None

    def _handle_notification(self, channel: str, pid: int, payload: str) -> None:
        assert self._on_message is not None
        if channel == self._own_channel:
            self._echo.set()
        elif pid != self._sender.info.backend_pid:
            for message in codec.decode_payload(payload.partition(" ")[2]):
                self._on_message(message)
