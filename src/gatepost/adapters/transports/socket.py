"""
Doorbells: processes on one machine that share a home directory ring each other by unix datagrams.

Every listener has a socket of its own in a folder of the home; whoever rings sends to all of them. There is no server
that could be down and nothing to connect to: a command that runs for a moment rings by one system call for each
listener, without an event loop or a thread, and imports nothing for it.

- A datagram is sent without waiting. The kernel holds back only few (10 on many machines) for a listener that is
  busy; when there is no room a thread waits in the sender's place, for a second at most, and later ones queue behind.
- The file of a listener that died is refused by the kernel, and removed by whoever meets it. Names are never used
  twice, and a file gets its name only once it is bound, so nobody alive is refused.
- A listener looks from time to time whether its file is still there, and makes a new one if not.
- The kernel takes only short paths (108 bytes on Linux). A longer one is named through an open folder in /proc.
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

from gatepost.adapters.transports import codec
from gatepost.core.frame import TransportMessage
from gatepost.ports import MessageHandler, TransportStatus

if TYPE_CHECKING:
    from gatepost.adapters.transports.reconnect import ConditionHandler, Reconnector

#: bytes of a datagram, and of one where the system says that it was too large (macOS takes 2,048)
_MAX_DATAGRAM_BYTES: Final = 60_000
_SMALL_DATAGRAM_BYTES: Final = 2_000
_READ_BUFFER_BYTES: Final = 256 * 1024
#: datagrams that are read before others in the event loop get their turn
_MAX_READS_PER_TURN: Final = 64
#: bytes of a path, with room to spare on every system
_MAX_PATH_BYTES: Final = 100
#: seconds a thread waits for a listener that does not read, and datagrams that may wait for it
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
        on_change: "ConditionHandler | None" = None,
    ) -> None:
        """The folder is made when somebody listens; `beat` seconds lie between looks at one's own file."""
        self._folder = folder
        self._check_interval = check_interval
        self._max_bytes = max_bytes
        self._on_change = on_change
        self._reconnector: Reconnector | None = None
        self._own_name = ""
        self._lock = threading.Lock()
        self._queues: dict[str, deque[str]] = {}
        #: signals, or bunches of them, that were dropped
        self.lost_count = 0

    @property
    def status(self) -> TransportStatus:
        return self._reconnector.status if self._reconnector else TransportStatus()

    def send(self, messages: Sequence[TransportMessage]) -> None:
        listeners = self._listeners()
        if not listeners:  # most of the time on one machine; writing signals out costs more than all the rest
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
        """The names of all listeners but this one; those that begin with a dot are not ready yet."""
        try:
            with os.scandir(self._folder) as files:
                return [file.name for file in files if file.name != self._own_name and not file.name.startswith(".")]
        except OSError:  # no folder: nobody has listened yet
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
                threading.Thread(target=self._send_queued, args=(listener, queue), name="gatepost-doorbell").start()
            self.lost_count += len(queue) == _MAX_QUEUED
            queue.append(payload)

    def _send_queued(self, listener: str, queue: deque[str]) -> None:
        """Send what waits for a listener as soon as it has room, until nothing waits."""
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
        from gatepost.adapters.transports.reconnect import Reconnector

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
    """The socket of a listener."""

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
            except OSError:  # nothing more to read
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
        """There is nobody to wait for."""


@contextmanager
def _resolve_address(folder: Path, name: str) -> Iterator[str]:
    """How to name a file to the kernel, which has room only for a short path."""
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
