"""
The notice of a gateway: `gateway.json` in the home says where it listens, which process it is and which store it is on,
so that commands find it. One that its gateway could not take down, because it was killed, is recognised by its process
being gone.

There is one notice, and there may be several gateways. Whoever comes second leaves it to the first as long as that one
can be reached, and puts up its own when it looks again and the first is gone. A process alone is not enough to go by
then: its number may by now be another program's, and nobody would ever be found here again.
"""

import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import structlog

from gatepost import home as houses

log = structlog.get_logger("gatepost.notice")

NAME: Final = "gateway.json"
#: seconds that another gateway on this machine gets to take a call
_PATIENCE: Final = 2.0


@dataclass(frozen=True, slots=True)
class Notice:
    url: str
    pid: int
    #: its URL, without a password
    store: str
    #: where it answers the hooks of guests on this machine
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
        if found is None or found.pid == notice.pid or found.url == url or not _reached(found.url):
            houses.write(str(home / NAME), json.dumps(asdict(notice)) + "\n")
        elif found != told:
            log.warning("another gateway is in this home, and commands are left to it", url=found.url, pid=found.pid)
            told = found

    look()
    try:
        yield look
    finally:
        _take_down(home, notice)


def read(home: Path) -> Notice | None:
    """The notice of a gateway whose process lives; one of a process that is gone is taken down."""
    notice = _read(home)
    if notice is not None and not _lives(notice.pid):
        _take_down(home, notice)
        return None
    return notice


def _read(home: Path) -> Notice | None:
    try:
        document = json.loads((home / NAME).read_bytes())
        return Notice(str(document["url"]), int(document["pid"]), str(document["store"]), document.get("socket"))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _take_down(home: Path, notice: Notice) -> None:
    if _read(home) == notice:
        with suppress(OSError):
            (home / NAME).unlink()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        return True
    return pid > 0


def _reached(url: str) -> bool:
    """Whether somebody listens there; one that is halted does."""
    try:
        where = urlsplit(url)
        with socket.create_connection((where.hostname or "", where.port or 0), timeout=_PATIENCE):
            return True
    except (OSError, ValueError):
        return False
