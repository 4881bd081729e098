"""
The transport between processes on one machine that share a home directory: unix datagrams.

Every listener binds a socket in a folder of the home directory, and a sender sends to all of them. There is no server
that could be down and no connection to open: a command that runs for a moment sends its signals by one system call for
each listener, without an event loop or a thread, and without further imports.

- A datagram is sent without waiting. The kernel buffers only a few (10 on many machines) for a listener that is busy;
  if the buffer is full a thread waits in place of the sender, for a second at most, and later datagrams queue behind.
- The kernel refuses datagrams to the file of a listener that died; the sender then removes the file. Names are never
  used twice, and a file gets its name only after it is bound, so a listener that is alive is never refused.
- A listener checks from time to time that its file still exists, and binds a new one if not.
- The kernel accepts only short paths (108 bytes on Linux). A longer one is addressed through an open folder in /proc.
"""

import errno
import os
import socket
import sys
import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from gatepost.core.ports import MessageHandler
from gatepost.core.signals import TransportMessage
from gatepost.core.transport_records import TransportStatus
from gatepost.transports import codec

if TYPE_CHECKING:
    from gatepost.transports.reconnect import Reconnector, StatusHandler

#: bytes of a datagram, and of one after the system refused it as too large (macOS allows 2,048)
_MAX_DATAGRAM_BYTES: Final = 60_000
_SMALL_DATAGRAM_BYTES: Final = 2_000
_READ_BUFFER_BYTES: Final = 256 * 1024
#: datagrams that are read before other callbacks of the event loop run
_MAX_READS_PER_TURN: Final = 64
#: bytes of a path; every system allows more
_MAX_PATH_BYTES: Final = 100
#: seconds that a thread waits for a listener that does not read, and datagrams that may wait for it
_SEND_TIMEOUT: Final = 1.0
_MAX_QUEUED: Final = 1_000

_BUFFER_FULL_ERRORS: Final = (errno.EAGAIN, errno.ENOBUFS)


class SocketTransport:
    name: ClassVar[str] = "socket"

    def __init__(
        self,
        folder: Path,
        *,
        check_interval: float = 5.0,
        max_bytes: int = _MAX_DATAGRAM_BYTES,
        on_change: "StatusHandler | None" = None,
    ) -> None:
        """`listen` creates the folder, and checks every `check_interval` seconds that its own file exists."""
        self._folder = folder
        self._check_interval = check_interval
        self._max_bytes = max_bytes
        self._on_change = on_change
        self._reconnector: Reconnector | None = None
        self._own_name = ""
        self._lock = threading.Lock()
        self._queues: dict[str, deque[str]] = {}
        #: messages that were dropped; a dropped datagram counts as one
        self.lost_count = 0

    @property
    def status(self) -> TransportStatus:
        return self._reconnector.status if self._reconnector else TransportStatus()

    def send(self, messages: Sequence[TransportMessage]) -> None:
        listeners = self._listeners()
        if not listeners:  # the usual case on one machine; encoding is the expensive part
            return
        payloads, lost_count = codec.encode_payloads(messages, max_bytes=self._max_bytes)
        self.lost_count += lost_count
        if payloads:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                for listener in listeners:
                    for payload in payloads:
                        self._send(sender, listener, payload)

    def _listeners(self) -> list[str]:
        """Return the names of all other listeners; a file that begins with a dot is not ready yet."""
        try:
            with os.scandir(self._folder) as files:
                return [file.name for file in files if file.name != self._own_name and not file.name.startswith(".")]
        except OSError:  # no folder: no process has listened yet
            return []

    def _send(self, sender: socket.socket, listener: str, payload: str) -> None:
        if listener in self._queues:
            self._send_later(listener, payload)
            return
        try:
            with _resolve_address(self._folder, listener) as address:
                sender.sendto(payload.encode(), address)
        except OSError as error:
            self._handle_send_error(error, sender, listener, payload)

    def _handle_send_error(self, error: OSError, sender: socket.socket, listener: str, payload: str) -> None:
        if error.errno in _BUFFER_FULL_ERRORS:
            self._send_later(listener, payload)
        elif error.errno == errno.EMSGSIZE and len(payload) > _SMALL_DATAGRAM_BYTES:
            small_payloads, lost_count = codec.encode_payloads(
                codec.decode_payload(payload), max_bytes=_SMALL_DATAGRAM_BYTES, include_events=False
            )
            self.lost_count += lost_count
            for small_payload in small_payloads:
                self._send(sender, listener, small_payload)
        elif error.errno == errno.ECONNREFUSED:
            with suppress(OSError):
                (self._folder / listener).unlink()
        elif error.errno != errno.ENOENT:
            self.lost_count += 1

    def _send_later(self, listener: str, payload: str) -> None:
        with self._lock:
            queue = self._queues.get(listener)
            if queue is None:
                queue = self._queues[listener] = deque(maxlen=_MAX_QUEUED)
                threading.Thread(target=self._send_queued, args=(listener, queue), name="gatepost-socket").start()
            self.lost_count += len(queue) == _MAX_QUEUED
            queue.append(payload)

    def _send_queued(self, listener: str, queue: deque[str]) -> None:
        """Send the datagrams of a queue as fast as the listener reads, until the queue is empty."""
        try:
            with (
                socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
                _resolve_address(self._folder, listener) as address,
            ):
                sender.settimeout(_SEND_TIMEOUT)
                sender.connect(address)
                while self._has_next(listener, queue):
                    sender.send(queue[0].encode())
                    queue.popleft()
        except OSError:
            with self._lock:
                self.lost_count += len(queue)
                self._queues.pop(listener, None)

    def _has_next(self, listener: str, queue: deque[str]) -> bool:
        with self._lock:
            if not queue:
                del self._queues[listener]
            return bool(queue)

    @asynccontextmanager
    async def listen(self, handle: MessageHandler) -> AsyncIterator[None]:
        from gatepost.transports.reconnect import Reconnector

        self._reconnector = Reconnector(self.name, connect_timeout=_SEND_TIMEOUT, on_change=self._on_change)
        async with self._reconnector.keep_connected(lambda: self._bind(handle)):
            yield

    @asynccontextmanager
    async def _bind(self, on_message: MessageHandler) -> AsyncIterator["_ListenerSocket"]:
        import asyncio

        loop = asyncio.get_running_loop()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_stale()
        name = f"{os.getpid()}-{os.urandom(8).hex()}"
        path = self._folder / name
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            with _resolve_address(self._folder, f".{name}") as address:
                sock.bind(address)
            self._own_name = name
            (self._folder / f".{name}").rename(path)
            listener_socket = _ListenerSocket(sock, path, on_message, self._check_interval)
            loop.add_reader(sock.fileno(), listener_socket.read)
            try:
                yield listener_socket
            finally:
                loop.remove_reader(sock.fileno())
                with suppress(OSError):
                    path.unlink()

    def _remove_stale(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            for listener in self._listeners():
                try:
                    with _resolve_address(self._folder, listener) as address:
                        probe.connect(address)
                except ConnectionRefusedError:
                    with suppress(OSError):
                        (self._folder / listener).unlink()
                except OSError:
                    continue


class _ListenerSocket:
    """The bound socket of this process: reads datagrams, and notices if its file was removed."""

    def __init__(self, sock: socket.socket, path: Path, on_message: MessageHandler, check_interval: float) -> None:
        self._sock = sock
        self._path = path
        self._on_message = on_message
        self._check_interval = check_interval
        self._buffer = bytearray(_READ_BUFFER_BYTES)

    def read(self) -> None:
        for _ in range(_MAX_READS_PER_TURN):
            try:
                size = self._sock.recv_into(self._buffer)
            except OSError:  # no more datagrams
                return
            for message in codec.decode_payload(self._buffer[:size]):
                self._on_message(message)

    async def run(self) -> None:
        import asyncio

        while True:
            await asyncio.sleep(self._check_interval)
            if not self._path.exists():
                raise FileNotFoundError(f"{str(self._path)!r} was removed")

    def abort(self) -> None:
        """Do nothing: there is no server to wait for."""


@contextmanager
def _resolve_address(folder: Path, name: str) -> Iterator[str]:
    """Yield the address of a socket file, short enough for the kernel."""
    path = str(folder / name)
    if len(os.fsencode(path)) <= _MAX_PATH_BYTES:
        yield path
    elif sys.platform == "linux":
        folder_fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder_fd}/{name}"
        finally:
            os.close(folder_fd)
    else:
        raise OSError(errno.ENAMETOOLONG, "the path of the home directory is too long for a socket")
