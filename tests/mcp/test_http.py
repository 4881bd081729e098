"""`POST /mcp` at the level of HTTP: credentials, hosts, and what an answer looks like."""

from typing import Any

import pytest

from gatepost.gateway import mcp_endpoint
from tests.mcp.mcp_setup import McpSetup
from tests.support.gateways.local_gateways import GatewayThread

CALL: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_agents"}}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


@pytest.fixture
def gateway_thread(setup: McpSetup) -> GatewayThread:
    return setup.gateway_thread


class TestCredentials:
    async def test_without_a_good_one_nothing_is_answered(self, gateway_thread: GatewayThread) -> None:
        bad: list[dict[str, str]] = [
            {"x-secret-key": ""},
            {"x-secret-key": "sk_wrong"},
            {"authorization": "Bearer sk_wrong"},
            {"authorization": "Bearer something"},
        ]
        async with gateway_thread.open_client() as client:
            del client.headers["x-secret-key"]
            for credential in bad:
                answer = await client.post("/mcp", json=CALL, headers=HEADERS | credential)
                assert answer.status_code == 401
                assert answer.headers["www-authenticate"] == 'Bearer realm="gatepost"'
                assert answer.json()["type"] == "urn:gatepost:problem:unauthorized"

    async def test_a_secret_key_may_be_a_bearer_token_on_every_route(self, gateway_thread: GatewayThread) -> None:
        key = gateway_thread.gateway.create_key("agent", "analyst")
        async with gateway_thread.open_client() as client:
            del client.headers["x-secret-key"]
            answer = await client.get("/api/inbox/analyst", headers={"authorization": f"Bearer {key}"})
            assert answer.status_code == 200

    async def test_only_the_administrator_acts_as_others(self, gateway_thread: GatewayThread) -> None:
        key = gateway_thread.gateway.create_key("agent", "analyst")
        async with gateway_thread.open_client(key) as client:
            own = await client.get("/api/gates", headers={"x-act-as": "analyst"})
            assert own.status_code == 200
            other = await client.get("/api/gates", headers={"x-act-as": "designer"})
            assert (other.status_code, other.json()["detail"]) == (
                403,
                "this credential is 'analyst' and cannot act as 'designer'",
            )
        async with gateway_thread.open_client() as client:
            unknown = await client.get("/api/gates", headers={"x-act-as": "nobody"})
            assert unknown.status_code == 404


class TestHosts:
    async def test_a_name_that_is_not_the_gateways_is_refused(self, gateway_thread: GatewayThread) -> None:
        async with gateway_thread.open_client() as client:
            answer = await client.post("/mcp", json=CALL, headers=HEADERS | {"host": "evil.example.com"})
            assert (answer.status_code, answer.json()["hint"]) == (421, "add the name to gateway.hosts")
            for host in ("", "[::1", "localhost.evil.example.com", "a b"):
                answer = await client.post("/mcp", json=CALL, headers=HEADERS | {"host": host})
                assert answer.status_code == 421, host
            for origin in ("http://evil.example.com", "null", "http://["):
                page = await client.post("/mcp", json=CALL, headers=HEADERS | {"origin": origin})
                assert page.status_code == 403, origin
            page = await client.post("/mcp", json=CALL, headers=HEADERS | {"origin": "http://localhost:3000"})
            assert page.status_code == 200
            for host in ("localhost:1", "app.localhost", "[::1]:80", "192.168.0.7"):
                answer = await client.post("/mcp", json=CALL, headers=HEADERS | {"host": host})
                assert answer.status_code == 200

    async def test_only_post_is_there(self, gateway_thread: GatewayThread) -> None:
        async with gateway_thread.open_client() as client:
            answer = await client.get("/mcp")
            assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_without_the_extra_a_problem_says_what_to_install(
    gateway_thread: GatewayThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_endpoint, "find_spec", lambda _: None)
    async with gateway_thread.open_client() as client:
        answer = await client.post("/mcp", json=CALL, headers=HEADERS)
        assert answer.status_code == 404
        assert answer.json()["hint"].startswith("pip install 'gatepost[mcp]'")
