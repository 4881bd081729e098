"""What a gateway makes of a Host that names two, and of cookies that another program has set before the page's."""

import pytest

from tests.gateway.browser import PAGE_HEADERS, Browser, create_link
from tests.support.gateways.local_gateways import Gateway


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.com@127.0.0.1",
        "127.0.0.1/evil.example.com",
        "127.0.0.1?evil.example.com",
        "127.0.0.1#evil.example.com",
        "localhost:4283:80",
        "localhost:port",
        "localhost:",
        "local host",
        "[::1",
        "::1",
        "127.0.0.1, evil.example.com",
    ],
)
async def test_a_malformed_host_is_no_name_of_the_gateway(gateway: Gateway, host: str) -> None:
    async with gateway.open_client() as client:
        answer = await client.post("/mcp", json={}, headers={"host": host})
        assert answer.status_code == 421


async def test_two_hosts_are_no_name_of_the_gateway(gateway: Gateway) -> None:
    async with gateway.open_client() as client:
        headers = [("host", "localhost"), ("host", "evil.example.com"), ("x-secret-key", gateway.admin_key)]
        assert (await client.post("/mcp", json={}, headers=headers)).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:4283", "127.0.0.1:4283", "[::1]:4283", "a.localhost"])
async def test_a_well_formed_one_is(gateway: Gateway, host: str) -> None:
    async with gateway.open_client() as client:
        assert (await client.post("/mcp", json={}, headers={"host": host})).status_code != 421


async def test_bad_cookies_before_the_good_one_lock_nobody_out(gateway: Gateway) -> None:
    async with Browser(gateway) as browser:
        assert (await browser.sign_in(create_link(gateway))).status_code == 200
        name, _, _ = browser.cookie.partition("=")
        bad_cookies = [f"{name}=ck_{number:043d}" for number in range(50)]
        cookie = "; ".join([*bad_cookies, browser.cookie])
        browser.client.cookies.clear()
        assert (await browser.get("/api/caller", cookie=cookie)).status_code == 200
        headers = PAGE_HEADERS | {"cookie": cookie}
        assert (await browser.client.delete("/api/sign-in", headers=headers)).status_code == 204
        assert (await browser.get("/api/caller", cookie=cookie)).status_code == 401
