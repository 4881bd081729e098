"""A browser for tests of the page: it keeps cookies, and sends what a browser sends."""

from types import TracebackType
from typing import Self

import httpx2

from gatepost.directory import sign_in_actions as sign_in
from gatepost.directory.key_handlers import generate_secret
from tests.support.gateways.local_gateways import Gateway, StreamListener

ORIGIN = "http://127.0.0.1:4283"
#: what the page sends with a change
PAGE_HEADERS = {"origin": ORIGIN, "sec-fetch-site": "same-origin", "x-gatepost-page": "1"}


def create_link(gateway: Gateway, person: str = "admin") -> str:
    """Return the token of a new one-time link."""
    token = generate_secret("link")
    gateway.store.run_sync(sign_in.create_link, token, person)
    return token


class Browser:
    """A browser at an address of a gateway."""

    def __init__(self, gateway: Gateway, origin: str = ORIGIN) -> None:
        self.gateway = gateway
        self.origin = origin
        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(gateway.app, raise_app_exceptions=False), base_url=origin
        )

    @property
    def cookie(self) -> str:
        """The header with all its cookies."""
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.client.cookies.jar)

    async def sign_in(self, token: str, *, replace: bool | None = None, **headers: str) -> httpx2.Response:
        """Send the token as the page at `/sign-in` does; `replace` is the answer to its question."""
        own_headers = PAGE_HEADERS | {"origin": self.origin} | _name_headers(headers)
        body = {"token": token} | ({} if replace is None else {"replace": replace})
        return await self.client.post("/api/sign-in", json=body, headers=own_headers)

    async def sign_out(self) -> httpx2.Response:
        return await self.client.delete("/api/sign-in", headers=PAGE_HEADERS | {"origin": self.origin})

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        own_headers = {"sec-fetch-site": "same-origin"} | _name_headers(headers)
        return await self.client.get(path, headers=own_headers)

    async def post(self, path: str, json: object = None, **headers: str) -> httpx2.Response:
        """Post as the page does."""
        own_headers = PAGE_HEADERS | {"origin": self.origin} | _name_headers(headers)
        return await self.client.post(path, json=json, headers=own_headers)

    async def open_stream(self, path: str) -> StreamListener:
        return await self.gateway.open_stream(path, cookie=self.cookie, host=self.origin.partition("//")[2])

    def move_to(self, gateway: Gateway) -> None:
        """Reach another gateway from now on, which is at the same address."""
        cookies = self.client.cookies
        self.gateway = gateway
        self.client = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(gateway.app, raise_app_exceptions=False),
            base_url=self.origin,
            cookies=cookies,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.client.aclose()


async def open_signed_in(gateway: Gateway, person: str = "admin") -> Browser:
    """Return a browser that a person has signed in."""
    browser = Browser(gateway)
    response = await browser.sign_in(create_link(gateway, person))
    assert response.status_code == 200, response.text
    return browser


def _name_headers(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
