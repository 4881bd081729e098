"""
A key: a secret that stands for somebody. Only its hash is kept, and the few characters by which a person tells it from
others; whoever made it is shown it once.

A key is 256 random bits, so its hash needs neither salt nor stretching: there is nothing to guess.
"""

import hashlib
import hmac
import re
from typing import Final, Literal

from msgspec import Struct

from gatepost.core.times import Instant
from gatepost.errors import Invalid

KeyKind = Literal["admin", "agent", "trigger", "public"]

#: whom a ring is for that says that a key, or whoever it stands for, has changed
TOPIC: Final = "keys:"

#: `sk_` or `pk_` and eight characters, by which a key is listed
PREFIX_LENGTH: Final = 11
_SECRET_FORM: Final = re.compile(r"(?:sk|pk)_[A-Za-z0-9_-]{43}")
_MAX_NAME_LENGTH: Final = 200
_PREFIX_FORM: Final = re.compile(r"(?:sk|pk)_[A-Za-z0-9_-]{8}")


class Key(Struct, frozen=True, kw_only=True):
    id: str
    prefix: str
    kind: KeyKind
    #: who may be acted as (`agent`), or be triggered (`trigger`)
    entity: str | None = None
    #: the trigger it is for
    trigger: str | None = None
    name: str = ""
    created_at: Instant
    revoked_at: Instant | None = None
    number: int = 0


def hash_secret(secret: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_same_digest(digest: str, other_digest: str) -> bool:
    """Compare two digests in a time that says nothing about them."""
    return hmac.compare_digest(digest, other_digest)


def check(kind: KeyKind, secret: str) -> str:
    """Return the secret if it has the form of such a key; what it says otherwise does not show it."""
    if not _SECRET_FORM.fullmatch(secret) or secret.startswith("pk_") != (kind == "public"):
        raise Invalid(
            f"this cannot be a key of the kind {kind!r}",
            hint=f"it is {'pk_' if kind == 'public' else 'sk_'} and 43 random characters that are safe in a URL",
        )
    return secret


def check_name(text: str) -> str:
    """Return the text if it can be what a key is listed as."""
    if len(text) > _MAX_NAME_LENGTH or not (text == "" or text.isprintable()):
        raise Invalid(
            f"{text[:60]!r} is not a name of a key", hint=f"use up to {_MAX_NAME_LENGTH} printable characters"
        )
    return text


def parse_reference(text: str) -> str:
    """What a key is looked up by: its id, or the prefix of what may be all of it."""
    return text if text.startswith("key_") and text.isascii() and text.isprintable() else parse_prefix(text)


def parse_prefix(text: str) -> str:
    """The prefix of a key, of which the rest may have been given too."""
    match = _PREFIX_FORM.match(text)
    if match is None or len(text) not in (PREFIX_LENGTH, PREFIX_LENGTH + 35):
        raise Invalid("this is neither the id nor the prefix of a key", hint="`gatepost key list` shows both")
    return match[0]
