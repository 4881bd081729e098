"""The page as files: what a browser gets, with which headers, and what it does not get."""

import base64
import gzip
import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import httpx2
import pytest

from gatepost.gateway.web_app import GatewayApp
from tests.gateway.browser import ORIGIN
from tests.support.gateways.local_gateways import Gateway

INDEX: Final = b"<!doctype html><title>Gatepost</title><script type=module src=/assets/app-1a2b.js></script>"
SCRIPT: Final = b"console.log('a page');" * 50
ENCODED_SCRIPTS: Final = {None: SCRIPT, "gzip": gzip.compress(SCRIPT), "br": b"as if it were brotli"}
#: the sources of the page
WEB: Final = Path(__file__).parents[2] / "web" / "src"
NAVIGATION: Final = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "sec-fetch-mode": "navigate"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What Vite builds, beside a file that is nobody's business."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_bytes(INDEX)
    (folder / "favicon.svg").write_bytes(b"<svg/>")
    (folder / "assets/app-1a2b.js").write_bytes(SCRIPT)
    (folder / "assets/app-1a2b.js.gz").write_bytes(ENCODED_SCRIPTS["gzip"])
    (folder / "assets/app-1a2b.js.br").write_bytes(ENCODED_SCRIPTS["br"])
    (folder / "assets/app-3c4d.css").write_bytes(b"body{}")
    (folder / "assets/font-5e6f.woff2").write_bytes(b"wOF2")
    (folder / "assets/unknown.type").write_bytes(b"?")
    (tmp_path / "secret.html").write_text("secret")
    return folder


async def open_client(gateway: Gateway, folder: Path) -> httpx2.AsyncClient:
    app = GatewayApp(replace(gateway.app_state, page_folder=folder))
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app, raise_app_exceptions=False),
        base_url=ORIGIN,
        headers={"accept-encoding": ""},
    )


@pytest.fixture
async def client(gateway: Gateway, folder: Path) -> AsyncIterator[httpx2.AsyncClient]:
    async with await open_client(gateway, folder) as client:
        yield client


async def test_the_page_is_at_the_root_and_needs_no_credential(client: httpx2.AsyncClient) -> None:
    response = await client.get("/")
    assert (response.status_code, response.content) == (200, INDEX)
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("/assets/app-1a2b.js", "text/javascript; charset=utf-8"),
        ("/assets/app-3c4d.css", "text/css; charset=utf-8"),
        ("/assets/font-5e6f.woff2", "font/woff2"),
    ],
)
async def test_what_has_a_hash_in_its_name_is_kept(path: str, media_type: str, client: httpx2.AsyncClient) -> None:
    response = await client.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"] == media_type
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert (await client.get("/favicon.svg")).headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/", "/spaces/q4", "/assets/app-1a2b.js", "/sign-in", "/sign-in.js", "/sign-in.css"])
async def test_every_file_has_the_policy(path: str, client: httpx2.AsyncClient) -> None:
    headers = (await client.get(path, headers=NAVIGATION)).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]
    assert "set-cookie" not in headers


async def test_the_description_of_the_operations_may_only_show_its_style(client: httpx2.AsyncClient) -> None:
    response = await client.get("/api/docs")
    policy = dict(part.split(" ", 1) for part in response.headers["content-security-policy"].split("; "))
    assert policy.pop("style-src") == f"'sha256-{hash_style(response.text)}'"
    assert set(policy) == {"default-src", "base-uri", "form-action", "frame-ancestors"}
    assert set(policy.values()) == {"'none'"}


def hash_style(page: str) -> str:
    style = page.partition("<style>")[2].partition("</style>")[0]
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


async def test_the_page_that_signs_in_has_no_inline_script_or_style(client: httpx2.AsyncClient) -> None:
    text = (await client.get("/sign-in", headers=NAVIGATION)).text
    assert "gatepost sign-in" in text, "it says how to get a link"
    assert "<style" not in text
    assert "style=" not in text
    assert "onload" not in text
    assert text.count("<script") == text.count('<script type="module" src="/sign-in.js">') == 1
    script = (await client.get("/sign-in.js")).text
    assert "replaceState" in script
    assert "innerHTML" not in script


@pytest.mark.parametrize("path", ["/spaces/q4-report", "/agents/web.analyst", "/inbox?state=dead", "/a/b/c", "/index"])
async def test_an_address_within_the_page_is_the_page(path: str, client: httpx2.AsyncClient) -> None:
    response = await client.get(path, headers=NAVIGATION)
    assert (response.status_code, response.content) == (200, INDEX)
    assert (await client.get(path)).status_code == 404, "a program is told that there is nothing"


@pytest.mark.parametrize(
    "path",
    ["/assets/app-0000.js", "/assets/", "/assets/app-1a2b.js.gz", "/assets/unknown.type"],
)
async def test_an_unknown_asset_is_not_there(path: str, client: httpx2.AsyncClient) -> None:
    response = await client.get(httpx2.URL(ORIGIN).copy_with(raw_path=path.encode()), headers=NAVIGATION)
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


TRAVERSALS: Final = [
    "/../secret.html",
    "/assets/../../secret.html",
    "/%2e%2e/secret.html",
    "/..%2fsecret.html",
    "/assets/%2e%2e%2f%2e%2e%2fsecret.html",
    "/assets/..%5c..%5csecret.html",
    "//secret.html",
    "/./secret.html",
    "/%00",
    "/index.html%00.js",
    "/not-built.html",
    "/sign-in.html",
]


@pytest.mark.parametrize("path", TRAVERSALS)
@pytest.mark.parametrize("accept", ["*/*", "text/html"])
async def test_no_path_leaves_the_folder(path: str, accept: str, client: httpx2.AsyncClient, tmp_path: Path) -> None:
    for name in (path, path.replace("secret.html", f"{tmp_path}/secret.html")):
        url = httpx2.URL(ORIGIN).copy_with(raw_path=name.encode())
        response = await client.get(url, headers={"accept": accept})
        assert response.content == INDEX or response.status_code == 404, response.text
        assert b"secret\n" not in response.content
        assert response.content != b"secret"


async def test_what_does_not_change_is_sent_once(client: httpx2.AsyncClient) -> None:
    for path in ("/", "/assets/app-1a2b.js", "/sign-in"):
        first = await client.get(path)
        tag = first.headers["etag"]
        for header in (tag, f'"other", {tag}', f"W/{tag}"):
            again = await client.get(path, headers={"if-none-match": header})
            assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
            assert "content-security-policy" in again.headers
        assert (await client.get(path, headers={"if-none-match": '"other"'})).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br", "br"),
        ("gzip", "gzip"),
        ("GZIP;q=0.5", "gzip"),
        ("br;q=0, gzip", "gzip"),
        ("br; q=0.0, gzip;q=0", None),
        ("identity", None),
        ("", None),
    ],
)
async def test_what_was_compressed_is_sent_so(accepted: str, encoding: str | None, client: httpx2.AsyncClient) -> None:
    request = client.build_request("GET", "/assets/app-1a2b.js", headers={"accept-encoding": accepted})
    response = await client.send(request, stream=True)
    content = b"".join([part async for part in response.aiter_raw()])
    assert (response.headers.get("content-encoding"), content) == (encoding, ENCODED_SCRIPTS[encoding])
    assert response.headers["vary"] == "accept-encoding"
    plain = await client.get("/assets/app-3c4d.css", headers={"accept-encoding": accepted})
    assert (plain.content, plain.headers.get("content-encoding")) == (b"body{}", None)


async def test_head_is_answered_like_get_without_its_body(client: httpx2.AsyncClient) -> None:
    response = await client.head("/", headers={"accept-encoding": ""})
    assert (response.status_code, response.content) == (200, b"")
    assert response.headers["content-length"] == str(len(INDEX))
    assert response.headers["content-type"] == "text/html; charset=utf-8"


async def test_operations_are_where_they_were(client: httpx2.AsyncClient) -> None:
    for path in ("/api/nothing", "/api", "/hooks", "/channels/x", "/health/x"):
        response = await client.get(path, headers=NAVIGATION)
        assert response.status_code in (404, 405), path
        assert response.headers["content-type"] == "application/problem+json"
    assert (await client.get("/metrics", headers=NAVIGATION)).status_code == 401
    assert (await client.get("/api/caller", headers=NAVIGATION)).status_code == 401
    for path in ("/", "/spaces/q4", "/sign-in"):
        assert (await client.post(path, headers=NAVIGATION)).status_code == 404


async def test_health_is_the_page_only_for_a_person(client: httpx2.AsyncClient) -> None:
    cookie = {"accept": NAVIGATION["accept"], "cookie": "gatepost-4283=x"}
    for headers in (NAVIGATION, cookie):
        assert (await client.get("/health", headers=headers)).content == INDEX
    for headers in ({}, {"accept": NAVIGATION["accept"]}, {"sec-fetch-mode": "cors"}, {"cookie": "gatepost-4283=x"}):
        assert (await client.get("/health", headers=headers)).json()["live"] is True


async def test_every_address_of_the_page_is_the_page(client: httpx2.AsyncClient) -> None:
    """Also those that begin like operations: `/health`, `/channels/sessions`."""
    names = re.findall(r'\{ name: "([\w-]*)"', (WEB / "views.ts").read_text(encoding="utf-8"))
    assert {"", "health", "channels"} < set(names)
    sources = "".join(path.read_text(encoding="utf-8") for path in WEB.rglob("*.tsx"))
    addresses = {f"/{name}" for name in names} | set(re.findall(r'["`](/(?:channels|health)/\w+)', sources))
    assert "/channels/sessions" in addresses
    for address in sorted(addresses):
        response = await client.get(address, headers=NAVIGATION)
        assert (address, response.content) == (address, INDEX)


async def test_files_are_read_once(client: httpx2.AsyncClient, folder: Path) -> None:
    assert (await client.get("/")).content == INDEX
    (folder / "index.html").write_text("changed")
    (folder / "assets/new.js").write_text("new")
    assert (await client.get("/")).content == INDEX
    assert (await client.get("/assets/new.js")).status_code == 404


async def test_a_page_that_was_not_built_says_so_until_it_is(gateway: Gateway, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    async with await open_client(gateway, folder) as client:
        for path in ("/", "/spaces/q4"):
            response = await client.get(path, headers=NAVIGATION)
            assert response.status_code == 404
            assert "its page was not built" in response.text
            assert "make up" in response.text
        assert (await client.get("/sign-in", headers=NAVIGATION)).status_code == 200
        folder.mkdir()
        (folder / "index.html").write_bytes(INDEX)
        assert (await client.get("/")).content == INDEX
