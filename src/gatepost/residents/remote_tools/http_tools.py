"""
HTTP requests for users: tools, and nudges of idle guests.

The request of a tool carries the id of its call as `Idempotency-Key`, because it may be repeated. A response is JSON or
text, up to a limit. Redirects are followed on the same server only. The values of headers are removed from every result
and every error, also if the server sends them back.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

import httpx2

from gatepost.core.json_limits import Json
from gatepost.core.times import SECOND, format_duration
from gatepost.errors import Invalid, Unavailable
from gatepost.guests.session import Guest
from gatepost.residents.agent_config import ConfiguredTool, ToolRequest
from gatepost.residents.model_port import ToolResult
from gatepost.residents.remote_tools import request_templates
from gatepost.residents.remote_tools.ssrf import ForbiddenAddress, GuardedTransport
from gatepost.telemetry import hide_secrets

#: bytes of a response
MAX_RESPONSE_BYTES: Final = 256 * 1024
_MAX_REDIRECTS: Final = 3
#: characters of a response that is an error
_MAX_ERROR_CHARS: Final = 2_000
#: charsets that are decoded; any other is read as UTF-8, because some codecs of Python take seconds
_CHARSETS: Final = frozenset(
    {
        *("utf-8", "us-ascii", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "iso-8859-2", "iso-8859-15"),
        *("windows-1250", "windows-1251", "windows-1252", "koi8-r", "shift-jis", "euc-jp", "euc-kr"),
        *("gb2312", "gbk", "gb18030", "big5"),
    }
)
_METHODS_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})


class HttpTools:
    def __init__(self, *, environ: Mapping[str, str], allow_private: bool = False) -> None:
        self._environ = environ
        self._allow_private = allow_private

    async def call(self, tool: ConfiguredTool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        template = tool.request
        if template is None:
            return _build_failure(f"the tool {tool.name!r} has no URL to call")
        secrets = request_templates.collect_secrets(template.headers, self._environ)
        try:
            async with (
                asyncio.timeout(tool.timeout / SECOND),
                httpx2.AsyncClient(
                    transport=GuardedTransport(allow_private=self._allow_private), timeout=None, trust_env=False
                ) as client,
            ):
                return await _send(client, self._build_request(client, template, id, arguments), secrets)
        except TimeoutError:
            return _build_failure(f"no answer within {format_duration(tool.timeout)}")
        except ForbiddenAddress as refusal:
            return _build_failure(str(refusal))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            return _build_failure(
                "the request failed: "
                + request_templates.redact_text(str(error) or type(error).__name__, secrets)[:_MAX_ERROR_CHARS]
            )

    def _build_request(
        self, client: httpx2.AsyncClient, template: ToolRequest, id: str, arguments: Mapping[str, Json]
    ) -> httpx2.Request:
        method = template.method.upper()
        has_no_body = method in _METHODS_WITHOUT_BODY
        url = request_templates.fill_url(template.url, arguments, rest_in_query=has_no_body)
        base_headers = {"Accept": "application/json, text/*;q=0.9, */*;q=0.1", "Accept-Encoding": "identity"}
        content = None
        if not has_no_body:
            body = dict(arguments) if template.body is None else request_templates.fill_body(template.body, arguments)
            content = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
            base_headers["Content-Type"] = "text/plain; charset=utf-8" if isinstance(body, str) else "application/json"
        headers = httpx2.Headers(base_headers)
        for name, value in request_templates.fill_headers(template.headers, arguments, self._environ).items():
            headers.update([(name.encode(), value.encode())])
        headers["Idempotency-Key"] = id
        return client.build_request(method, url, headers=headers, content=content)


class UrlNudge:
    """Nudges a guest by a POST of the text, as JSON, to a URL that the user has set."""

    def __init__(self, url: str, *, allow_private: bool, timeout: float) -> None:
        """`timeout` is in seconds."""
        try:
            parsed_url = httpx2.URL(url)
        except httpx2.InvalidURL:
            parsed_url = httpx2.URL()
        if parsed_url.scheme not in ("http", "https") or not parsed_url.host:
            raise Invalid(
                f"{hide_secrets(url)!r} is not a URL to nudge by", hint="use http://HOST/... or https://HOST/..."
            )
        self._url = parsed_url
        self._allow_private = allow_private
        self._timeout = timeout

    async def __call__(self, guest: Guest, text: str) -> None:
        body = json.dumps({"message": text, "agent": guest.agent, "session": guest.session})
        transport = GuardedTransport(allow_private=self._allow_private, setting="courier.allow_private")
        try:
            async with (
                asyncio.timeout(self._timeout),
                httpx2.AsyncClient(transport=transport, timeout=None, trust_env=False) as client,
            ):
                response = await client.post(self._url, content=body, headers={"content-type": "application/json"})
        except TimeoutError:
            raise Unavailable(f"no answer within {self._timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise Unavailable(f"the request failed: {hide_secrets(str(error)) or type(error).__name__}") from None
        if not response.is_success:
            raise Unavailable(f"the answer was {response.status_code}")


async def _send(client: httpx2.AsyncClient, request: httpx2.Request, secrets: list[str]) -> ToolResult:
    for _ in range(_MAX_REDIRECTS + 1):
        response = await client.send(request, stream=True)
        try:
            next_request = response.next_request
            if next_request is None:
                return await _read_response(response, secrets)
            if _get_origin(next_request.url) != _get_origin(request.url):
                return _build_failure("it redirects to another server, which is not followed", response.status_code)
            next_request.headers["Idempotency-Key"] = request.headers["Idempotency-Key"]
            request = next_request
        finally:
            await response.aclose()
    return _build_failure("it redirects again and again")


async def _read_response(response: httpx2.Response, secrets: list[str]) -> ToolResult:
    raw = b""
    async for part in response.aiter_bytes():
        raw += part
        if len(raw) > MAX_RESPONSE_BYTES:
            return _build_failure(f"the answer is over {MAX_RESPONSE_BYTES // 1024} KB", response.status_code)
    charset = (response.charset_encoding or "").strip().lower().replace("_", "-")
    decoded_text = raw.decode(charset if charset in _CHARSETS else "utf-8", "replace")
    text = request_templates.redact_text(decoded_text, secrets)
    if not response.is_success:
        return _build_failure(text[:_MAX_ERROR_CHARS] or response.reason_phrase, response.status_code)
    if not text.strip():
        return ToolResult({"success": True, "status": response.status_code})
    try:
        return ToolResult(
            request_templates.redact_value(json.loads(decoded_text, parse_constant=lambda _: None), secrets)
        )
    except (ValueError, RecursionError):
        return ToolResult(text)


def _get_origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _build_failure(error: str, status: int | None = None) -> ToolResult:
    return ToolResult({"success": False} | ({"status": status} if status else {}) | {"error": error}, ok=False)
