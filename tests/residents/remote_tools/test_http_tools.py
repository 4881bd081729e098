"""Tools that are HTTP requests, against a real server on this machine."""

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gatepost.core.times import HOUR, SECOND
from gatepost.errors import Invalid, Unavailable
from gatepost.residents.agent_config import ConfiguredTool, Execution, ToolRequest
from gatepost.residents.model_port import ToolResult
from gatepost.residents.remote_tools import ssrf
from gatepost.residents.remote_tools.http_tools import MAX_RESPONSE_BYTES, HttpTools
from gatepost.residents.remote_tools.ssrf import AddressScope, classify_address

ENVIRON = {"API_KEY": "s3cret-key-of-the-api"}


class RecordingServer:
    """Answers by path; remembers what it was asked."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[dict[str, Any]] = []
        self.may_answer = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def record_request(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                outer.requests.append(
                    {"method": self.command, "path": self.path, "headers": dict(self.headers), "body": body}
                )
                outer.respond(self)

            do_GET = do_POST = do_PUT = do_DELETE = record_request  # noqa: N815 (so they are called)

            def log_message(self, *_: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        status, headers, body = 200, {"Content-Type": "application/json"}, json.dumps({"ok": True})
        encoding = "utf-8"
        match request.path.partition("?")[0].split("/")[1:]:
            case ["text"]:
                body = "plain words"
            case ["charset", charset]:
                headers["Content-Type"] = f"text/plain; charset={charset}"
                body, encoding = "plain-words-of-a-caf\xe9", "iso-8859-1" if charset == "ISO-8859-1" else "utf-8"
            case ["empty"]:
                status, body = 204, ""
            case ["echo"]:
                body = json.dumps({"yours": dict(request.headers)})
            case ["numbers", *numbers]:
                body = json.dumps({number: int(number) for number in numbers})
            case ["status", code]:
                status, body = int(code), f"no: {request.headers.get('Authorization')}"
            case ["large"]:
                body = "x" * (MAX_RESPONSE_BYTES + 1)
            case ["to", *rest]:
                status, headers["Location"] = 307, "/".join(["", *rest])
            case ["away" | "round" as where]:
                status, headers["Location"] = (307, "/round") if where == "round" else (302, "http://localhost:1/")
            case ["hang"]:
                self.may_answer.wait()
            case _:
                pass
        request.send_response(status)
        for name, value in (headers | {"Content-Length": str(len(body.encode(encoding)))}).items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body.encode(encoding))

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[RecordingServer]:
    with run_server() as server:
        yield server


@contextmanager
def run_server(tls: ssl.SSLContext | None = None) -> Iterator[RecordingServer]:
    server = RecordingServer(tls)
    try:
        yield server
    finally:
        server.close()


async def call_tool(
    url: str, arguments: dict[str, Any] | None = None, *, private: bool = True, **request: Any
) -> ToolResult:
    timeout = request.pop("timeout", HOUR)
    tool = ConfiguredTool(
        name="t", execution=Execution.GATEWAY, timeout=timeout, request=ToolRequest(url=url, **request)
    )
    return await HttpTools(environ=ENVIRON, allow_private=private).call(tool, "run_1/2.0", arguments or {})


class TestRequests:
    async def test_arguments_are_sent_as_they_are(self, server: RecordingServer) -> None:
        result = await call_tool(f"{server.url}/do", {"a": 1, "b": ["é"]})
        assert result == ToolResult({"ok": True})
        [request] = server.requests
        assert (request["method"], request["path"]) == ("POST", "/do")
        assert json.loads(request["body"]) == {"a": 1, "b": ["é"]}
        assert request["headers"]["Content-Type"] == "application/json"
        assert request["headers"]["Idempotency-Key"] == "run_1/2.0"

    async def test_get_puts_them_into_the_query(self, server: RecordingServer) -> None:
        arguments = {"id": "a/b?c#d&e", "q": "x&y=z", "n": 5, "none": None, "deep": {"a": [1]}}
        await call_tool(f"{server.url}/items/{{id}}?v=1#part", arguments, method="get")
        assert (
            server.requests[0]["path"] == "/items/a%2Fb%3Fc%23d%26e?v=1&q=x%26y%3Dz&n=5&deep=%7B%22a%22%3A+%5B1%5D%7D"
        )
        assert server.requests[0]["body"] == ""

    async def test_a_body_may_be_written_out(self, server: RecordingServer) -> None:
        body = {"fixed": 1, "whole": "{list}", "part": "Hello {name}!", "missing": "{other}", "raw": "${API_KEY}"}
        await call_tool(f"{server.url}/do", {"list": [1, 2], "name": "{list}"}, body=body, method="PUT")
        assert json.loads(server.requests[0]["body"]) == {
            "fixed": 1,
            "whole": [1, 2],
            "part": "Hello {list}!",
            "missing": None,
            "raw": "${API_KEY}",
        }
        await call_tool(f"{server.url}/do", {"name": "ann"}, body="Hello {name}")
        assert server.requests[1]["body"] == "Hello ann"

    async def test_headers_take_arguments_and_the_environment(self, server: RecordingServer) -> None:
        headers = {"Authorization": "Bearer ${API_KEY}", "X-Who": "{who}", "Idempotency-Key": "mine"}
        await call_tool(f"{server.url}/do", {"who": "Zoë ${API_KEY}"}, headers=headers)
        sent_headers = server.requests[0]["headers"]
        assert sent_headers["Authorization"] == "Bearer s3cret-key-of-the-api"
        assert "s3cret" not in sent_headers["X-Who"]
        assert sent_headers["Idempotency-Key"] == "run_1/2.0"
        with pytest.raises(Invalid):
            await call_tool(f"{server.url}/do", {"who": "a\r\nX-Admin: yes"}, headers=headers)
        with pytest.raises(Unavailable, match="'OTHER'"):
            await call_tool(f"{server.url}/do", headers={"Authorization": "${OTHER}"})
        assert len(server.requests) == 1

    @pytest.mark.parametrize("value", ["", ".", "..", None])
    async def test_an_argument_stays_in_its_part_of_the_path(self, server: RecordingServer, value: str | None) -> None:
        with pytest.raises(Invalid):
            await call_tool(f"{server.url}/users/{{id}}/posts", {"id": value})
        assert server.requests == []

    @pytest.mark.parametrize("url", ["http://{host}/", "http://127.0.0.1:{port}/", "http://{user}@127.0.0.1/", "{url}"])
    async def test_an_argument_cannot_choose_the_server(self, server: RecordingServer, url: str) -> None:
        with pytest.raises(Invalid):
            await call_tool(url, {"host": "127.0.0.1", "port": server.port, "user": "x", "url": server.url})


class TestAnswers:
    async def test_json_text_and_nothing(self, server: RecordingServer) -> None:
        assert (await call_tool(f"{server.url}/text")).value == "plain words"
        assert (await call_tool(f"{server.url}/empty")).value == {"success": True, "status": 204}

    @pytest.mark.parametrize(
        "charset", ["ISO-8859-1", "utf_8", "punycode", "idna", "utf-7", "unicode_escape", "rot13", "no-such-charset"]
    )
    async def test_an_answer_is_decoded_with_a_charset_of_the_list_else_as_utf_8(
        self, server: RecordingServer, charset: str
    ) -> None:
        """Some codecs that Python knows take seconds for 200 KB, and meanwhile nothing else in the process runs."""
        assert (await call_tool(f"{server.url}/charset/{charset}")).value == "plain-words-of-a-caf\xe9"

    @pytest.mark.parametrize("code", [400, 401, 404, 429, 500, 503])
    async def test_a_refusal_is_an_answer(self, server: RecordingServer, code: int) -> None:
        result = await call_tool(f"{server.url}/status/{code}", headers={"Authorization": "Bearer ${API_KEY}"})
        assert result == ToolResult({"success": False, "status": code, "error": "no: ***"}, ok=False)

    async def test_secrets_do_not_come_back(self, server: RecordingServer) -> None:
        headers = {"Authorization": "Bearer ${API_KEY}", "X-Token": 'quo"ted-token', "Accept": "application/json"}
        result = await call_tool(f"{server.url}/echo", headers=headers)
        assert result.value["yours"]["Authorization"] == result.value["yours"]["X-Token"] == "***"
        assert result.value["yours"]["Accept"] == "application/json"

    async def test_a_secret_of_digits_leaves_json_as_it_is(self, server: RecordingServer) -> None:
        result = await call_tool(f"{server.url}/numbers/271828/314159", headers={"X-Pin": "314159"})
        assert result.value == {"271828": 271828, "***": "***"}

    async def test_too_much_too_late_and_nobody(self, server: RecordingServer) -> None:
        large_result = await call_tool(f"{server.url}/large")
        late_result = await call_tool(f"{server.url}/hang", timeout=SECOND // 10)
        with socket.socket() as unused_socket:
            unused_socket.bind(("127.0.0.1", 0))
            refused_result = await call_tool(
                f"http://127.0.0.1:{unused_socket.getsockname()[1]}/", headers={"X": "${API_KEY}"}
            )
        unknown_result = await call_tool("http://nobody.invalid/")
        for result, message in (
            (large_result, "256 KB"),
            (late_result, "no answer within"),
            (refused_result, "failed"),
            (unknown_result, "found"),
        ):
            assert not result.ok
            assert result.value["success"] is False
            assert message in result.value["error"]
            assert "s3cret" not in result.value["error"]

    async def test_redirects_are_followed_on_the_same_server_only(self, server: RecordingServer) -> None:
        assert (await call_tool(f"{server.url}/to/text", {"a": 1})).value == "plain words"
        assert [(request["method"], json.loads(request["body"])) for request in server.requests] == [
            ("POST", {"a": 1})
        ] * 2
        assert {request["headers"]["Idempotency-Key"] for request in server.requests} == {"run_1/2.0"}
        redirect_result = await call_tool(f"{server.url}/away")
        assert (redirect_result.ok, redirect_result.value["status"]) == (False, 302)
        assert not (await call_tool(f"{server.url}/round")).ok


class TestReach:
    @pytest.mark.parametrize(
        ("verdict", "addresses"),
        [
            (AddressScope.PUBLIC, "8.8.8.8 172.32.0.1 2606:4700::1111 64:ff9b::8.8.8.8 ::ffff:8.8.8.8 2002:808:808::1"),
            (
                AddressScope.PRIVATE,
                "127.0.0.1 127.8.8.8 10.0.0.1 172.16.0.1 192.168.1.1 100.64.0.1 198.18.0.1 ::1 fd12::1 fec0::1"
                " ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::127.0.0.1 64:ff9b::10.0.0.1 2002:a00:1::1 192.0.2.1 2001:db8::1",
            ),
            (
                AddressScope.NEVER,
                "169.254.169.254 169.254.0.1 0.0.0.0 :: 255.255.255.255 224.0.0.1 240.0.0.1 fe80::1 fe80::1%eth0"
                " ff02::1 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 100.100.100.200 192.0.0.192 168.63.129.16"
                " ::ffff:169.254.169.254 ::169.254.169.254 2002:a9fe:a9fe::1 64:ff9b::169.254.169.254"
                " 64:ff9b:1::a9fe:a9fe",
            ),
        ],
    )
    def test_addresses_are_judged_by_what_they_are(self, verdict: AddressScope, addresses: str) -> None:
        assert {address: classify_address(address) for address in addresses.split()} == dict.fromkeys(
            addresses.split(), verdict
        )

    @pytest.mark.parametrize(
        "host",
        ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "[::1]", "[::ffff:127.0.0.1]"],
    )
    async def test_this_machine_is_out_of_reach_unless_allowed(self, server: RecordingServer, host: str) -> None:
        result = await call_tool(f"http://{host}:{server.port}/do", private=False)
        assert not result.ok
        assert "private" in result.value["error"]
        assert server.requests == []

    @pytest.mark.parametrize(
        "host",
        ["169.254.169.254", "0.0.0.0", "[::]", "[fe80::1]", "[::ffff:169.254.169.254]", "2852039166"],  # noqa: S104
    )
    async def test_some_addresses_are_never_called(self, server: RecordingServer, host: str) -> None:
        result = await call_tool(f"http://{host}:{server.port}/latest/meta-data/")
        assert "never called" in result.value["error"]

    async def test_localhost_is_found_whichever_address_answers(self, server: RecordingServer) -> None:
        assert (await call_tool(f"http://localhost:{server.port}/text")).value == "plain words"

    async def test_the_address_that_was_checked_is_the_one_that_is_called(
        self, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lookups = fake_dns(monkeypatch, {"rebinding.test": ["127.0.0.1"]})
        result = await call_tool(f"http://rebinding.test:{server.port}/text")
        assert result.value == "plain words"
        assert lookups == ["rebinding.test"]
        assert server.requests[0]["headers"]["Host"] == f"rebinding.test:{server.port}"

    async def test_one_bad_address_among_good_ones_is_enough(
        self, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake_dns(monkeypatch, {"mixed.test": ["127.0.0.1", "169.254.169.254"]})
        assert "never called" in (await call_tool(f"http://mixed.test:{server.port}/text")).value["error"]
        assert server.requests == []

    async def test_no_proxy_of_the_environment_is_used(
        self, server: RecordingServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
        monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
        assert (await call_tool(f"{server.url}/text")).ok

    async def test_a_certificate_must_be_the_hosts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = create_certificate(tmp_path, "tool.test")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(file)
        monkeypatch.setattr(ssrf, "_create_ssl_context", lambda: ssl.create_default_context(cafile=str(file)))
        fake_dns(monkeypatch, {"tool.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]})
        with run_server(tls) as server:
            assert (await call_tool(f"https://tool.test:{server.port}/text")).value == "plain words"
            assert not (await call_tool(f"https://other.test:{server.port}/text")).ok


def fake_dns(monkeypatch: pytest.MonkeyPatch, addresses_by_host: dict[str, list[str]]) -> list[str]:
    """Let names be found at these addresses; return who was looked for."""
    lookups: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        lookups.append(host)
        return [(0, 0, 0, "", (address, port)) for address in addresses_by_host[host]]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    return lookups


def create_certificate(folder: Path, host: str) -> Path:
    """A certificate for a host, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(host), x509.IPAddress(ip_address("127.0.0.2"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    private_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / f"{host}.pem"
    file.write_bytes(private_key + certificate.public_bytes(serialization.Encoding.PEM))
    return file
