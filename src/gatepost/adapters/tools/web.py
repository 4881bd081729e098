"""
Tools that are HTTP requests.

A request carries the id of its call as `Idempotency-Key`, since it may come again. An answer is JSON or text, within a
limit. Redirects are followed on the same server only. What the headers hold is kept out of every answer and every
error, also if the server sends it back.
"""

import asyncio
import json
from collections.abc import Mapping
from typing import Final

import httpx2

from gatepost.adapters.tools import filling
from gatepost.adapters.tools.guard import Forbidden, Guarded
from gatepost.core.agent import Request, Tool
from gatepost.core.event import Json
from gatepost.core.instants import SECOND, short
from gatepost.core.model import ToolResult

#: bytes of an answer
LARGEST: Final = 256 * 1024
_REDIRECTS: Final = 3
#: characters of an answer that is an error
_ERROR: Final = 2_000
#: charsets that an answer is decoded with; any other is read as UTF-8. Some that Python knows take seconds
_CHARSETS: Final = frozenset(
    {
        *("utf-8", "us-ascii", "utf-16", "utf-16le", "utf-16be", "iso-8859-1", "iso-8859-2", "iso-8859-15"),
        *("windows-1250", "windows-1251", "windows-1252", "koi8-r", "shift-jis", "euc-jp", "euc-kr"),
        *("gb2312", "gbk", "gb18030", "big5"),
    }
)
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD"})


class HttpTools:
    def __init__(self, *, environ: Mapping[str, str], allow_private: bool = False) -> None:
        self._environ = environ
        self._allow_private = allow_private

    async def call(self, tool: Tool, id: str, arguments: Mapping[str, Json]) -> ToolResult:
        wanted = tool.request
        if wanted is None:
            return _failed(f"the tool {tool.name!r} has no URL to call")
        secrets = filling.secrets(wanted.headers, self._environ)
        try:
            async with (
                asyncio.timeout(tool.timeout / SECOND),
                httpx2.AsyncClient(
                    transport=Guarded(allow_private=self._allow_private), timeout=None, trust_env=False
                ) as client,
            ):
                return await _answered(client, self._request(client, wanted, id, arguments), secrets)
        except TimeoutError:
            return _failed(f"no answer within {short(tool.timeout)}")
        except Forbidden as refusal:
            return _failed(str(refusal))
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            return _failed(
                f"the request failed: {filling.blotted(str(error) or type(error).__name__, secrets)[:_ERROR]}"
            )

    def _request(
        self, client: httpx2.AsyncClient, wanted: Request, id: str, arguments: Mapping[str, Json]
    ) -> httpx2.Request:
        method = wanted.method.upper()
        bodiless = method in _WITHOUT_BODY
        url = filling.address(wanted.url, arguments, rest_in_query=bodiless)
        named = {"Accept": "application/json, text/*;q=0.9, */*;q=0.1", "Accept-Encoding": "identity"}
        content = None
        if not bodiless:
            sent = dict(arguments) if wanted.body is None else filling.body(wanted.body, arguments)
            content = (sent if isinstance(sent, str) else json.dumps(sent, ensure_ascii=False)).encode()
            named["Content-Type"] = "text/plain; charset=utf-8" if isinstance(sent, str) else "application/json"
        headers = httpx2.Headers(named)
        for name, value in filling.headers(wanted.headers, arguments, self._environ).items():
            headers.update([(name.encode(), value.encode())])
        headers["Idempotency-Key"] = id
        return client.build_request(method, url, headers=headers, content=content)


async def _answered(client: httpx2.AsyncClient, request: httpx2.Request, secrets: list[str]) -> ToolResult:
    for _ in range(_REDIRECTS + 1):
        answer = await client.send(request, stream=True)
        try:
            following = answer.next_request
            if following is None:
                return await _read(answer, secrets)
            if _origin(following.url) != _origin(request.url):
                return _failed("it redirects to another server, which is not followed", answer.status_code)
            following.headers["Idempotency-Key"] = request.headers["Idempotency-Key"]
            request = following
        finally:
            await answer.aclose()
    return _failed("it redirects again and again")


async def _read(answer: httpx2.Response, secrets: list[str]) -> ToolResult:
    raw = b""
    async for part in answer.aiter_bytes():
        raw += part
        if len(raw) > LARGEST:
            return _failed(f"the answer is over {LARGEST // 1024} KB", answer.status_code)
    charset = (answer.charset_encoding or "").strip().lower().replace("_", "-")
    said = raw.decode(charset if charset in _CHARSETS else "utf-8", "replace")
    text = filling.blotted(said, secrets)
    if not answer.is_success:
        return _failed(text[:_ERROR] or answer.reason_phrase, answer.status_code)
    if not text.strip():
        return ToolResult({"success": True, "status": answer.status_code})
    try:
        return ToolResult(filling.cleared(json.loads(said, parse_constant=lambda _: None), secrets))
    except (ValueError, RecursionError):
        return ToolResult(text)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or {"http": 80, "https": 443}.get(url.scheme)


def _failed(error: str, status: int | None = None) -> ToolResult:
    return ToolResult({"success": False} | ({"status": status} if status else {}) | {"error": error}, ok=False)
