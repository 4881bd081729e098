"""The client: one method for each verb that a gateway offers."""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

import httpx2

from gatepost.client.decisions import Decisions
from gatepost.client.doors import Doors
from gatepost.client.gates import Gates
from gatepost.client.http import RequestSender
from gatepost.client.inboxes import Inboxes
from gatepost.client.line import Line
from gatepost.client.people import People
from gatepost.client.plans import Plans
from gatepost.client.residents import Residents
from gatepost.client.spaces import Spaces
from gatepost.core.wire import Document
from gatepost.errors import Invalid

_HERE = ("127.0.0.1", "::1", "localhost")


class Client(RequestSender, Inboxes, People, Residents, Spaces, Plans, Gates, Decisions, Doors):
    """
    Talks to a gateway: with a secret key as the administrator or one agent, with a public key and a token as one
    entity.

        async with Client("http://127.0.0.1:4283", key="sk_...") as post:
            await post.send(PushEvent(to="analyst", content="The build is red"))

    What a gateway refuses is raised as the error that it was there. Requests are tried again for `patience` seconds,
    and are done once all the same. `is_there` is asked before every try; while it says no, nothing is sent.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        public_key: str | None = None,
        token: str | None = None,
        patience: float = 30.0,
        timeout: float = 30.0,
        is_there: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        async def check(request: httpx2.Request) -> None:
            if is_there is not None and not await is_there():
                raise httpx2.ConnectError(f"no gateway is at {url} any more", request=request)

        headers = {"x-secret-key": key} if key else {}
        if public_key and token:
            headers |= {"x-public-key": public_key, "authorization": f"Bearer {token}"}
        try:
            base = httpx2.URL(url)
            client = httpx2.AsyncClient(
                base_url=base,
                headers=headers,
                timeout=timeout,
                # a proxy that the environment names is not for this machine
                trust_env=base.host not in _HERE,
                # certificates take long to read, and without TLS there is nothing to hold against them
                verify=base.scheme != "http",
                event_hooks={"request": [check]},
            )
        except (httpx2.InvalidURL, UnicodeEncodeError) as error:
            raise Invalid(f"this is not a gateway and a key for it: {error}") from None
        super().__init__(client, patience)
        self._line = Line(client, patience=patience)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def health(self) -> Document:
        """How the gateway is; one that is not well is an error."""
        health: Document = await self._line.get("/health")
        return health
