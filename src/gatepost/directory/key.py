"""
A key: a secret that authenticates a caller. Only its hash is stored, and a short prefix by which people tell keys
apart; the maker of a key sees it once.

A key is 256 random bits, so its hash needs neither salt nor stretching: it cannot be guessed.

Two kinds of key let a person use the page, and end by themselves (`directory/sign_in_actions.py`): `link` is in a
one-time link, and `page` is the cookie of a browser.
"""

import re
from typing import Final, Literal

from msgspec import Struct

from gatepost.core.times import DAY, Duration, Instant
from gatepost.errors import Invalid, quote_value

KeyKind = Literal["admin", "agent", "trigger", "public", "page", "link"]

#: how long a page key is valid after it was used
PAGE_LIFETIME: Final[Duration] = 30 * DAY
#: how a secret begins, by its kind; the others begin with `sk_`
_SECRET_PREFIXES: Final[dict[KeyKind, str]] = {"public": "pk_", "page": "ck_", "link": "lk_"}
#: `sk_` or another beginning, and eight characters, which lists show
PREFIX_LENGTH: Final = 11
_SECRET_FORM: Final = re.compile(r"(?:sk|pk|ck|lk)_[A-Za-z0-9_-]{43}")
_MAX_NAME_LENGTH: Final = 200
_PREFIX_FORM: Final = re.compile(r"(?:sk|pk|ck|lk)_[A-Za-z0-9_-]{8}")


class Key(Struct, frozen=True, kw_only=True):
    id: str
    prefix: str
    kind: KeyKind
    #: the entity that the key acts as (`agent`), that it triggers (`trigger`), or that signs in (`page`, `link`)
    entity: str | None = None
    #: the trigger that it is for
    trigger: str | None = None
    name: str = ""
    created_at: Instant
    revoked_at: Instant | None = None
    #: when a key of the kind `page` or `link` ends
    expires_at: Instant | None = None
    number: int = 0


def hash_secret(secret: str) -> str:
    """Return the hash of a secret, which is what is stored."""
    from hashlib import sha256  # most commands hash nothing, and must start fast

    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def check(kind: KeyKind, secret: str) -> str:
    """Return the secret if it has the form of such a key; raise Invalid, without showing it, if not."""
    prefix = get_secret_prefix(kind)
    if not _SECRET_FORM.fullmatch(secret) or not secret.startswith(prefix):
        raise Invalid(
            f"this cannot be a key of the kind {kind!r}",
            hint=f"it is {prefix} and 43 random characters that are safe in a URL",
        )
    return secret


def get_secret_prefix(kind: KeyKind) -> str:
    """Return how the secrets of a kind begin."""
    return _SECRET_PREFIXES.get(kind, "sk_")


def check_name(text: str) -> str:
    """Return the text if it can be the name of a key."""
    if len(text) > _MAX_NAME_LENGTH or not (text == "" or text.isprintable()):
        raise Invalid(
            f"{quote_value(text)} is not a name of a key", hint=f"use up to {_MAX_NAME_LENGTH} printable characters"
        )
    return text


def parse_prefix(text: str) -> str:
    """Return the prefix of a key. The text is a prefix or a whole key."""
    match = _PREFIX_FORM.match(text)
    if match is None or len(text) not in (PREFIX_LENGTH, PREFIX_LENGTH + 35):
        raise Invalid("this is neither the id nor the prefix of a key", hint="`gatepost key list` shows both")
    return match[0]
