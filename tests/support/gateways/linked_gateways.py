"""
Gateways that live in the test's own process and hear each other over a transport of the test's choosing. They are
whole, with all their background duties; only the web server is left out.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from gatepost import settings
from gatepost.core.ports import Transport
from gatepost.gateway import serve
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.web_app import GatewayApp
from gatepost.jobs.periodic_duty_background import Duty
from gatepost.paths import make_home
from gatepost.settings.gateway_files import ensure_admin_key, read_admin_key
from tests.support.gateways.local_gateways import StreamListener


@dataclass(frozen=True, slots=True)
class LinkedGateway:
    app_state: GatewayState
    app: GatewayApp
    duties: dict[str, Duty]
    #: the administrator's key
    admin_key: str

    def open_client(self) -> httpx2.AsyncClient:
        """The administrator, calling here."""
        return httpx2.AsyncClient(
            transport=httpx2.ASGITransport(self.app),
            base_url="http://gateway",
            headers={"x-secret-key": self.admin_key},
        )

    async def open_stream(self, path: str) -> StreamListener:
        """Read a stream, as the same caller."""
        return await StreamListener(self.app, path, {"x-secret-key": self.admin_key}).start()


@asynccontextmanager
async def open_linked_gateway(
    url: str, home: Path, transport: Transport, *, interval: str
) -> AsyncIterator[LinkedGateway]:
    """A gateway on a store; `interval` is after how long it looks for what it heard no signal of."""
    environ = {"GATEPOST_HOME": str(home), "GATEPOST_STORE": url, "GATEPOST_JANITOR__INTERVAL": interval}
    async with AsyncExitStack() as stack:
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr("gatepost.app.build_transport", lambda *_, **__: transport)
            gateway = await stack.enter_async_context(serve.open_gateway(settings.load(environ)))
        make_home(home)
        ensure_admin_key(gateway.state.store, home)
        app = GatewayApp(gateway.state)
        await stack.enter_async_context(app.lifespan())
        duties = {duty.name: duty for duty in gateway.worker.duties}
        yield LinkedGateway(gateway.state, app, duties, read_admin_key(home))
