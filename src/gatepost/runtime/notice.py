"""
The notice of a gateway: `gateway.json` in the home says where it listens, which process it is and which store it is on,
so that commands find it. One that its gateway could not take down, because it was killed, is recognised by its process
being gone.
"""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

NAME: Final = "gateway.json"


@dataclass(frozen=True, slots=True)
class Notice:
    url: str
    pid: int
    #: its URL, without a password
    store: str
    #: where it answers the hooks of guests on this machine
    socket: str | None = None


@contextmanager
def posted(home: Path, url: str, store: str, socket: str | None = None) -> Iterator[None]:
    """While entered, the notice is there; another gateway's in its place is left alone."""
    notice = Notice(url, os.getpid(), store, socket)
    aside = home / f".{NAME}.{secrets.token_hex(4)}"
    with os.fdopen(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write(json.dumps(asdict(notice)) + "\n")
    aside.replace(home / NAME)
    try:
        yield
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
