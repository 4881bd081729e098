"""
The files of a gateway in the home: `gateway.json`, by which commands find it, and `admin.key`, which lets them in.

`gateway.json` says where the gateway listens, its process id, its store, and the local socket on which it answers. The
file alone proves nothing. A gateway that was killed leaves it there, the system gives its process id to another
program, and any program may listen on its port; a command that trusted the file would send the administrator's key to a
stranger. So commands ask on the socket (`find_gateway`). Only this user can listen there, and a socket whose process is
gone refuses every connection; without an answer the gateway is gone.

There is one file, and there may be several gateways. The second gateway leaves the file to the first as long as the
first listens on its socket, and writes its own when it refreshes and the first is gone.

The administrator's key is created at the first start, kept in the home for this user alone, and valid in the store that
is set there.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from gatepost import paths
from gatepost.errors import Conflict, Invalid, Unavailable
from gatepost.telemetry import get_logger

if TYPE_CHECKING:  # every command looks for a gateway, and must start fast
    import _socket

    from gatepost.core.ports import Store

log = get_logger("gatepost.gateway_files")

FILE_NAME: Final = "gateway.json"
ADMIN_KEY: Final = "admin.key"
#: how to get access again if the key is not valid
RENEW_HINT: Final = "remove the file and start the gateway again: `gatepost up` makes a new one"
#: seconds in which a running gateway answers
_TIMEOUT: Final = 5.0
_MAX_ANSWER: Final = 64 * 1024


class GatewayFile(NamedTuple):
    """What the file of a gateway says."""

    url: str
    pid: int
    #: the URL of the store, without its password
    store: str
    #: the local socket for hooks and commands of this machine
    socket: str | None = None


@contextmanager
def publish(home: Path, url: str, store: str, socket: str | None = None) -> Iterator[Callable[[], None]]:
    """
    While entered, the file names this gateway, or another one that was first. Call the yielded function now and then:
    it writes the file if the other gateway is gone.
    """
    gateway_file = GatewayFile(url, os.getpid(), store, socket)
    last_reported: GatewayFile | None = None

    def refresh() -> None:
        nonlocal last_reported
        current = read_gateway_file(home)
        if current == gateway_file:
            return
        if (
            current is None
            or current.pid == gateway_file.pid
            or current.url == url
            or (socket and not _is_listening(home, current))
        ):
            paths.write_atomically(str(home / FILE_NAME), json.dumps(gateway_file._asdict()) + "\n")
        elif current != last_reported:
            log.warning(
                "another gateway is in this home, and commands are left to it", url=current.url, pid=current.pid
            )
            last_reported = current

    refresh()
    try:
        yield refresh
    finally:
        _remove(home, gateway_file)


def find_gateway(home: Path) -> GatewayFile | None:
    """
    Return what the gateway of this home answers on its socket; None if no gateway answers there. Remove the file of a
    gateway that is gone.
    """
    gateway_file = read_gateway_file(home)
    if gateway_file is None or gateway_file.socket is None:
        return None
    try:
        with closing(_connect(home, gateway_file.socket)) as connection:
            connection.sendall(b'{"v": 1, "op": "where"}\n')
            answer = json.loads(_receive_line(connection))
        return GatewayFile(str(answer["url"]), int(answer["pid"]), str(answer["store"]), gateway_file.socket)
    except (FileNotFoundError, ConnectionRefusedError):
        _remove(home, gateway_file)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        pass  # the process is halted, or the socket is not ours
    return None


def read_gateway_file(home: Path) -> GatewayFile | None:
    """Return the file as it is written; None if there is none, or if it belongs to another user."""
    try:
        document = json.loads(paths.read_trusted_file(str(home / FILE_NAME), reference=str(home)))
        socket_path = document.get("socket")
        return GatewayFile(
            str(document["url"]),
            int(document["pid"]),
            str(document["store"]),
            socket_path if isinstance(socket_path, str) else None,
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _remove(home: Path, gateway_file: GatewayFile) -> None:
    if read_gateway_file(home) == gateway_file:
        with suppress(OSError):
            (home / FILE_NAME).unlink()


def _is_listening(home: Path, gateway_file: GatewayFile) -> bool:
    """Return True if a gateway listens on the socket in the file, even if its process is halted."""
    if gateway_file.socket is None:
        return False
    try:
        _connect(home, gateway_file.socket).close()
    except (TimeoutError, BlockingIOError):  # the queue of connections is full
        return True
    except OSError:
        return False
    return True


def _connect(home: Path, path: str) -> "_socket.socket":
    """Return a connection to a socket of this user; raise OSError if it is another's, or does not answer."""
    import _socket  # `socket` takes longer to import than the answer takes to come

    paths.check_socket(path, reference=str(home))
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(_TIMEOUT)
        connection.connect(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _receive_line(connection: "_socket.socket") -> bytes:
    data = b""
    while not data.endswith(b"\n"):
        chunk = connection.recv(4_096)
        if not chunk or len(data) > _MAX_ANSWER:
            raise ConnectionError("it closed the connection")
        data += chunk
    return data


def read_admin_key(home: Path) -> str:
    """Return the key in a home; raise Unavailable if it cannot be read."""
    from gatepost.directory import key as key_rules

    path = home / ADMIN_KEY
    try:
        text = paths.read_trusted_file(str(path), reference=str(home)).decode()
        return key_rules.check("admin", text.strip())
    except FileNotFoundError as error:
        reason, hint = error.strerror, "start the gateway again: `gatepost up` makes one"
    except PermissionError as error:
        reason, hint = error.strerror or str(error), f"run the command as its owner, or `chmod 600 {path}`"
    except OSError as error:
        reason, hint = error.strerror or str(error), RENEW_HINT
    except (UnicodeDecodeError, Invalid):
        reason, hint = "that is not a key", RENEW_HINT
    raise Unavailable(f"the administrator's key cannot be read: {str(path)!r}: {reason}", hint=hint)


class Exposure(NamedTuple):
    """What other users of this machine can do with a file or folder, and the command that ends it."""

    path: Path
    problem: str
    fix: str


def find_exposures(home: Path) -> list[Exposure]:
    """Return what other users can do with a home and the key in it, though it is for this user alone."""
    exposures = (find_shared_folder(home), find_exposed_file(home / ADMIN_KEY))
    return [exposure for exposure in exposures if exposure is not None]


def find_shared_folder(folder: Path) -> Exposure | None:
    """Return how to end that other users can write to a folder, if they can."""
    from shlex import quote

    with suppress(OSError):
        if paths.is_shared(folder.stat()):
            return Exposure(folder, "other users can write to it", f"chmod go-w {quote(str(folder))}")
    return None


def find_exposed_file(file: Path) -> Exposure | None:
    """Return how to end that other users can read a private file, if they can."""
    from shlex import quote

    with suppress(OSError):
        if not paths.is_private(file.stat()):
            return Exposure(file, "other users can read it", f"chmod 600 {quote(str(file))}")
    return None


def ensure_admin_key(store: "Store", home: Path) -> bool:
    """
    Make the key in the home valid in this store, and create the key if there is none; return True if it was created.
    Raise Conflict if the key was revoked.
    """
    from gatepost.directory import key_actions as keys  # most commands only read the key, and must start fast

    path = home / ADMIN_KEY
    is_new = _create_key_file(path)
    secret = read_admin_key(home)
    if store.read_sync(keys.find, secret) is None:
        try:
            store.run_sync(keys.create, kind="admin", secret=secret, name=ADMIN_KEY)
        except Conflict:
            if store.read_sync(keys.find, secret) is None:
                raise Conflict(f"the key in {str(path)!r} was revoked", hint=RENEW_HINT) from None
    return is_new


def _create_key_file(path: Path) -> bool:
    """Write a new key unless there is one; return True if it was written. Readers never see half of it."""
    from gatepost.directory.key_handlers import generate_secret

    if path.exists():
        return False
    try:
        with paths.AtomicFile(str(path), must_be_new=True) as file:
            file.write(f"{generate_secret()}\n".encode())
    except FileExistsError:  # another process was first
        return False
    except OSError as error:
        raise Unavailable(f"{str(path)!r} cannot be written: {error.strerror}") from None
    return True
