"""A browser that more than one person uses, and that other programs of the machine share: cookies, ports and caches."""

from collections.abc import AsyncIterator

import pytest

from tests.gateway.browser import PAGE_HEADERS, Browser, create_link, open_signed_in
from tests.support.gateways.local_gateways import Gateway


@pytest.fixture
async def admin(gateway: Gateway) -> AsyncIterator[Browser]:
    async with await open_signed_in(gateway) as browser:
        yield browser


async def test_a_link_of_another_person_asks_first(gateway: Gateway, admin: Browser) -> None:
    token, cookie = create_link(gateway, "husam"), admin.cookie
    response = await admin.sign_in(token)
    assert response.status_code == 409
    assert response.json()["type"] == "urn:gatepost:problem:signed-in"
    assert (response.json()["signedInAs"], response.json()["linkFor"]) == ("Administrator", "Husam")
    assert "set-cookie" not in response.headers
    assert (await admin.get("/api/caller")).json()["name"] == "admin"
    response = await admin.sign_in(token, replace=True)
    assert (response.status_code, response.json()["name"]) == (200, "husam"), "the link was not used up"
    async with Browser(gateway) as thief:
        assert (await thief.get("/api/caller", cookie=cookie)).status_code == 401, "one browser, one cookie"


async def test_nobody_is_asked_without_need(gateway: Gateway, admin: Browser) -> None:
    assert (await admin.sign_in(create_link(gateway))).status_code == 200, "the same person"
    await admin.sign_out()
    assert (await admin.sign_in(create_link(gateway, "husam"))).json()["name"] == "husam"


async def test_a_link_that_is_not_valid_tells_nothing(admin: Browser) -> None:
    response = await admin.sign_in("lk_" + "x" * 43)
    assert response.status_code == 401
    assert "Administrator" not in response.text


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1:4283", 200),
        ("http://127.0.0.1:3000", 403),
        ("http://127.0.0.1", 403),
        ("https://127.0.0.1:4283", 200),  # a proxy that passes the Host on
        ("http://gate.example:3000", 403),
        ("https://gate.example:4283", 403),
        ("https://gate.example", 200),  # a proxy with a Host of its own
        ("https://gate.example:443", 200),
        ("https://x@gate.example", 403),
        ("https://gate.example?", 403),
        ("ftp://gate.example", 403),
    ],
)
async def test_an_origin_has_a_port(origin: str, status: int, gateway: Gateway, admin: Browser) -> None:
    object.__setattr__(gateway.app_state, "hosts", frozenset({"gate.example"}))
    headers = {"origin": origin, "x-gatepost-page": "1"}
    assert (await admin.client.get("/api/caller", headers=headers)).status_code == status
    answer = await admin.client.post("/api/sign-in", json={"token": create_link(gateway)}, headers=headers)
    assert answer.status_code == status


async def test_another_cookie_of_the_same_name_does_not_hide_the_right_one(gateway: Gateway, admin: Browser) -> None:
    cookie = admin.cookie
    async with Browser(gateway) as browser:
        headers = PAGE_HEADERS | {"cookie": f"gatepost-4283=planted; {cookie}"}
        assert (await browser.client.get("/api/caller", headers=headers)).json()["name"] == "admin"
        many = "; ".join(["gatepost-4283=planted"] * 500)
        answer = await browser.get("/api/caller", cookie=f"{many}; {cookie}")
        assert answer.status_code == 401, "more than a browser keeps are not tried"
        assert (await browser.client.delete("/api/sign-in", headers=headers)).status_code == 204
    assert (await admin.get("/api/caller")).status_code == 401, "signed out, whichever was the first"


async def test_no_answer_is_kept(gateway: Gateway, admin: Browser) -> None:
    answers = [
        await admin.get("/api/caller"),
        await admin.get("/api/inbox/husam"),
        await admin.get("/api/inbox/nobody"),
        await admin.post("/api/inbox", {"to": "husam", "content": "hello"}),
        await admin.sign_out(),
        await admin.get("/api/caller"),
    ]
    async with gateway.open_client(x_secret_key=gateway.create_key(entity="analyst")) as client:
        answers.append(await client.post("/api/inbox/analyst/drain"))
    assert [answer.headers.get("cache-control") for answer in answers] == ["no-store"] * len(answers), [
        (answer.url.path, answer.status_code) for answer in answers
    ]
    assert answers[-1].status_code == 200, answers[-1].text
