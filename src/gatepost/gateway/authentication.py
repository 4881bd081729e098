"""
Find out who is calling.

Every request brings a credential: a secret key (the administrator's, or one that is scoped to an agent or to a trigger)
in `x-secret-key` or as a bearer token, `x-public-key` with a bearer JWT, which is one entity's, or the cookie of the
page, which is a person's (`browser_checks.py` says when it counts). The administrator is another entity if `x-act-as`
names one: then it sees and does what that entity does. `Authenticator` returns the caller; what a caller may do is the
access rule of each operation (`operations/access.py`).

Keys are found by their hash and cached for a few seconds, so that a busy caller costs no query; a signal about a
revoked key clears the cache at once.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

import httpx2
import jwt
import msgspec
import structlog

from gatepost.core.ports import Store
from gatepost.core.signals import KEYS, Frame, TransportMessage
from gatepost.directory import entity_actions as directory, key_actions as keys, sign_in_actions as sign_in
from gatepost.directory.key import Key
from gatepost.errors import Invalid, Refused, Unauthorized, Unavailable
from gatepost.operations.access import ADMINISTRATOR, Caller, CallerKind
from gatepost.telemetry import hide_secrets

log = structlog.get_logger("gatepost.auth")

#: seconds for which a caller is known after its key was found
CACHE_TIME: Final = 5.0
_CACHE_LIMIT: Final = 10_000
#: how a bearer token begins that is a secret key
_SECRET_PREFIX: Final = "sk_"  # noqa: S105 (the form of all keys)
#: seconds since 1970; a token that ends later ends then
_MAX_EXPIRY: Final = 2**40
#: seconds until the cached keys of an issuer are fetched again
_JWKS_CACHE_TIME: Final = 300.0
#: seconds until an unknown key id, or a fetch that failed, may cause another fetch
_JWKS_RETRY_TIME: Final = 10.0
_MAX_JWKS_SIZE: Final = 256 * 1024

Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """What a JWT must be: signed with the secret (HS256) or by a key of the JWKS; the claim names the entity."""

    secret: str | None = field(default=None, repr=False)
    jwks_url: str | None = None
    claim: str = "sub"
    audience: str | None = None
    issuer: str | None = None


class Authenticator:
    def __init__(self, store: Store, rules: TokenRules) -> None:
        self._store = store
        self._rules = rules
        self._jwks = KeySet(rules.jwks_url) if rules.jwks_url else None
        #: by a hash of the secret, and whether it is a cookie: until when it is good, and whose it is
        self._cache: dict[tuple[str, bool], tuple[float, Caller | None]] = {}
        #: grows with every change; what was read before a change is not cached after it
        self._change_count = 0

    def on_signal(self, signal: TransportMessage) -> None:
        """Clear the cache when a key or an entity has changed."""
        if not isinstance(signal, Frame) and signal.topic == KEYS:
            self._change_count += 1
            self._cache.clear()

    async def authenticate(self, headers: Headers, cookies: Sequence[str] = ()) -> Caller:
        """
        Return the caller by the first of the page's `cookies` that is valid, or, without any, by its headers; raise
        Unauthorized, which says what is missing and never what would be right.
        """
        caller = await (self._identify_page(cookies) if cookies else self._identify(headers))
        name = headers.get("x-act-as")
        if name is None or name == caller.name:
            return caller
        if not caller.is_administrator:
            raise caller.build_refusal(name)
        entity = await self._store.read(directory.find_live, name)
        return Caller(CallerKind.ENTITY, entity.name)

    async def _identify(self, headers: Headers) -> Caller:
        secret = headers.get("x-secret-key")
        public_key, token = headers.get("x-public-key"), _get_bearer(headers)
        if secret is None and public_key is None and token is not None and token.startswith(_SECRET_PREFIX):
            secret = token
        if secret is not None:
            caller = await self._find_caller(secret)
            if caller is None:
                raise Unauthorized("this secret key is not known, or was revoked")
            return caller
        if public_key is None and token is None:
            raise Unauthorized("no credential", hint="send x-secret-key, or x-public-key and a bearer token")
        if public_key is None or token is None:
            raise Unauthorized("a public key and a bearer token must be sent together", hint="send both")
        return await self._find_token_caller(public_key, token)

    async def _identify_page(self, cookies: Sequence[str]) -> Caller:
        valid = cookies[0] if len(cookies) == 1 else await self._store.read(sign_in.find_valid_secret, cookies)
        if valid is not None and (caller := await self._find_caller(valid, is_cookie=True)) is not None:
            return caller
        raise Unauthorized("this browser is not signed in", hint="`gatepost sign-in` prints a link that signs in")

    async def _find_caller(self, secret: str, *, is_cookie: bool = False) -> Caller | None:
        cache_key = sha256(secret.encode("utf-8", "surrogatepass")).hexdigest(), is_cookie
        cached = self._cache.get(cache_key)
        if cached is not None and cached[0] > time.monotonic():
            return cached[1]
        change_count = self._change_count
        if is_cookie:
            caller = await self._read_page_caller(secret)
        else:
            caller = _build_caller(await self._store.read(keys.find, secret))
        if len(self._cache) >= _CACHE_LIMIT:
            self._cache.clear()
        if change_count == self._change_count:
            self._cache[cache_key] = (time.monotonic() + CACHE_TIME, caller)
        return caller

    async def _read_page_caller(self, cookie: str) -> Caller | None:
        key, is_due = await self._store.read(sign_in.find_page_key, cookie)
        if key is None:
            return None
        if is_due:
            with suppress(Unavailable):  # it is valid all the same
                await self._store.run(sign_in.extend, key)
        return build_page_caller(key)

    async def _find_token_caller(self, public_key: str, token: str) -> Caller:
        key = await self._store.read(keys.find, public_key)
        if key is None or key.kind != "public":
            raise Unauthorized("this public key is not known, or was revoked")
        claims = await self._decode_token(token)
        name = claims.get(self._rules.claim)
        if not isinstance(name, str) or not name:
            raise Unauthorized(f"the token has no claim {self._rules.claim!r} that names an entity")
        try:
            entity = await self._store.read(directory.find_live, name)
        except (Invalid, Refused):
            raise Refused("the token's entity is not known here, or is retired") from None
        return Caller(CallerKind.ENTITY, entity.name, expires_at=min(int(claims["exp"]), _MAX_EXPIRY))

    async def _decode_token(self, token: str) -> dict[str, Any]:
        try:
            header = jwt.get_unverified_header(token)
            key: Any
            if self._jwks is not None:
                key, algorithms = await self._jwks.get_key(str(header.get("kid", ""))), ["RS256", "ES256", "EdDSA"]
            elif self._rules.secret is not None:
                key, algorithms = self._rules.secret, ["HS256"]
            else:
                raise Unauthorized("bearer tokens are not set up here", hint="set auth.jwt_secret or auth.jwks_url")
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=algorithms,
                audience=self._rules.audience,
                issuer=self._rules.issuer,
                options={"require": ["exp"], "verify_aud": self._rules.audience is not None},
            )
        except (jwt.PyJWTError, ValueError, OverflowError) as error:  # the library lets an infinite `exp` pass
            raise Unauthorized(f"the bearer token is not valid: {str(error).lower().rstrip('.')}") from None
        return claims


def _build_caller(key: Key | None) -> Caller | None:
    match key:
        case Key(kind="admin"):
            return ADMINISTRATOR
        case Key(kind="agent", entity=str(name)):
            return Caller(CallerKind.ENTITY, name)
        case Key(kind="trigger", entity=str(name)):
            return Caller(CallerKind.TRIGGER, name)
        case _:
            return None


def build_page_caller(key: Key) -> Caller:
    """Return whom a page key signs in."""
    return ADMINISTRATOR if key.entity == directory.ADMINISTRATOR else Caller(CallerKind.ENTITY, key.entity)


def _get_bearer(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


class KeySet:
    """
    The keys of an issuer, fetched and cached. However many callers there are, one fetch runs at a time, and only
    callers whose key is not cached wait for it. Neither an unknown key id nor an issuer that is down causes a fetch
    more often than every few seconds. While the issuer is down, the keys that it published last are valid.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: dict[str, Any] = {}
        #: when the keys were fetched, and when that was tried
        self._fetched_at = self._tried_at = float("-inf")
        self._lock = asyncio.Lock()

    async def get_key(self, kid: str) -> Any:
        """Return the key with that id."""
        if self._needs_fetch(kid) and not (kid in self._keys and self._lock.locked()):
            async with self._lock:
                if self._needs_fetch(kid):
                    await self._refresh()
        key = self._keys.get(kid)
        if key is not None:
            return key
        if self._fetched_at < 0:
            raise Unavailable("the issuer's keys cannot be fetched", hint="try again")
        raise Unauthorized("the bearer token is signed with a key that its issuer does not publish")

    def _needs_fetch(self, kid: str) -> bool:
        now = time.monotonic()
        return now > self._tried_at + _JWKS_RETRY_TIME and (
            kid not in self._keys or now > self._fetched_at + _JWKS_CACHE_TIME
        )

    async def _refresh(self) -> None:
        try:
            published = jwt.PyJWKSet.from_dict(await self._fetch())
        except (httpx2.HTTPError, jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError) as error:
            log.warning(
                "the issuer's keys cannot be fetched", url=hide_secrets(self._url), error=hide_secrets(repr(error))
            )
        else:
            self._keys = {key.key_id: key for key in published.keys if key.key_id}
            self._fetched_at = time.monotonic()
        finally:
            self._tried_at = time.monotonic()

    async def _fetch(self) -> Any:
        async with (
            httpx2.AsyncClient(timeout=5.0, follow_redirects=False) as client,
            client.stream("GET", self._url) as response,
        ):
            response.raise_for_status()
            content = b""
            async for part in response.aiter_bytes():
                content += part
                if len(content) > _MAX_JWKS_SIZE:
                    raise ValueError("too large")
        return msgspec.json.decode(content)
