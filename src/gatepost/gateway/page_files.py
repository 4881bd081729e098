"""
Serve the page: the files that Vite has built into the package (`gatepost/page`), and the one that signs in.

    /                    index.html
    /assets/...          files with a hash in their name, which browsers keep for ever; an unknown one is 404
    /sign-in             the page that exchanges a one-time link for a cookie (`static`); it needs no build
    /spaces/q4-report    an address within the page: whatever a browser navigates to is index.html, unless it belongs
                         to an operation
    /health              the operation; and the page for a browser that a person goes there with

All files are read once, into memory, and found by their whole path: a request names no file. What is sent is without a
credential; data comes from the operations. The policy lets the page run its own scripts and reach its own host, and
nothing else.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from gatepost.gateway import browser_checks as browsers
from gatepost.gateway.http_exchange import HttpExchange

#: where the build of `web` is
PAGE_FOLDER: Final = Path(__file__).parents[1] / "page"
_STATIC_FOLDER: Final = Path(__file__).parent / "static"
_INDEX: Final = "/index.html"
_NOT_BUILT: Final = "/not-built.html"
_SIGN_IN: Final = "/sign-in"

_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_HEADERS: Final = (
    ("content-security-policy", _POLICY),
    ("x-frame-options", "DENY"),  # for browsers that do not know `frame-ancestors`
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_KEEP: Final = "public, max-age=31536000, immutable"
_CHECK: Final = "no-cache"
#: by the end of a name; the types of the machine may be others
_MEDIA_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
}
#: addresses of the page that are operations, too, or begin as operations do
_SHARED_PATHS: Final = ("/health", "/channels", "/channels/sessions", "/channels/pairing")
#: the best first, with the end of the name of a file that is compressed so
_ENCODINGS: Final = {"br": ".br", "gzip": ".gz"}


@dataclass(frozen=True, slots=True)
class PageFile:
    media_type: str
    cache_control: str
    #: by their encoding ("" for none): the bytes, and their tag
    variants: Mapping[str, tuple[bytes, str]]


def is_page_visit(exchange: HttpExchange) -> bool:
    """
    Return True if a person goes to an address that the page shares with an operation. What supervises a gateway asks
    there, too, perhaps with the headers of a browser, so the kind of the answer that it accepts does not suffice.
    """
    is_browser = exchange.headers.get("sec-fetch-mode") == "navigate" or bool(browsers.find_cookies(exchange))
    return is_browser and exchange.path in _SHARED_PATHS and "text/html" in exchange.headers.get("accept", "")


class PageEndpoint:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: Mapping[str, PageFile] = {}

    async def find(self, exchange: HttpExchange) -> PageFile | None:
        """Return the file for a request that belongs to no operation, if there is one."""
        if exchange.method not in ("GET", "HEAD"):
            return None
        if _INDEX not in self._files:  # until it is built
            self._files = await asyncio.to_thread(_load_files, self._folder)
        path = unquote(exchange.path)
        if path in self._files and path != _NOT_BUILT:
            return self._files[path]
        is_page = path == "/" or ("text/html" in exchange.headers.get("accept", "") and not path.startswith("/assets/"))
        return self._files.get(_INDEX, self._files[_NOT_BUILT]) if is_page else None

    async def answer(self, exchange: HttpExchange, file: PageFile, hosts: Collection[str]) -> None:
        """Answer with a file, if the request names one of the `hosts`, or a name that every gateway has."""
        browsers.check_host(exchange, hosts)
        encoding = _choose_encoding(exchange.headers.get("accept-encoding", ""), file.variants)
        content, tag = file.variants[encoding]
        headers = [*_HEADERS, ("cache-control", file.cache_control), ("etag", tag), ("vary", "accept-encoding")]
        if encoding:
            headers.append(("content-encoding", encoding))
        if tag in [part.strip().removeprefix("W/") for part in exchange.headers.get("if-none-match", "").split(",")]:
            await exchange.answer_empty(304, headers)
        elif exchange.method == "HEAD":
            await exchange.answer_empty(200, [*headers, ("content-type", file.media_type)], length=len(content))
        else:
            status = 404 if file is self._files[_NOT_BUILT] else 200
            await exchange.answer(status, content, file.media_type, headers)


def _load_files(folder: Path) -> Mapping[str, PageFile]:
    """Return all files by their paths."""
    files = dict(_read_folder(folder)) | dict(_read_folder(_STATIC_FOLDER))
    files[_SIGN_IN] = files.pop(f"{_SIGN_IN}.html")
    return files


def _read_folder(folder: Path) -> Iterator[tuple[str, PageFile]]:
    for path in sorted(folder.rglob("*")):
        media_type = _MEDIA_TYPES.get(path.suffix)
        if media_type is None or not path.is_file():
            continue
        name = f"/{path.relative_to(folder).as_posix()}"
        variants = {"": _build_variant(path)}
        for encoding, ending in _ENCODINGS.items():
            compressed = path.with_name(path.name + ending)
            if compressed.is_file():
                variants[encoding] = _build_variant(compressed)
        yield name, PageFile(media_type, _KEEP if name.startswith("/assets/") else _CHECK, variants)


def _build_variant(path: Path) -> tuple[bytes, str]:
    content = path.read_bytes()
    return content, f'"{sha256(content).hexdigest()[:32]}"'


def _choose_encoding(accepted: str, variants: Mapping[str, object]) -> str:
    """Return the best encoding that a caller accepts and a file has; "" for none."""
    names = set()
    for part in accepted.lower().split(","):
        name, _, weight = part.partition(";")
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            names.add(name.strip())
    return next((encoding for encoding in _ENCODINGS if encoding in names and encoding in variants), "")
