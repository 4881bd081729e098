"""Nudges a guest by an HTTP request: POST the text as JSON to a URL that the user has set."""

import asyncio
import json
from collections.abc import Callable

import httpx2

from gatepost.core.session import Guest
from gatepost.errors import Invalid, Unavailable
from gatepost.telemetry import hide_secrets


class UrlNudge:
    def __init__(self, url: str, make_transport: Callable[[], httpx2.AsyncBaseTransport], *, timeout: float) -> None:
        """`make_transport` returns a transport that refuses forbidden addresses; `timeout` is in seconds."""
        try:
            parsed_url = httpx2.URL(url)
        except httpx2.InvalidURL:
            parsed_url = httpx2.URL()
        if parsed_url.scheme not in ("http", "https") or not parsed_url.host:
            raise Invalid(
                f"{hide_secrets(url)!r} is not a URL to nudge by", hint="use http://HOST/... or https://HOST/..."
            )
        self._url = parsed_url
        self._make_transport = make_transport
        self._timeout = timeout

    async def __call__(self, guest: Guest, text: str) -> None:
        body = json.dumps({"message": text, "agent": guest.agent, "session": guest.session})
        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx2.AsyncClient(transport=self._make_transport(), timeout=None, trust_env=False) as client,
            ):
                response = await client.post(self._url, content=body, headers={"content-type": "application/json"})
        except TimeoutError:
            raise Unavailable(f"no answer within {self._timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise Unavailable(f"the request failed: {hide_secrets(str(error)) or type(error).__name__}") from None
        if not response.is_success:
            raise Unavailable(f"the answer was {response.status_code}")
