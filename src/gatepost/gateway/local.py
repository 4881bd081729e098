"""A socket in the home, for this user alone."""

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

log = structlog.get_logger("gatepost.doorstep")

NAME: Final = "gateway.sock"
#: bytes of a path that the kernel has room for, with some to spare
_LONGEST: Final = 100
_BACKLOG: Final = 1024


@dataclass(frozen=True, slots=True)
class Ears:
    socket: socket.socket
    path: str


@contextmanager
def bound(home: Path) -> Iterator[Ears | None]:
    """
    A socket that listens; None, and said, where none can be made. Its path is in the home or, where that is too long
    for a socket, in a folder of its own among the temporary ones.
    """
    with ExitStack() as stack:
        try:
            _sweep(home)
            path = _path(home, stack)
            ears = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            os.fchmod(ears.fileno(), 0o600)  # before anybody can reach it
            ears.bind(path)
            Path(path).chmod(0o600)  # where the system does not go by that
            stack.callback(_remove, path, os.stat(path).st_ino)  # noqa: PTH116 (a string as it is)
            ears.listen(_BACKLOG)
            ears.setblocking(False)
        except (OSError, AttributeError) as error:
            log.warning(
                "hooks and commands do not find this gateway, and work on the store by themselves", reason=str(error)
            )
            yield None
            return
        yield Ears(ears, path)


def _sweep(home: Path) -> None:
    """Remove what gateways beside the first one have left that were killed: neither they nor anybody listens there."""
    for path in home.glob(f"*.{NAME}"):
        pid = path.name.removesuffix(f".{NAME}")
        with suppress(OSError):
            if pid.isdecimal() and path.is_socket() and not is_running(int(pid)):
                _free(str(path))


def _path(home: Path, stack: ExitStack) -> str:
    for path in (str(home / NAME), str(home / f"{os.getpid()}.{NAME}")):
        if len(os.fsencode(path)) > _LONGEST:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="gatepost-", ignore_cleanup_errors=True))
            return f"{folder}/{NAME}"
        if _free(path):
            return path
    raise FileExistsError(f"{str(home / NAME)!r} is taken")


def _free(path: str) -> bool:
    """Whether nobody listens there; what a killed gateway has left is removed."""
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


def _remove(path: str, inode: int) -> None:
    with suppress(OSError):
        if os.stat(path).st_ino == inode:  # noqa: PTH116 (a string as it is)
            os.unlink(path)  # noqa: PTH108 (a string as it is)
