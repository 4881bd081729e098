"""
The home of Gatepost: where it is, and how its files are read and written safely. Nothing but `os` is imported, because
every hook of a guest begins here.

A home that was found by searching is used only if it belongs to this user or to the system (so must a symbolic link to
it), and if no other user can write to it. A home that was named in `GATEPOST_HOME` is trusted as it is.
"""

import os
import sys
from stat import S_ISREG, S_ISSOCK, S_ISVTX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import BinaryIO

#: a path as text, or as a `Path`; a quiet hook has texts, because `pathlib` takes a tenth of its time to import
StrPath = str | os.PathLike[str]

HOME_VARIABLE = "GATEPOST_HOME"
#: how the home was found if nothing names one: everything that this user starts finds it
DEFAULT_ORIGIN = "default"
HOME_FOLDER = ".gatepost"
#: ends the name of a temporary file that its writer has locked
_LOCKED_SUFFIX = ".part"


def find_home(environ: "Mapping[str, str]", start: str | None = None, *, project: str | None = None) -> tuple[str, str]:
    """
    Return the home, and how it was found: `GATEPOST_HOME`, else the nearest `.gatepost` upwards, else the user's data
    directory. `project` is the folder that a host names as its project; the search begins there, because an agent may
    have changed its folder. `start` replaces the working directory, which may be gone (FileNotFoundError if it is
    needed). Raise Refused if the home cannot be trusted.
    """
    if path := environ.get(HOME_VARIABLE):
        path = os.path.expanduser(path)
        return path if os.path.isabs(path) else os.path.join(start or os.getcwd(), path), HOME_VARIABLE
    origin = "found upwards from the project"
    home = _find_upwards(project) if project and os.path.isabs(project) else None
    if home is None:
        origin = "found upwards from the working directory"
        home = _find_upwards(start or os.getcwd())
    if home is None:
        return os.path.join(_get_data_directory(environ), "gatepost"), DEFAULT_ORIGIN
    is_foreign = not is_trusted(home)
    if is_foreign or is_shared(os.stat(home)):
        from gatepost.errors import Refused

        problem = "belongs to another user" if is_foreign else "can be written to by others"
        raise Refused(f"{home!r} {problem}", hint=f"set {HOME_VARIABLE}={home} to use it all the same")
    return home, origin


def make_home(home: StrPath) -> bool:
    """Create the folder of the home, for this user alone; return True if it was missing."""
    if os.path.isdir(home):
        return False
    try:
        os.makedirs(home, 0o700)
    except OSError as error:
        from gatepost.errors import Unavailable

        raise Unavailable(
            f"the folder {os.fspath(home)!r} cannot be made: {error.strerror}",
            hint=f"name another one in {HOME_VARIABLE}",
        ) from None
    return True


def make_private_folder(path: str) -> None:
    """Create a folder for this user alone, if it is missing; its parent is not created."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise


def _find_upwards(folder: str) -> str | None:
    while not os.path.isdir(candidate := os.path.join(folder, HOME_FOLDER)):
        if folder == (folder := os.path.dirname(folder)):
            return None
    return candidate


def is_shared(status: os.stat_result) -> bool:
    """Return True if other users may write: all of them, or a group that this user is not in."""
    if not hasattr(os, "getuid"):
        return False
    groups = {0, os.getegid(), *os.getgroups()}
    return bool(status.st_mode & 0o002 or (status.st_mode & 0o020 and status.st_gid not in groups))


def is_private(status: os.stat_result) -> bool:
    """Return True if no other user may read or write."""
    return not hasattr(os, "getuid") or not status.st_mode & 0o077


def is_trusted(path: str, reference: str | None = None) -> bool:
    """Return True if a path and its target belong to this user, to the system, or to the owner of `reference`."""
    return _is_owned(os.lstat(path), reference) and _is_owned(os.stat(path), reference)


def read_file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def read_trusted_file(path: str, reference: str) -> bytes:
    """Return the content of a file; raise OSError if it is not trusted, or not a regular file (a pipe could block)."""
    with open(path, "rb", opener=_open_nonblocking) as file:
        status = os.fstat(file.fileno())
        if not S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        if not _is_owned(status, reference):
            raise PermissionError("it belongs to another user")
        return file.read()


def check_socket(path: str, reference: str) -> None:
    """
    Raise OSError if another user has made a socket, can connect to it or could replace it. A path that is no socket
    counts as missing (FileNotFoundError).
    """
    status = os.lstat(path)
    if not S_ISSOCK(status.st_mode):
        raise FileNotFoundError(f"{path!r} is not a socket")
    folder_status = os.stat(os.path.dirname(path))
    if not _is_owned(status, reference):
        raise PermissionError(f"the socket {path!r} belongs to another user")
    if status.st_mode & 0o077:
        raise PermissionError(f"the socket {path!r} is open to other users")
    if not _is_owned(folder_status, reference) or (is_shared(folder_status) and not folder_status.st_mode & S_ISVTX):
        raise PermissionError(f"the folder of the socket {path!r} can be written to by others")


class AtomicFile:
    """
    Write a file atomically: while entered, a temporary file beside it is open for bytes; leaving renames it to the
    path. A reader finds the complete old content or the complete new one, and a failure leaves the old one only.

    A writer that is killed leaves its temporary file. With `is_locked`, the next writer of the same path removes it: a
    writer holds a lock on its temporary file, which ends with its process, so a file without a lock has no writer. The
    lock comes after the file, and in between another writer may remove it; then it has no name, and is made again.
    """

    def __init__(
        self,
        path: str,
        *,
        mode: int = 0o600,
        is_durable: bool = False,
        must_be_new: bool = False,
        is_locked: bool = False,
    ) -> None:
        """
        With `is_durable`, leaving waits until the content is on the disk. With `must_be_new`, it raises FileExistsError
        if the path exists; on a file system without links the last writer wins. A system without locks ignores
        `is_locked`.
        """
        self._path = path
        self._mode = mode
        self._is_durable = is_durable
        self._must_be_new = must_be_new
        self._is_locked = is_locked
        #: the same open file as `_file`: the lock is held until it is closed, too
        self._lock_descriptor: int | None = None

    def __enter__(self) -> "BinaryIO":
        folder, name = os.path.split(self._path)
        if self._is_locked:
            _remove_unlocked(folder or ".", f".{name}.")
        suffix = _LOCKED_SUFFIX if self._is_locked else ""
        while True:
            self._temporary = os.path.join(folder, f".{name}.{os.urandom(4).hex()}{suffix}")
            self._file = open(os.open(self._temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, self._mode), "wb")
            if not self._is_locked:
                return self._file
            if _try_lock(self._file.fileno(), wait=True):
                self._lock_descriptor = os.dup(self._file.fileno())
            if os.path.exists(self._temporary):
                return self._file
            self._release()

    def __exit__(self, error: object, *_: object) -> None:
        try:
            with self._file as file:
                if error is None:
                    file.flush()
                    if self._is_durable:
                        os.fsync(file.fileno())
            if error is None:
                self._publish()
        except OSError as failure:
            if failure.errno is not None and failure.filename is None:  # of a full disk, whose errors name no file
                failure.filename = self._path
            raise
        finally:
            if os.path.exists(self._temporary):
                os.unlink(self._temporary)
            self._release()

    def _release(self) -> None:
        self._file.close()
        if self._lock_descriptor is not None:
            os.close(self._lock_descriptor)
            self._lock_descriptor = None

    def _publish(self) -> None:
        if not self._must_be_new:
            os.replace(self._temporary, self._path)
            return
        try:
            os.link(self._temporary, self._path)
        except FileExistsError:
            raise
        except OSError:
            os.replace(self._temporary, self._path)


def _remove_unlocked(folder: str, prefix: str) -> None:
    """Remove the temporary files of writers that were killed."""
    length = len(prefix) + 8 + len(_LOCKED_SUFFIX)
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if len(name) != length or not name.startswith(prefix) or not name.endswith(_LOCKED_SUFFIX):
            continue
        path = os.path.join(folder, name)
        try:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        except OSError:  # it is gone, or another user's
            continue
        try:
            if S_ISREG(os.fstat(descriptor).st_mode) and _try_lock(descriptor, wait=False):
                os.unlink(path)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def _try_lock(descriptor: int, *, wait: bool) -> bool:
    """Lock an open file; return False if another process has locked it, or if there are no locks here."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


def write_atomically(path: str, text: str) -> None:
    """Replace the content of a file, which only this user can read."""
    content = text.encode()
    with AtomicFile(path) as file:
        file.write(content)


def is_running(pid: int) -> bool:
    """Return True if there is a process with that id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def _open_nonblocking(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _is_owned(status: os.stat_result, reference: str | None) -> bool:
    if not hasattr(os, "getuid"):
        return True
    owners = {0, os.getuid()}
    if reference is not None and os.path.exists(reference):
        owners.add(os.stat(reference).st_uid)
    return status.st_uid in owners


def _get_data_directory(environ: "Mapping[str, str]") -> str:
    user_home = os.path.expanduser("~")
    if user_home == "~" or environ.get("HOME") == "":  # which would be the root folder
        from gatepost.errors import Unavailable

        raise Unavailable("this user has no home directory", hint=f"set {HOME_VARIABLE} to a folder")
    if sys.platform == "darwin":
        return os.path.join(user_home, "Library", "Application Support")
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.join(user_home, "AppData", "Local")
    data_home = environ.get("XDG_DATA_HOME", "")
    return data_home if data_home.startswith("/") else os.path.join(user_home, ".local", "share")
