"""
The notice of a gateway: `gateway.json` in the home says where it listens, which process it is, which store it is on,
and on which local socket it answers.

The file alone proves nothing. A gateway that was killed leaves it there, its process number is given to another
program, and its port may be anybody's; whoever went by those would send the administrator's key to a stranger. So
commands ask on the socket (`find`). Only this user can listen there, and a socket whose process is gone refuses every
connection; without an answer the gateway is gone.

There is one notice, and there may be several gateways. Whoever comes second leaves it to the first as long as that one
listens on its socket, and puts up its own when it looks again and the first is gone.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import structlog

from gatepost import home as houses

log = structlog.get_logger("gatepost.notice")

NAME: Final = "gateway.json"
#: seconds in which a gateway that lives answers
_PATIENCE: Final = 5.0
_LONGEST_ANSWER: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Notice:
    url: str
    pid: int
    #: its URL, without a password
    store: str
    #: where it answers the hooks and commands of this machine
    socket: str | None = None


@contextmanager
def posted(home: Path, url: str, store: str, socket: str | None = None) -> Iterator[Callable[[], None]]:
    """While entered, the notice is there, or another gateway's that was first; call what it yields to look again."""
    notice = Notice(url, os.getpid(), store, socket)
    told: Notice | None = None

    def look() -> None:
        nonlocal told
        found = read(home)
        if found == notice:
            return
        if found is None or found.pid == notice.pid or found.url == url or (socket and not _listens(home, found)):
            houses.write(str(home / NAME), json.dumps(asdict(notice)) + "\n")
        elif found != told:
            log.warning("another gateway is in this home, and commands are left to it", url=found.url, pid=found.pid)
            told = found

    look()
    try:
        yield look
    finally:
        _take_down(home, notice)


def find(home: Path) -> Notice | None:
    """
    Return what the gateway of this home says of itself on its socket; None if no gateway answers there. The notice of
    one that is gone is taken down.
    """
    notice = read(home)
    if notice is None or notice.socket is None:
        return None
    try:
        with _connect(home, notice.socket) as line:
            line.sendall(b'{"v": 1, "op": "where"}\n')
            said = json.loads(_receive(line))
        return Notice(str(said["url"]), int(said["pid"]), str(said["store"]), notice.socket)
    except (FileNotFoundError, ConnectionRefusedError):
        _take_down(home, notice)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass  # it is halted, or not ours
    return None


def read(home: Path) -> Notice | None:
    """Return the notice as it is written; one that another user has put there is none."""
    try:
        document = json.loads(houses.read(str(home / NAME), like=str(home)))
        where = document.get("socket")
        return Notice(
            str(document["url"]),
            int(document["pid"]),
            str(document["store"]),
            where if isinstance(where, str) else None,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _take_down(home: Path, notice: Notice) -> None:
    if read(home) == notice:
        with suppress(OSError):
            (home / NAME).unlink()


def _listens(home: Path, notice: Notice) -> bool:
    """Return True if a gateway listens on the socket of a notice; one that is halted does."""
    if notice.socket is None:
        return False
    try:
        _connect(home, notice.socket).close()
    except (TimeoutError, BlockingIOError):  # too many wait for it
        return True
    except OSError:
        return False
    return True


def _connect(home: Path, path: str) -> socket.socket:
    """Connect to a socket that is this user's own, or raise OSError."""
    houses.check_socket(path, like=str(home))
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        line.settimeout(_PATIENCE)
        line.connect(path)
    except BaseException:
        line.close()
        raise
    return line


def _receive(line: socket.socket) -> bytes:
    """Receive one line."""
    heard = b""
    while not heard.endswith(b"\n"):
        more = line.recv(4_096)
        if not more or len(heard) > _LONGEST_ANSWER:
            raise ConnectionError("it hung up")
        heard += more
    return heard
