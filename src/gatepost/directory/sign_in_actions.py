"""
Sign a person in to the page.

    create_link     a link, for the one who may have it     can be used once, for ten minutes
    sign_in         exchanges the link for a page key       which is the cookie of a browser
    extend          moves the end of a page key that is used
    sign_out        revokes the page keys of a browser

Links and page keys are keys (`directory/key.py`): only their hashes are stored, and who revokes one ends what it
opened. A link is deleted by its use, in the transaction that creates the page key. So of two who use it at the same
time, on whichever gateways, one is refused.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import MINUTE, Duration
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.key import PAGE_LIFETIME, Key
from gatepost.errors import Refused, Unauthorized

#: how long a link can be used
LINK_LIFETIME: Final[Duration] = 10 * MINUTE
#: how long a page key is used before its end is moved again, which also tells when its person was there
_EXTENSION_INTERVAL: Final = 5 * MINUTE


def create_link(tx: Transaction, secret: str, person: str) -> Key:
    """Create a one-time link with a secret, for a person."""
    entity = directory.find_live(tx, person)
    if entity.kind is not EntityKind.HUMAN:
        raise Refused(f"{entity.name!r} is an agent, and only persons sign in", hint="name a person")
    tx.execute_later("directory/keys/delete_expired", now=tx.now)
    return keys.create(tx, kind="link", secret=secret, entity=entity.name, expires_at=tx.now + LINK_LIFETIME)


def check_link(tx: Reader, secret: str) -> Key:
    """Return the link with a secret; raise Unauthorized if it cannot be used, without saying why."""
    link = keys.find(tx, secret)
    if link is None or link.kind != "link":
        raise _build_refusal()
    return link


def sign_in(tx: Transaction, link: str, secret: str, *, browser: str = "", replaces: Sequence[str] = ()) -> Key:
    """
    Use up a link, and return the new page key with a secret; `browser` is its name. The page keys with the
    secrets that it `replaces` are revoked.
    """
    link_key = check_link(tx, link)
    if not tx.execute("directory/keys/delete", number=link_key.number):  # another was faster
        raise _build_refusal()
    sign_out(tx, replaces)
    return keys.create(
        tx, kind="page", secret=secret, entity=link_key.entity, name=browser, expires_at=tx.now + PAGE_LIFETIME
    )


def find_page_key(tx: Reader, secret: str) -> tuple[Key | None, bool]:
    """Return the page key with a secret if it is valid, and whether it is time to extend it."""
    key = keys.find(tx, secret)
    if key is None or key.kind != "page" or key.expires_at is None:
        return None, False
    return key, key.expires_at < tx.now + PAGE_LIFETIME - _EXTENSION_INTERVAL


def extend(tx: Transaction, key: Key) -> None:
    """Move the end of a page key that is used."""
    tx.execute_later("directory/keys/extend", number=key.number, expires_at=tx.now + PAGE_LIFETIME, now=tx.now)


def find_valid_secret(tx: Reader, secrets: Sequence[str]) -> str | None:
    """Return the first of these secrets that is one of a valid page key."""
    return next((secret for secret in secrets if find_page_key(tx, secret)[0] is not None), None)


def find_person(tx: Reader, secrets: Sequence[str]) -> str | None:
    """Return whom the first valid page key of these secrets signs in; None if none is valid."""
    page_keys = (find_page_key(tx, secret)[0] for secret in secrets)
    return next((key.entity for key in page_keys if key is not None), None)


def sign_out(tx: Transaction, secrets: Sequence[str]) -> None:
    """Revoke the page keys with these secrets; unknown secrets are ignored."""
    for secret in secrets:
        key = keys.find(tx, secret)
        if key is not None and key.kind == "page":
            keys.end(tx, key)


def _build_refusal() -> Unauthorized:
    return Unauthorized(
        "this link was used before, is too old, or was never valid", hint="`gatepost sign-in` prints a new link"
    )
