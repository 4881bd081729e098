"""
Where things are kept: the home, and the gateway that runs in it. Nothing but `os` is imported for it, because every
hook of a guest begins here.

A home that was only come across counts if it belongs to this user or to the system; one that was named is trusted as
it is.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VARIABLE = "GATEPOST_HOME"
NAME = ".gatepost"


def find(environ: "Mapping[str, str]") -> tuple[str, str]:
    """`GATEPOST_HOME`, else the nearest `.gatepost` upwards, else the user's data directory; and which of them."""
    if named := environ.get(VARIABLE):
        return os.path.join(os.getcwd(), os.path.expanduser(named)), VARIABLE
    folder = os.getcwd()
    while True:
        found = os.path.join(folder, NAME)
        if os.path.isdir(found):
            if not trusted(found):
                from gatepost.errors import Refused

                raise Refused(
                    f"{found!r} belongs to another user", hint=f"set {VARIABLE}={found} to use it all the same"
                )
            return found, "found upwards from the working directory"
        if folder == (folder := os.path.dirname(folder)):
            return os.path.join(_data_directory(environ), "gatepost"), "default"


def trusted(path: str, like: str | None = None) -> bool:
    """Whether it belongs to this user, to the system, or to whoever owns what it is `like`."""
    if not hasattr(os, "getuid"):
        return True
    owners = {0, os.getuid()}
    if like is not None and os.path.exists(like):
        owners.add(os.stat(like).st_uid)
    return os.stat(path).st_uid in owners


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
