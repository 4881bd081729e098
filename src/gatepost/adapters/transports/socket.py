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
    from gatepost.adapters.transports.lifeline import Changed, Lifeline

#: bytes of a datagram, and of one where the system says that it was too large (macOS takes 2,048)
_LARGE: Final = 60_000
_SMALL: Final = 2_000
_LARGEST_READ: Final = 256 * 1024
#: datagrams that are read before others in the event loop get their turn
_TURN: Final = 64
#: bytes of a path, with room to spare on every system
_LONGEST_PATH: Final = 100
#: seconds a thread waits for a listener that does not read, and datagrams that may wait for it
_PATIENCE: Final = 1.0
_MOST_WAITING: Final = 1_000

_FULL: Final = (errno.EAGAIN, errno.ENOBUFS)


class SocketTransport:
    name: ClassVar[str] = "socket"

    def __init__(
        self, folder: Path, *, beat: float = 5.0, largest: int = _LARGE, changed: "Changed | None" = None
    ) -> None:
        """The folder is made when somebody listens; `beat` seconds lie between looks at one's own file."""
        self._folder = folder
        self._beat = beat
        self._largest = largest
        self._changed = changed
        self._lifeline: Lifeline | None = None
        self._own = ""
        self._lock = threading.Lock()
        self._waiting: dict[str, deque[str]] = {}
        #: signals, or bunches of them, that were dropped
        self.lost = 0

    @property
    def status(self) -> TransportStatus:
        return self._lifeline.status if self._lifeline else TransportStatus()

    def send(self, signals: Sequence[TransportMessage]) -> None:
        listeners = self._listeners()
        if not listeners:  # most of the time on one machine; writing signals out costs more than all the rest
            return
        messages, lost = codec.messages(signals, most=self._largest)
        self.lost += lost
        if messages:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth:
                mouth.setblocking(False)
                for listener in listeners:
                    for message in messages:
                        self._send(mouth, listener, message)

    def _listeners(self) -> list[str]:
        """The names of all listeners but this one; those that begin with a dot are not ready yet."""
        try:
            with os.scandir(self._folder) as files:
                return [file.name for file in files if file.name != self._own and not file.name.startswith(".")]
        except OSError:  # no folder: nobody has listened yet
            return []

    def _send(self, mouth: socket.socket, listener: str, message: str) -> None:
        if listener in self._waiting:
            self._send_later(listener, message)
            return
        try:
            with _address(self._folder, listener) as address:
                mouth.sendto(message.encode(), address)
        except OSError as error:
            self._unsent(error, mouth, listener, message)

    def _unsent(self, error: OSError, mouth: socket.socket, listener: str, message: str) -> None:
        if error.errno in _FULL:
            self._send_later(listener, message)
        elif error.errno == errno.EMSGSIZE and len(message) > _SMALL:
            smaller, lost = codec.messages(codec.read(message), most=_SMALL, events=False)
            self.lost += lost
            for each in smaller:
                self._send(mouth, listener, each)
        elif error.errno == errno.ECONNREFUSED:
            with suppress(OSError):
                (self._folder / listener).unlink()
        elif error.errno != errno.ENOENT:
            self.lost += 1

    def _send_later(self, listener: str, message: str) -> None:
        with self._lock:
            queue = self._waiting.get(listener)
            if queue is None:
                queue = self._waiting[listener] = deque(maxlen=_MOST_WAITING)
                threading.Thread(target=self._wait, args=(listener, queue), name="gatepost-doorbell").start()
            self.lost += len(queue) == _MOST_WAITING
            queue.append(message)

    def _wait(self, listener: str, queue: deque[str]) -> None:
        """Send what waits for a listener as soon as it has room, until nothing waits."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as mouth, _address(self._folder, listener) as address:
                mouth.settimeout(_PATIENCE)
                mouth.connect(address)
                while self._next(listener, queue):
                    mouth.send(queue[0].encode())
                    queue.popleft()
        except OSError:
            with self._lock:
                self.lost += len(queue)
                self._waiting.pop(listener, None)

    def _next(self, listener: str, queue: deque[str]) -> bool:
        with self._lock:
            if not queue:
                del self._waiting[listener]
            return bool(queue)

    @asynccontextmanager
    async def listen(self, handle: MessageHandler) -> AsyncIterator[None]:
        from gatepost.adapters.transports.lifeline import Lifeline

        self._lifeline = Lifeline(self.name, patience=_PATIENCE, changed=self._changed)
        async with self._lifeline.held(lambda: self._bound(handle)):
            yield

    @asynccontextmanager
    async def _bound(self, heard: MessageHandler) -> AsyncIterator["_Doorbell"]:
        import asyncio

        loop = asyncio.get_running_loop()
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_stale()
        name = f"{os.getpid()}-{os.urandom(8).hex()}"
        path = self._folder / name
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ears:
            ears.setblocking(False)
            with _address(self._folder, f".{name}") as address:
                ears.bind(address)
            self._own = name
            (self._folder / f".{name}").rename(path)
            doorbell = _Doorbell(ears, path, heard, self._beat)
            loop.add_reader(ears.fileno(), doorbell.read)
            try:
                yield doorbell
            finally:
                loop.remove_reader(ears.fileno())
                with suppress(OSError):
                    path.unlink()

    def _remove_stale(self) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
            for listener in self._listeners():
                try:
                    with _address(self._folder, listener) as address:
                        probe.connect(address)
                except ConnectionRefusedError:
                    with suppress(OSError):
                        (self._folder / listener).unlink()
                except OSError:
                    continue


class _Doorbell:
    """The socket of a listener."""

    def __init__(self, ears: socket.socket, path: Path, heard: MessageHandler, beat: float) -> None:
        self._ears = ears
        self._path = path
        self._heard = heard
        self._beat = beat
        self._room = bytearray(_LARGEST_READ)

    def read(self) -> None:
        for _ in range(_TURN):
            try:
                size = self._ears.recv_into(self._room)
            except OSError:  # nothing more to read
                return
            for signal in codec.read(self._room[:size]):
                self._heard(signal)

    async def live(self) -> None:
        import asyncio

        while True:
            await asyncio.sleep(self._beat)
            if not self._path.exists():
                raise FileNotFoundError(f"{str(self._path)!r} was removed")

    def abort(self) -> None:
        """There is nobody to wait for."""


@contextmanager
def _address(folder: Path, name: str) -> Iterator[str]:
    """How to name a file to the kernel, which has room only for a short path."""
    path = str(folder / name)
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
    elif sys.platform == "linux":
        opened = os.open(folder, os.O_PATH | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{opened}/{name}"
        finally:
            os.close(opened)
    else:
        raise OSError(errno.ENAMETOOLONG, "the path of the home directory is too long for a socket")
