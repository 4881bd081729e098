"""
The administrator's key: created at the first start, kept in the home for this user alone, and valid in the store that
is set there.
"""

from pathlib import Path
from typing import Final

from gatepost.actions import keys
from gatepost.core import key as key_rules
from gatepost.errors import Conflict, Invalid, Unavailable
from gatepost.handlers.keys import generate_secret as generate_secret  # noqa: PLC0414 (`cli` uses it from here)
from gatepost.paths import AtomicFile
from gatepost.ports import Store

ADMIN_KEY: Final = "admin.key"
#: how to get access again if the key is not valid
RENEW_HINT: Final = "remove the file and start the gateway again: `gatepost up` makes a new one"


def read_admin_key(home: Path) -> str:
    """Return the key in a home; raise Unavailable if it cannot be read."""
    path = home / ADMIN_KEY
    try:
        return key_rules.check("admin", path.read_text(encoding="utf-8").strip())
    except FileNotFoundError as error:
        reason, hint = error.strerror, "start the gateway again: `gatepost up` makes one"
    except OSError as error:
        reason, hint = error.strerror, RENEW_HINT
    except (UnicodeDecodeError, Invalid):
        reason, hint = "that is not a key", RENEW_HINT
    raise Unavailable(f"the administrator's key cannot be read: {str(path)!r}: {reason}", hint=hint)


def ensure_admin_key(store: Store, home: Path) -> bool:
    """
    Make the key in the home valid in this store, and create the key if there is none; return True if it was created.
    Raise Conflict if the key was revoked.
    """
    path = home / ADMIN_KEY
    is_new = _create_key_file(path)
    secret = read_admin_key(home)
    if store.query(keys.find, secret) is None:
        try:
            store.call(keys.create, kind="admin", secret=secret, name=ADMIN_KEY)
        except Conflict:
            if store.query(keys.find, secret) is None:
                raise Conflict(f"the key in {str(path)!r} was revoked", hint=RENEW_HINT) from None
    return is_new


def _create_key_file(path: Path) -> bool:
    """Write a new key unless there is one; return True if it was written. Readers never see half of it."""
    if path.exists():
        return False
    try:
        with AtomicFile(str(path), must_be_new=True) as file:
            file.write(f"{generate_secret()}\n".encode())
    except FileExistsError:  # another process was first
        return False
    except OSError as error:
        raise Unavailable(f"{str(path)!r} cannot be written: {error.strerror}") from None
    return True
