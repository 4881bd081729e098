"""Signing in to the page, as a person does it and as an attacker would try it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import httpx2
import msgspec
import pytest

from gatepost.core.times import DAY, SECOND
from gatepost.directory import entity_actions as directory, key_actions as keys, sign_in_actions as sign_in
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.directory.key import PAGE_LIFETIME
from gatepost.directory.key_handlers import generate_secret
from gatepost.directory.sign_in_actions import LINK_LIFETIME
from gatepost.directory.sign_in_api import SignInLinkView
from gatepost.errors import Refused, UnknownAddress
from gatepost.gateway.attempt_limits import MAX_FAILURES
from gatepost.testing import FakeClock
from tests.gateway.browser import ORIGIN, PAGE_HEADERS, Browser, create_link, open_signed_in
from tests.support.gateways.local_gateways import Gateway, StreamFrame, StreamListener, create_entities, open_gateway
from tests.support.servers.both_databases import URL_OF_BOTH

POSTGRES_BY_NIGHT = True

USED: Final = "this link was used before, is too old, or was never valid"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def gateway(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Gateway]:
    async with open_gateway(f"sqlite:///{tmp_path}/office.db", clock=clock) as gateway:
        create_entities(gateway.store)
        yield gateway


@pytest.fixture
async def admin(gateway: Gateway) -> AsyncIterator[Browser]:
    async with await open_signed_in(gateway) as browser:
        yield browser


@pytest.fixture
async def husam(gateway: Gateway) -> AsyncIterator[Browser]:
    async with await open_signed_in(gateway, "husam") as browser:
        yield browser


def assert_refused(response: httpx2.Response, status: int, detail: str = "") -> None:
    assert response.status_code == status, response.text
    assert response.json()["status"] == status
    assert detail in response.json()["detail"]
    assert "set-cookie" not in response.headers


async def read_end(stream: StreamListener) -> StreamFrame:
    async for frame in stream:
        if frame.event == "ended":
            return frame
    raise AssertionError("the stream has no end")


async def test_a_link_signs_in_once(gateway: Gateway) -> None:
    token = create_link(gateway)
    async with Browser(gateway) as browser, Browser(gateway) as second_browser:
        response = await browser.sign_in(token)
        assert (response.status_code, response.json()) == (
            200,
            {"name": "admin", "displayName": "Administrator", "administrator": True},
        )
        assert response.headers["cache-control"] == "no-store"
        assert (await browser.get("/api/caller")).json()["name"] == "admin"
        assert (await browser.post("/api/entities", {"name": "rosa", "kind": "human"})).status_code == 201
        assert_refused(await second_browser.sign_in(token), 401, USED)
        assert_refused(await browser.sign_in(token), 401, USED)
        assert (await browser.get("/api/caller")).status_code == 200, "it is signed in as before"
        assert (await second_browser.get("/api/caller")).status_code == 401


@URL_OF_BOTH
async def test_of_many_who_use_a_link_at_once_one_is_signed_in(url: str) -> None:
    async with open_gateway(url) as first_gateway, open_gateway(url) as second_gateway:
        token = create_link(first_gateway)
        browsers = [Browser(gateway) for gateway in (first_gateway, second_gateway) * 5]
        responses = await asyncio.gather(*(browser.sign_in(token) for browser in browsers))
        assert sorted(response.status_code for response in responses) == [200] + [401] * 9
        page_keys = [key for key in first_gateway.store.read_sync(keys.list_page) if key.kind == "page"]
        assert len(page_keys) == 1


async def test_the_cookie_can_be_read_by_nobody_and_is_for_this_host(gateway: Gateway) -> None:
    async with Browser(gateway) as browser:
        cookie = (await browser.sign_in(create_link(gateway))).headers["set-cookie"]
    name, *attributes = cookie.split("; ")
    assert name.startswith("gatepost-4283=ck_")
    assert len(name.partition("=")[2]) == len("ck_") + 43, "256 bits"
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} < set(attributes)
    assert "Secure" not in attributes
    assert not any(attribute.startswith("Domain") for attribute in attributes)


async def test_over_https_the_cookie_is_secure(gateway: Gateway) -> None:
    object.__setattr__(gateway.app_state, "hosts", frozenset({"gate.example"}))
    async with Browser(gateway, "https://gate.example") as browser:
        cookie = (await browser.sign_in(create_link(gateway))).headers["set-cookie"]
        assert cookie.startswith("__Host-gatepost=ck_")
        assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} < set(cookie.split("; "))
        assert (await browser.get("/api/caller")).status_code == 200


async def test_an_old_link_is_refused(gateway: Gateway, clock: FakeClock) -> None:
    token, second_token = create_link(gateway), create_link(gateway)
    async with Browser(gateway) as browser:
        clock.advance(LINK_LIFETIME - SECOND)
        assert (await browser.sign_in(token)).status_code == 200
        clock.advance(2 * SECOND)
        assert_refused(await browser.sign_in(second_token), 401, USED)


@pytest.mark.parametrize("kind", ["admin", "agent", "public", "page"])
async def test_no_other_key_is_a_link(kind: Any, gateway: Gateway, admin: Browser) -> None:
    secret = (
        admin.cookie.partition("=")[2]
        if kind == "page"
        else gateway.create_key(kind, "husam" if kind == "agent" else None)
    )
    async with Browser(gateway) as browser:
        assert_refused(await browser.sign_in(secret), 401, USED)


async def test_guesses_end_and_keep_nobody_out(gateway: Gateway) -> None:
    async with Browser(gateway) as browser:
        for text in ["", "lk_", "\x00", "ÿ", "lk_" + "x" * 43, "lk_" + "x" * 3_000, *["guess"] * (MAX_FAILURES - 6)]:
            assert_refused(await browser.sign_in(text), 401, USED)
        response = await browser.sign_in("guess")
        assert_refused(response, 429)
        assert "retry-after" in response.headers
        assert (await browser.sign_in(create_link(gateway))).status_code == 200, "from the same address"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"token": 1}', b'{"token": "a", "more": 1}', b"null", b"\xff"])
async def test_what_is_no_token_is_refused(body: bytes, gateway: Gateway) -> None:
    headers = PAGE_HEADERS | {"content-type": "application/json"}
    async with Browser(gateway) as browser:
        assert_refused(await browser.client.post("/api/sign-in", content=body, headers=headers), 400)
        long_body = b'{"token": "' + b"x" * 5_000 + b'"}'
        assert_refused(await browser.client.post("/api/sign-in", content=long_body, headers=headers), 413)


FORM: Final = "application/x-www-form-urlencoded"
#: what a page elsewhere can make a browser send, and what it cannot
FORGED_HEADERS: Final[Mapping[str, Mapping[str, str | None]]] = {
    "a form": {"origin": "https://evil.example", "sec-fetch-site": "cross-site", "x-gatepost-page": None},
    "a form of an old browser": {"origin": "https://evil.example", "sec-fetch-site": None, "x-gatepost-page": None},
    "a form of a very old browser": {"origin": None, "sec-fetch-site": None, "x-gatepost-page": None},
    "a sandboxed form": {"origin": "null", "sec-fetch-site": "cross-site", "x-gatepost-page": None},
    "a script elsewhere": {"origin": "https://evil.example", "sec-fetch-site": "cross-site"},
    "a script on another port": {"origin": "http://127.0.0.1:3000", "sec-fetch-site": "same-site"},
    "an old browser on another port": {"origin": "http://127.0.0.1:3000", "sec-fetch-site": None},
    "a script on another name of this machine": {"origin": "http://localhost:4283", "sec-fetch-site": "cross-site"},
    "an origin that begins like ours": {"origin": f"{ORIGIN}.evil.example", "sec-fetch-site": None},
    "an origin that ends like ours": {"origin": "http://evil.example@127.0.0.1:4283", "sec-fetch-site": None},
    "an origin with a path": {"origin": f"{ORIGIN}/", "sec-fetch-site": None},
    "no origin": {"origin": None},
    "the right origin without the header": {"x-gatepost-page": None},
    "another value of the header": {"x-gatepost-page": "yes"},
    "a cross-site request that says it is ours": {"sec-fetch-site": "cross-site"},
}


def forge(changes: Mapping[str, str | None], **headers: str) -> dict[str, str]:
    merged: dict[str, str | None] = {**PAGE_HEADERS, **headers, **changes}
    return {name: value for name, value in merged.items() if value is not None}


@pytest.mark.parametrize("case", FORGED_HEADERS)
async def test_no_other_page_changes_anything_with_the_cookie(case: str, gateway: Gateway, admin: Browser) -> None:
    json_headers = forge(FORGED_HEADERS[case], **{"content-type": "application/json"})
    message, path = b'{"content": "forged", "sender": "husam"}', "/api/spaces/q4-report/messages"
    for media_type in ("application/json", "text/plain", FORM, "multipart/form-data; boundary=x"):
        response = await admin.client.post(path, content=message, headers=json_headers | {"content-type": media_type})
        assert_refused(response, 403)
    assert_refused(await admin.client.delete("/api/entities/designer", headers=json_headers), 403)
    assert_refused(await admin.client.patch("/api/entities/designer", json={}, headers=json_headers), 403)
    assert_refused(await admin.client.put("/api/gates/x/resolution", json={}, headers=json_headers), 403)
    assert_refused(await admin.client.delete("/api/sign-in", headers=json_headers), 403)
    token = create_link(gateway, "husam")
    response = await admin.client.post("/api/sign-in", json={"token": token}, headers=json_headers)
    assert_refused(response, 403)
    assert (await admin.get("/api/caller")).json()["name"] == "admin", "it is neither out nor somebody else"
    assert (await admin.get(path)).json()["items"] == []
    async with Browser(gateway) as browser:
        assert (await browser.sign_in(token)).status_code == 200, "the link was not used up"


async def test_the_page_itself_may(admin: Browser) -> None:
    response = await admin.post("/api/spaces/q4-report/messages", {"content": "hello", "sender": "husam"})
    assert response.status_code == 201


READS_BY_OTHERS: Final[list[dict[str, str]]] = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"origin": "http://127.0.0.1:3000"},
    {"origin": "https://evil.example"},
    {"origin": "null"},
]


@pytest.mark.parametrize("headers", READS_BY_OTHERS)
async def test_no_other_page_reads_with_the_cookie(headers: dict[str, str], admin: Browser) -> None:
    for path in ("/api/inbox/husam", "/api/keys", "/api/stream"):
        response = await admin.client.get(path, headers=headers)
        assert_refused(response, 403)
        assert not any(name.startswith("access-control") for name in response.headers)
    assert (await admin.client.get("/api/keys", headers={"sec-fetch-site": "none"})).status_code == 200, "typed by hand"


async def test_nobody_is_permitted_to_call_from_elsewhere(admin: Browser) -> None:
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    response = await admin.client.options("/api/inbox", headers=headers)
    assert response.status_code == 405
    assert not any(name.startswith("access-control") for name in response.headers)


HOSTS: Final = {
    "127.0.0.1:4283": True,
    "localhost:4283": True,
    "LOCALHOST:4283": True,
    "gatepost.localhost:4283": True,
    "[::1]:4283": True,
    "192.168.1.7:4283": True,
    "gate.example": True,
    "evil.example": False,
    "evil.example:4283": False,
    "localhost.evil.example": False,
    "127.0.0.1.evil.example": False,
    "gate.example.evil.example": False,
    "evil-gate.example": False,
    "127.1": False,
    "2130706433": False,
    "": False,
    "[": False,
    "evil.example@127.0.0.1": False,
}


@pytest.mark.parametrize("host", HOSTS)
async def test_a_name_that_was_made_to_mean_this_machine_is_refused(host: str, gateway: Gateway) -> None:
    """The browser of somebody who visits evil.example takes this gateway for evil.example."""
    object.__setattr__(gateway.app_state, "hosts", frozenset({"gate.example"}))
    token = create_link(gateway)
    page_key = generate_secret("page")
    gateway.store.run_sync(keys.create, kind="page", secret=page_key, entity="admin", expires_at=2**60)
    port = host.rpartition(":")[2] if host.endswith(":4283") else ""
    headers = PAGE_HEADERS | {
        "host": host,
        "origin": f"http://{host}",
        "cookie": f"gatepost{f'-{port}' if port else ''}={page_key}",
    }
    async with Browser(gateway) as browser:
        answers = [
            await browser.client.get("/", headers=headers),
            await browser.client.get("/sign-in", headers=headers),
            await browser.client.get("/sign-in.js", headers=headers),
            await browser.client.get("/api/caller", headers=headers),
            await browser.client.post("/api/inbox", json={"to": "analyst", "content": "x"}, headers=headers),
            await browser.client.delete("/api/sign-in", headers=headers),
            await browser.client.post("/api/sign-in", json={"token": token}, headers=headers),
        ]
    statuses = [answer.status_code for answer in answers]
    assert (421 not in statuses) if HOSTS[host] else statuses == [421] * 7, statuses


async def test_a_key_is_good_for_every_host_and_from_everywhere(gateway: Gateway, admin: Browser) -> None:
    """Programs are what they were: no page of others knows a key."""
    headers = {"x-secret-key": gateway.admin_key, "host": "evil.example", "origin": "https://evil.example"}
    assert (await admin.client.get("/api/keys", headers=headers)).status_code == 200
    message = {"content": "hello", "sender": "husam"}
    response = await admin.client.post("/api/spaces/q4-report/messages", json=message, headers=headers)
    assert response.status_code == 201
    assert_refused(await admin.get("/api/caller", x_secret_key="sk_" + "x" * 43), 401)
    assert_refused(await admin.get("/api/caller", authorization="Bearer x"), 401)


async def test_a_cookie_is_good_only_as_a_cookie(gateway: Gateway, admin: Browser) -> None:
    secret = admin.cookie.partition("=")[2]
    assert (await admin.get("/api/caller")).status_code == 200
    async with Browser(gateway) as browser:
        assert_refused(await browser.get("/api/caller", x_secret_key=secret), 401)
        assert_refused(await browser.get("/api/caller", authorization=f"Bearer {secret}"), 401)
        for key in (
            gateway.admin_key,
            gateway.create_key("agent", "husam"),
            create_link(gateway),
            "x",
            "ck_" + "x" * 43,
        ):
            assert_refused(await browser.get("/api/caller", cookie=f"gatepost-4283={key}"), 401)
        assert (await browser.get("/api/caller", cookie=f"a=b; gatepost-4283={secret}; c")).status_code == 200
        assert_refused(await browser.get("/api/caller", cookie=f"gatepost={secret}"), 401)
        assert_refused(await browser.get("/api/caller", cookie=f"__Host-gatepost={secret}"), 401)


async def test_mcp_takes_no_cookie(admin: Browser) -> None:
    assert_refused(await admin.post("/mcp", {}), 401)


async def test_a_person_is_that_person_and_no_other(gateway: Gateway, husam: Browser, admin: Browser) -> None:
    assert (await husam.get("/api/caller")).json() == {
        "name": "husam",
        "displayName": "Husam",
        "administrator": False,
    }
    assert (await husam.get("/api/inbox/husam")).status_code == 200
    assert (await husam.post("/api/spaces/q4-report/messages", {"content": "hi"})).json()["sender"] == "husam"
    assert_refused(await husam.get("/api/inbox/analyst"), 403)
    assert_refused(await husam.get("/api/keys"), 403)
    assert_refused(await husam.get("/api/caller", x_act_as="admin"), 403)
    assert_refused(await husam.post("/api/sign-in/links", {"name": "admin"}), 403)
    assert_refused(await husam.post("/api/spaces/q4-report/messages", {"content": "x", "sender": "analyst"}), 403)
    assert (await admin.get("/api/caller", x_act_as="husam")).json()["administrator"] is False


async def test_a_link_is_for_a_person_and_is_made_by_the_administrator(gateway: Gateway, admin: Browser) -> None:
    response = await admin.post("/api/sign-in/links", {"name": "husam"})
    assert response.status_code == 201
    link = response.json()
    assert link["name"] == "husam"
    assert link["path"].startswith("/sign-in#lk_"), "the part behind # is sent to no server"
    async with Browser(gateway) as browser:
        assert (await browser.sign_in(link["path"].partition("#")[2])).json()["name"] == "husam"
    assert_refused(await admin.post("/api/sign-in/links", {"name": "analyst"}), 403, "only persons sign in")
    assert_refused(await admin.post("/api/sign-in/links", {"name": "nobody"}), 404)
    view = msgspec.json.decode(response.content, type=SignInLinkView)
    assert (view.path, link["path"] in repr(view)) == (link["path"], False), "nor is it in a log of the view"
    with pytest.raises(Refused):
        gateway.store.run_sync(sign_in.create_link, generate_secret("link"), "analyst")
    with pytest.raises(UnknownAddress):
        gateway.store.run_sync(sign_in.create_link, generate_secret("link"), "nobody")


async def test_who_has_signed_out_is_out(gateway: Gateway, admin: Browser) -> None:
    cookie = admin.cookie
    response = await admin.sign_out()
    assert response.status_code == 204
    assert response.headers["set-cookie"].startswith("gatepost-4283=; ")
    assert "Max-Age=0" in response.headers["set-cookie"]
    assert admin.cookie == ""
    async with Browser(gateway) as thief:
        assert_refused(await thief.get("/api/caller", cookie=cookie), 401, "not signed in")
    assert (await admin.sign_out()).status_code == 204, "twice is once"


async def test_who_signs_in_again_has_one_cookie(gateway: Gateway, admin: Browser) -> None:
    cookie = admin.cookie
    assert (await admin.sign_in(create_link(gateway, "husam"), replace=True)).json()["name"] == "husam"
    assert (await admin.get("/api/caller")).json()["name"] == "husam"
    async with Browser(gateway) as thief:
        assert_refused(await thief.get("/api/caller", cookie=cookie), 401)


async def test_a_browser_is_listed_and_signed_out_like_a_key(gateway: Gateway, husam: Browser) -> None:
    async with gateway.open_client() as client:
        [page_key] = [key for key in (await client.get("/api/keys")).json()["items"] if key["kind"] == "page"]
        assert page_key["entity"] == "husam"
        assert page_key["name"].startswith("python-httpx")
        assert page_key["expiresAt"]
        async with await husam.open_stream("/api/stream") as stream:
            assert stream.status == 200
            assert (await client.delete(f"/api/keys/{page_key['prefix']}")).status_code == 200
            assert (await read_end(stream)).data["reason"] == "the credential is no longer valid"
    assert_refused(await husam.get("/api/caller"), 401)


async def test_a_stream_ends_when_its_browser_signs_out(gateway: Gateway, admin: Browser) -> None:
    async with await admin.open_stream("/api/spaces/q4-report/stream") as stream:
        assert stream.status == 200
        assert (await admin.sign_out()).status_code == 204
        assert (await read_end(stream)).data["reason"] == "the credential is no longer valid"


async def test_a_person_who_has_left_is_out(gateway: Gateway) -> None:
    gateway.store.run_sync(directory.register, EntitySpec(name="rosa", kind=EntityKind.HUMAN))
    link = create_link(gateway, "rosa")
    async with await open_signed_in(gateway, "rosa") as browser, Browser(gateway) as second_browser:
        async with await browser.open_stream("/api/stream") as stream:
            gateway.store.run_sync(directory.retire, "rosa")
            assert (await read_end(stream)).data["reason"] == "the credential is no longer valid"
        assert_refused(await browser.get("/api/caller"), 401)
        assert_refused(await second_browser.sign_in(link), 401)


async def test_a_browser_that_is_not_used_is_signed_out(gateway: Gateway, clock: FakeClock, admin: Browser) -> None:
    authenticator = gateway.app_state.authenticator
    for _ in range(3):  # each use begins the time anew
        clock.advance(PAGE_LIFETIME - DAY)
        authenticator._cache.clear()
        assert (await admin.get("/api/caller")).status_code == 200
    clock.advance(PAGE_LIFETIME + SECOND)
    authenticator._cache.clear()
    assert_refused(await admin.get("/api/caller"), 401)
    create_link(gateway)
    assert not any(key.kind == "page" for key in gateway.store.read_sync(keys.list_page)), "and nothing is left of it"


async def test_a_busy_page_writes_every_five_minutes(gateway: Gateway, clock: FakeClock, admin: Browser) -> None:
    def read_end_of_key() -> list[int | None]:
        return [key.expires_at for key in gateway.store.read_sync(keys.list_page) if key.kind == "page"]

    ends = [read_end_of_key()]
    for _ in range(5):
        clock.advance("150 seconds")
        gateway.app_state.authenticator._cache.clear()
        await admin.get("/api/caller")
        ends.append(read_end_of_key())
    assert len({str(end) for end in ends}) == 2, "once in twelve minutes: at the first use after five"


async def test_a_browser_is_signed_in_on_every_gateway_and_after_a_restart(url: str) -> None:
    async with open_gateway(url) as first_gateway, open_gateway(url) as second_gateway:
        browser = await open_signed_in(first_gateway)
        browser.move_to(second_gateway)
        assert (await browser.get("/api/caller")).status_code == 200
    async with open_gateway(url) as gateway:
        browser.move_to(gateway)
        assert (await browser.get("/api/caller")).status_code == 200
        assert (await browser.sign_out()).status_code == 204
    async with open_gateway(url) as gateway:
        browser.move_to(gateway)
        assert (await browser.get("/api/caller")).status_code == 401


def read_files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("office.db*"))


async def test_only_hashes_are_stored(gateway: Gateway, tmp_path: Path) -> None:
    link = create_link(gateway)
    async with await open_signed_in(gateway) as browser:
        secret = browser.cookie.partition("=")[2]
    content = read_files(tmp_path)
    assert link[:11].encode() in content, "its beginning tells keys apart"
    assert secret[11:].encode() not in content
    assert link[11:].encode() not in content
