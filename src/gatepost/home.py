"""
Where things are kept: the home, and the gateway that runs in it. Nothing but `os` is imported for it, because every
hook of a guest begins here.

A home that was only come across counts if it belongs to this user or to the system, the link to it as well where it is
reached by one, and if nobody else can write to it; one that was named is trusted as it is.
"""

import os
import sys
from stat import S_ISREG, S_ISSOCK, S_ISVTX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "GATEPOST_HOME"
NAME = ".gatepost"


def find(environ: "Mapping[str, str]", start: str | None = None, *, project: str | None = None) -> tuple[str, str]:
    """
    `GATEPOST_HOME`, else the nearest `.gatepost` upwards, else the user's data directory; and which of them. `project`
    is the folder that a host names as its project, and is looked in first: an agent may have gone elsewhere. `start` is
    where to look instead of the working directory, which may be gone (FileNotFoundError, where it is needed).
    """
    if named := environ.get(VARIABLE):
        named = os.path.expanduser(named)
        return named if os.path.isabs(named) else os.path.join(start or os.getcwd(), named), VARIABLE
    origin = "found upwards from the project"
    found = _upwards(project) if project and os.path.isabs(project) else None
    if found is None:
        origin = "found upwards from the working directory"
        found = _upwards(start or os.getcwd())
    if found is None:
        return os.path.join(_data_directory(environ), "gatepost"), "default"
    if wrong := _wrong(found):
        from gatepost.errors import Refused

        raise Refused(f"{found!r} {wrong}", hint=f"set {VARIABLE}={found} to use it all the same")
    return found, origin


def _upwards(folder: str) -> str | None:
    while not os.path.isdir(found := os.path.join(folder, NAME)):
        if folder == (folder := os.path.dirname(folder)):
            return None
    return found


def _wrong(found: str) -> str | None:
    if not trusted(found):
        return "belongs to another user"
    return "can be written to by others" if _shared(os.stat(found)) else None


def _shared(found: os.stat_result) -> bool:
    """Whether others may write to it: all of them, or a group that this user is not in."""
    if not hasattr(os, "getuid"):
        return False
    groups = {0, os.getegid(), *os.getgroups()}
    return bool(found.st_mode & 0o002 or (found.st_mode & 0o020 and found.st_gid not in groups))


def trusted(path: str, like: str | None = None) -> bool:
    """Whether it, and what it points to, belong to this user, to the system, or to whoever owns what it is `like`."""
    return _owned(os.lstat(path), like) and _owned(os.stat(path), like)


def read(path: str, like: str) -> bytes:
    """What a file holds that is `trusted`; OSError if it is not, or is no regular file: nobody waits for a pipe."""
    with open(path, "rb", opener=_at_once) as file:
        found = os.fstat(file.fileno())
        if not S_ISREG(found.st_mode):
            raise OSError("it is not a regular file")
        if not _owned(found, like):
            raise PermissionError("it belongs to another user")
        return file.read()


def check_socket(path: str, like: str) -> None:
    """
    Refuse a socket that another user has made, can reach or could put in the place of ours; OSError says why. What is
    no socket counts as missing: nobody listens there.
    """
    found = os.lstat(path)
    if not S_ISSOCK(found.st_mode):
        raise FileNotFoundError(f"{path!r} is not a socket")
    folder = os.stat(os.path.dirname(path))
    if not _owned(found, like):
        raise PermissionError(f"the socket {path!r} belongs to another user")
    if found.st_mode & 0o077:
        raise PermissionError(f"the socket {path!r} is open to other users")
    if not _owned(folder, like) or (_shared(folder) and not folder.st_mode & S_ISVTX):
        raise PermissionError(f"the folder of the socket {path!r} can be written to by others")


def write(path: str, text: str) -> None:
    """Put a text in the place of a file, for this user alone: whoever reads it finds all of the old or of the new."""
    folder, name = os.path.split(path)
    aside = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        with open(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(aside, path)
    except OSError:
        if os.path.exists(aside):
            os.unlink(aside)
        raise


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _owned(found: os.stat_result, like: str | None) -> bool:
    if not hasattr(os, "getuid"):
        return True
    owners = {0, os.getuid()}
    if like is not None and os.path.exists(like):
        owners.add(os.stat(like).st_uid)
    return found.st_uid in owners


def _data_directory(environ: "Mapping[str, str]") -> str:
    user = os.path.expanduser("~")
    if user == "~":
        from gatepost.errors import Unavailable

        raise Unavailable("this user has no home directory", hint=f"set {VARIABLE} to a folder")
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support")
    if sys.platform == "win32":
        return environ.get("LOCALAPPDATA") or os.path.join(user, "AppData", "Local")
    named = environ.get("XDG_DATA_HOME", "")
    return named if named.startswith("/") else os.path.join(user, ".local", "share")
