"""
Who is calling, and as whom they may act.

Every request brings a credential: `x-secret-key` (the administrator's, or one that is scoped to an agent or to a
trigger), or `x-public-key` with a bearer JWT, which is one entity's. Out of it comes a principal, and every route asks
the principal before it does anything:

    Administrator   may act as anybody
    Acting          is one entity, and can act only as itself
    Triggering      may trigger one agent, and nothing else

Keys are looked up by their hash and kept for a few seconds, so that a busy caller costs no query; a revocation is heard
as a ring and forgets them at once.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Final

import jwt
from fastapi import Request

from gatepost.actions import directory, keys
from gatepost.api.access import ADMINISTRATOR, Caller, CallerKind
from gatepost.core import key as core_key
from gatepost.core.entity import Entity
from gatepost.core.key import Key
from gatepost.core.signals import Frame, TransportMessage
from gatepost.errors import Invalid, Refused, Unauthorized
from gatepost.gateway import repeated
from gatepost.gateway.http import HttpExchange
from gatepost.gateway.jwks import KeySet
from gatepost.ports import Store

#: seconds for which a principal counts after it was looked up
FRESH: Final = 5.0
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Administrator:
    def as_(self, wish: str | None) -> str | None:
        """Whom a request is made as: anybody they like."""
        return wish


@dataclass(frozen=True, slots=True)
class Acting:
    entity: str
    #: when its token ends, in seconds since 1970; None for a key, which ends when it is revoked
    expires_at: int | None = field(default=None, compare=False, repr=False)

    def as_(self, wish: str | None) -> str:
        """Whom a request is made as: itself, and asking for another is refused."""
        if wish is not None and wish != self.entity:
            raise self.build_refusal(wish)
        return self.entity

    def build_refusal(self, name: str) -> Refused:
        return Refused(f"this credential is {self.entity!r} and cannot act as {name!r}")


@dataclass(frozen=True, slots=True)
class Triggering:
    agent: str

    def as_(self, wish: str | None) -> str:  # noqa: ARG002 (it has the shape of the others)
        raise Refused(f"this key can only trigger {self.agent!r}")


Principal = Administrator | Acting | Triggering


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRules:
    """What a JWT must be: signed with the secret (HS256) or by a key of the JWKS; the claim names the entity."""

    secret: str | None = None
    jwks_url: str | None = None
    claim: str = "sub"
    audience: str | None = None
    issuer: str | None = None


class Doorkeeper:
    def __init__(self, store: Store, rules: TokenRules) -> None:
        self._store = store
        self._rules = rules
        self._jwks = KeySet(rules.jwks_url) if rules.jwks_url else None
        self._known: dict[str, tuple[float, Principal | None]] = {}
        #: grows with every change; what was looked up before one is not kept after it
        self._changes = 0

    def heard(self, signal: TransportMessage) -> None:
        """Forget what was looked up when a key or an entity has changed."""
        if not isinstance(signal, Frame) and signal.recipient == keys.TOPIC:
            self._changes += 1
            self._known.clear()

    async def admit(self, request: Request | HttpExchange) -> Principal:
        """Return who is calling; `Unauthorized` says what is missing, never what would be right."""
        secret = request.headers.get("x-secret-key")
        if secret is not None:
            principal = await self._looked_up(secret)
            if principal is None:
                raise Unauthorized("this secret key is not known, or was revoked")
            return principal
        public, token = request.headers.get("x-public-key"), _bearer(request)
        if public is None and token is None:
            raise Unauthorized("no credential", hint="send x-secret-key, or x-public-key and a bearer token")
        if public is None or token is None:
            raise Unauthorized("a public key and a bearer token go together", hint="send both")
        return await self._by_token(public, token)

    async def _looked_up(self, secret: str) -> Principal | None:
        digest = core_key.hash_secret(secret)
        found = self._known.get(digest)
        if found is not None and found[0] > time.monotonic():
            return found[1]
        changes = self._changes
        principal = _principal(await self._store.read(keys.find, secret))
        if len(self._known) >= _MOST:
            self._known.clear()
        if changes == self._changes:
            self._known[digest] = (time.monotonic() + FRESH, principal)
        return principal

    async def _by_token(self, public: str, token: str) -> Acting:
        key = await self._store.read(keys.find, public)
        if key is None or key.kind != "public":
            raise Unauthorized("this public key is not known, or was revoked")
        claims = await self._claims(token)
        name = claims.get(self._rules.claim)
        if not isinstance(name, str) or not name:
            raise Unauthorized(f"the token has no claim {self._rules.claim!r} that names an entity")
        try:
            entity = await self._store.read(directory.find_live, name)
        except (Invalid, Refused):
            raise Refused("the token's entity is not known here, or is retired") from None
        return Acting(entity.name, expires_at=int(claims["exp"]))

    async def _claims(self, token: str) -> dict[str, Any]:
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
        except (jwt.PyJWTError, ValueError, OverflowError) as error:  # an infinite `exp` is no error of the library's
            raise Unauthorized(f"the bearer token is not valid: {str(error).lower().rstrip('.')}") from None
        return claims


def _principal(key: Key | None) -> Principal | None:
    match key:
        case Key(kind="admin"):
            return Administrator()
        case Key(kind="agent", entity=str(name)):
            return Acting(name)
        case Key(kind="trigger", entity=str(name)):
            return Triggering(name)
        case _:
            return None


def _bearer(request: Request | HttpExchange) -> str | None:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None


def to_caller(principal: Principal) -> Caller:
    match principal:
        case Administrator():
            return ADMINISTRATOR
        case Acting(entity, expires_at):
            return Caller(CallerKind.ENTITY, entity, expires_at)
        case Triggering(agent):
            return Caller(CallerKind.TRIGGER, agent)


async def caller(request: Request) -> Principal:
    """
    The dependency of every route: who is calling, which for a request with a body may be known from before it was read.
    Once it is known, a query that says a thing twice is refused.
    """
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is None:
        principal = await request.app.state.office.doorkeeper.admit(request)
    request.state.principal = principal
    repeated.refuse(request)
    return principal


async def find_own(store: Store, principal: Principal, name: str) -> Entity:
    """
    Return the entity with a name or an alias, if the caller may act as it. All others are refused alike, whether there
    is such an entity or not: a credential does not tell its holder which names exist.
    """
    if isinstance(principal, Acting):
        found = await store.read(directory.find_or_none, name)
        if found is None or found.name != principal.entity:
            raise principal.build_refusal(name)
        return found
    principal.as_(name)
    return await store.read(directory.find, name)


def administrator(principal: Principal) -> None:
    if not isinstance(principal, Administrator):
        raise Refused("this is for the administrator", hint="use the administrator's key")
