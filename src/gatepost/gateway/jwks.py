"""
The keys of an issuer, fetched and cached. However many callers there are, one fetch runs at a time, and only callers
whose key is not cached wait for it. Neither an unknown key id nor an issuer that is down causes a fetch more often than
every few seconds. While the issuer is down, the keys that it published last are valid.
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

#: seconds until cached keys are fetched again
_CACHE_TIME: Final = 300.0
#: seconds until an unknown key id, or a fetch that failed, may cause another fetch
_RETRY_TIME: Final = 10.0
_MAX_BYTES: Final = 256 * 1024


class KeySet:
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
        return now > self._tried_at + _RETRY_TIME and (kid not in self._keys or now > self._fetched_at + _CACHE_TIME)

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
                if len(content) > _MAX_BYTES:
                    raise ValueError("too large")
        return msgspec.json.decode(content)
