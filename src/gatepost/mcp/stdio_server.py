"""
MCP on stdin and stdout, one message a line.

    claim  ->  write, flush  ->  ack

A batch that was drained for an answer is acked once the line of the answer was written and flushed. A batch whose
request was cancelled, or whose line could not be written, is released. If the process is killed in between, the claim
lapses, and the items go to the next reader.

While the server runs, file descriptor 1 is stderr and 0 is empty, so that nothing else can write or read a message.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import BinaryIO, Final, Protocol

import anyio
import anyio.abc
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from gatepost.core.signals import Topic
from gatepost.mcp.server import McpServer
from gatepost.mcp.server_port import BatchDelivery, Context, Peer

#: bytes of a line
_MAX_LINE_LENGTH: Final = 16 * 1024 * 1024


class Connector(Protocol):
    """Reaches Gatepost, whichever way that is possible at the moment."""

    async def connect(self) -> Peer:
        """Return who the caller is now."""
        ...

    def subscribe(self, listener: Callable[[Topic], None]) -> AbstractContextManager[None]: ...


class StdioHost:
    """The host of a server on stdin and stdout."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self.subscribe = connector.subscribe
        self.stopping = anyio.Event()
        self._deliveries: dict[types.RequestId, BatchDelivery] = {}

    async def identify(self, _context: Context) -> Peer:
        return await self._connector.connect()

    def accept_cancel(self, _context: Context) -> anyio.CancelScope:
        return anyio.CancelScope()  # the SDK cancels requests of this connection itself

    def hand_over(self, context: Context, delivery: BatchDelivery) -> None:
        assert context.request_id is not None
        self._deliveries[context.request_id] = delivery

    async def end_delivery(self, id: types.RequestId | None, *, is_sent: bool) -> None:
        """Ack or release the batch of an answer, if it carries one."""
        delivery = self._deliveries.pop(id, None) if id is not None else None
        if delivery is not None:
            await delivery.end(is_sent=is_sent)

    async def release_all(self) -> None:
        for id in tuple(self._deliveries):
            await self.end_delivery(id, is_sent=False)

    async def on_cancelled(self, _context: Context, params: types.CancelledNotificationParams) -> None:
        """Release the batch of a request that was cancelled after it was answered and before that was written."""
        await self.end_delivery(params.request_id, is_sent=False)


async def serve_stdio(
    connector: Connector,
    version: str,
    stop: asyncio.Event,
) -> None:
    """Serve until stdin ends, or until `stop` is set."""
    host = StdioHost(connector)
    mcp_server = McpServer(host, version, lasts=True)
    server = mcp_server.server
    server.add_notification_handler("notifications/cancelled", types.CancelledNotificationParams, host.on_cancelled)
    async with anyio.create_task_group() as tasks, _open_streams(host, stop) as (reader, writer):
        mcp_server.subscriptions.tasks = tasks
        await server.run(reader, writer, server.create_initialization_options())
        tasks.cancel_scope.cancel()


Reader = MemoryObjectReceiveStream[SessionMessage | Exception]
Writer = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def _open_streams(host: StdioHost, stop: asyncio.Event) -> AsyncIterator[tuple[Reader, Writer]]:
    """Yield the messages that come in, and where to send those that go out."""
    incoming, reader = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writer, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    stdin, stdout = _take_descriptors()
    reading = anyio.CancelScope()

    async def wait_for_stop() -> None:
        await stop.wait()
        reading.cancel()  # as if stdin had ended

    async def read() -> None:
        async with incoming, writer.clone() as refusals:
            with reading, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                while line := await anyio.to_thread.run_sync(stdin.readline, _MAX_LINE_LENGTH, abandon_on_cancel=True):
                    message = _parse(line)
                    if isinstance(message, types.JSONRPCError):
                        await refusals.send(SessionMessage(message))
                    else:
                        await incoming.send(message)

    async def write() -> None:
        async with outgoing:
            async for message in outgoing:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
                id = message.message.id if isinstance(message.message, types.JSONRPCResponse) else None
                try:
                    with anyio.CancelScope(shield=True):
                        await anyio.to_thread.run_sync(_write, stdout, line)
                except OSError:  # the host is gone
                    await host.release_all()
                    return
                await host.end_delivery(id, is_sent=True)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait_for_stop)
        tasks.start_soon(read)
        tasks.start_soon(write)
        try:
            yield reader, writer
        finally:
            host.stopping.set()
            tasks.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await host.release_all()


def _parse(line: bytes) -> SessionMessage | types.JSONRPCError | ValueError:
    """Return the message of a line, the answer to a request that cannot be read, or what is wrong with other lines."""
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        id = _find_request_id(line)
        if id is None:
            return error
        fault = error.errors(include_url=False, include_input=False)[0]
        if fault["type"] != "json_invalid":
            return _refuse(id, types.INVALID_REQUEST, "this is not a request of MCP")
        return _refuse(id, types.PARSE_ERROR, f"the request cannot be read ({fault['msg']})")


def _find_request_id(line: bytes) -> types.RequestId | None:
    """Return the id of a request that the protocol cannot read: it has half a character in it, or is nested deep."""
    try:
        document = json.loads(line.decode(errors="replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or "method" not in document:
        return None
    id = document.get("id")
    is_id = (isinstance(id, int) and not isinstance(id, bool)) or (isinstance(id, str) and id.isprintable())
    return id if is_id else None


def _refuse(id: types.RequestId, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id, error=types.ErrorData(code=code, message=message))


def _write(stdout: BinaryIO, line: bytes) -> None:
    stdout.write(line)
    stdout.flush()


def _take_descriptors() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and stdout for the server alone: what else is written to stdout goes to stderr."""
    stdin, stdout = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    sys.stdout.flush()
    os.dup2(2, 1)
    with open(os.devnull, "rb") as null:  # noqa: PTH123 (a device)
        os.dup2(null.fileno(), 0)
    return stdin, stdout
