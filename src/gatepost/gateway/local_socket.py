"""A unix socket in the home, for this user alone."""

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog

from gatepost.paths import is_running

log = structlog.get_logger("gatepost.hook_socket")

NAME: Final = "gateway.sock"
#: bytes of a path that the kernel has room for, with some to spare
_MAX_PATH_BYTES: Final = 100
_BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True)
class LocalSocket:
    socket: socket.socket
    path: str


@contextmanager
def listen_locally(home: Path) -> Iterator[LocalSocket | None]:
    """
    Yield a socket that listens, or None, with a warning, if none can be made. Its path is in the home or, if that is
    too long for a socket, in a temporary folder of its own.
    """
    with ExitStack() as stack:
        try:
            _remove_stale_sockets(home)
            path = _choose_path(home, stack)
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            os.fchmod(listener.fileno(), 0o600)  # before anybody can reach it
            listener.bind(path)
            Path(path).chmod(0o600)  # where the system does not go by that
            stack.callback(_remove_socket, path, os.stat(path).st_ino)  # noqa: PTH116 (a string as it is)
            listener.listen(_BACKLOG)
            listener.setblocking(False)
        except (OSError, AttributeError) as error:
            log.warning(
                "hooks and commands do not find this gateway, and work on the store by themselves", reason=str(error)
            )
            yield None
            return
        yield LocalSocket(listener, path)


def _remove_stale_sockets(home: Path) -> None:
    """Remove the sockets of second gateways that were killed: nobody listens there any more."""
    for path in home.glob(f"*.{NAME}"):
        pid = path.name.removesuffix(f".{NAME}")
        with suppress(OSError):
            if pid.isdecimal() and path.is_socket() and not is_running(int(pid)):
                _free_path(str(path))


def _choose_path(home: Path, stack: ExitStack) -> str:
    for path in (str(home / NAME), str(home / f"{os.getpid()}.{NAME}")):
        if len(os.fsencode(path)) > _MAX_PATH_BYTES:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gatepost-", ignore_cleanup_errors=True))
            return f"{folder}/{NAME}"
        if _free_path(path):
            return path
    raise FileExistsError(f"{str(home / NAME)!r} is taken")


def _free_path(path: str) -> bool:
    """Return True if nobody listens there; the socket of a killed gateway is removed."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except FileNotFoundError:
            return True
        except ConnectionRefusedError:
            os.unlink(path)  # noqa: PTH108 (a string as it is)
            return True
        except OSError:
            return False
    return False


def _remove_socket(path: str, inode: int) -> None:
    with suppress(OSError):
        if os.stat(path).st_ino == inode:  # noqa: PTH116 (a string as it is)
            os.unlink(path)  # noqa: PTH108 (a string as it is)
