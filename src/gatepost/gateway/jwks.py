"""
The keys of an issuer, fetched once and kept. However many ask, one looks at a time, and only those wait for it whose
key is not known; neither an unknown key id nor an issuer that is away makes us look more often than every few seconds.
While the issuer is away, what it published last is good.
"""

import asyncio
import time
from typing import Any, Final

import httpx2
import jwt
import msgspec
import structlog

from gatepost.errors import Unauthorized, Unavailable
from gatepost.telemetry import hide_secrets

log = structlog.get_logger("gatepost.jwks")

_KEEP: Final = 300.0
#: how soon an unknown key id, or a look in vain, may cause another look
_AGAIN: Final = 10.0
_MOST_BYTES: Final = 256 * 1024


class Jwks:
    def __init__(self, url: str) -> None:
        self._url = url
        self._keys: dict[str, Any] = {}
        self._fetched = self._looked = float("-inf")
        self._looking = asyncio.Lock()

    async def key(self, kid: str) -> Any:
        """The key with that id."""
        if self._wanting(kid) and not (kid in self._keys and self._looking.locked()):
            async with self._looking:
                if self._wanting(kid):
                    await self._look()
        found = self._keys.get(kid)
        if found is not None:
            return found
        if self._fetched < 0:
            raise Unavailable("the issuer's keys cannot be fetched", hint="try again")
        raise Unauthorized("the bearer token is signed with a key that its issuer does not publish")

    def _wanting(self, kid: str) -> bool:
        now = time.monotonic()
        return now > self._looked + _AGAIN and (kid not in self._keys or now > self._fetched + _KEEP)

    async def _look(self) -> None:
        try:
            published = jwt.PyJWKSet.from_dict(await self._fetch())
        except (httpx2.HTTPError, jwt.PyJWTError, ValueError, TypeError, AttributeError, RecursionError) as error:
            log.warning(
                "the issuer's keys cannot be fetched", url=hide_secrets(self._url), error=hide_secrets(repr(error))
            )
        else:
            self._keys = {key.key_id: key for key in published.keys if key.key_id}
            self._fetched = time.monotonic()
        finally:
            self._looked = time.monotonic()

    async def _fetch(self) -> Any:
        async with (
            httpx2.AsyncClient(timeout=5.0, follow_redirects=False) as client,
            client.stream("GET", self._url) as answer,
        ):
            answer.raise_for_status()
            body = b""
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > _MOST_BYTES:
                    raise ValueError("too large")
        return msgspec.json.decode(body)
