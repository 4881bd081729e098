"""
What a page of another origin gets with the cookie of a person who is signed in: nothing, and it changes nothing.

The other site is a page on another port of this machine, which is of the same site: browsers send it the cookie, and
only the gateway can refuse.
"""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest

from tests.page.chromium import LAST_RESORT, Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

ATTACK = """<!doctype html><title>Win a prize</title><h1>Win a prize</h1>
<form id=form method=post action="{url}/api/inbox" enctype="text/plain" target=frame>
<input name='{{"to": "admin", "content": "forged' value='"}}'></form><iframe name=frame></iframe>"""


def serve(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """While iterated, a server that answers so; its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def other_site(gateway: ScriptedGateway) -> Iterator[str]:
    class OtherSite(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(ATTACK.format(url=gateway.gateway.url).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    yield from serve(OtherSite)


@pytest.fixture
def attacked_page(gateway: ScriptedGateway, open_page: PageOpener, other_site: str) -> Page:
    """The other site, in the browser of the administrator who is signed in."""
    open_page.expected_errors += ["CORS", "ERR_FAILED", "403 (Forbidden)", "frame", "ERR_BLOCKED_BY_RESPONSE"]
    page = open_page("/inbox")
    page.call("goto", other_site)
    page.take_log()
    return page


FORGED = {"method": "POST", "body": '{"to": "admin", "content": "forged"}'}
#: what a script sends, and with which options
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("/api/caller", {}),
    ("/api/caller", {"mode": "no-cors"}),
    ("/api/inbox/admin/peek", {}),
    ("/api/inbox", FORGED),
    ("/api/inbox", FORGED | {"mode": "no-cors", "headers": {"content-type": "text/plain"}}),
    ("/api/inbox", FORGED | {"headers": {"content-type": "application/json", "x-gatepost-page": "1"}}),
]


def test_a_script_of_another_site_reads_and_changes_nothing(gateway: ScriptedGateway, attacked_page: Page) -> None:
    for path, options in REQUESTS:
        outcome = attacked_page.evaluate(
            """([url, options]) => fetch(url, { credentials: "include", ...options }).then(
                async (response) => [response.type, response.status, await response.text()], () => "failed")""",
            [gateway.gateway.url + path, options],
        )
        assert outcome in ("failed", ["opaque", 0, ""]), (path, options)
        assert not is_forged(gateway), (path, options)


def test_a_form_of_another_site_changes_nothing(gateway: ScriptedGateway, attacked_page: Page) -> None:
    attacked_page.evaluate(
        """() => new Promise((resolve) => {
            document.querySelector("iframe").addEventListener("load", resolve);
            document.getElementById("form").submit();
        })"""
    )
    assert not is_forged(gateway)


def test_the_page_is_shown_in_no_frame(gateway: ScriptedGateway, attacked_page: Page) -> None:
    attacked_page.evaluate(
        """(url) => new Promise((resolve) => {
            const frame = document.createElement("iframe");
            frame.id = "stolen";
            frame.addEventListener("load", resolve);
            frame.src = url;
            document.body.append(frame);
        })""",
        gateway.gateway.url,
    )
    assert attacked_page.evaluate("() => document.getElementById('stolen').contentDocument") is None
    assert not any("/assets/" in request for request in attacked_page.take_log().requests), "nothing of it was loaded"


def test_an_event_stream_of_another_site_is_refused(gateway: ScriptedGateway, attacked_page: Page) -> None:
    outcome = attacked_page.evaluate(
        """(url) => new Promise((resolve) => {
            const source = new EventSource(url, { withCredentials: true });
            source.onopen = () => resolve("open");
            source.onerror = () => resolve("refused");
        })""",
        f"{gateway.gateway.url}/api/stream",
    )
    assert outcome == "refused"


@pytest.fixture
def resolver(gateway: ScriptedGateway) -> Iterator[str]:
    """A proxy for which every name is the gateway, as after the owner of a name has changed its address."""
    gateway_url = gateway.gateway.url

    class Resolver(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = gateway_url + httpx2.URL(self.path).raw_path.decode()
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = dict(self.headers)
            response = httpx2.request(self.command, url, headers=headers, content=body, timeout=LAST_RESORT)
            self.send_response(response.status_code)
            self.send_header("content-type", response.headers.get("content-type", "text/plain"))
            self.end_headers()
            self.wfile.write(response.content)

        do_POST = do_GET  # noqa: N815 (the name that the server looks for)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is printed."""

    yield from serve(Resolver)


@by_night
def test_a_name_that_was_made_to_mean_this_machine_gets_nothing(
    resolver: str, gateway: ScriptedGateway, open_page: PageOpener
) -> None:
    open_page.expected_errors += ["401", "421"]
    page = open_page.open_stranger("http://evil.example", proxy={"server": resolver})
    page.call("goto", "/")
    assert page.count(".shell, .sign-in, script") == 0
    assert page.evaluate("() => fetch('/api/caller').then((response) => response.status)") in (401, 421)
    token = gateway.post("/sign-in/links")["path"].partition("#")[2]
    status = page.evaluate(
        """(token) => fetch("/api/sign-in", {
            method: "POST",
            headers: { "content-type": "application/json", "x-gatepost-page": "1" },
            body: JSON.stringify({ token }),
        }).then((response) => response.status)""",
        token,
    )
    assert status == 421, "not even with a link"


@by_night
def test_the_policy_allows_no_inline_script_or_style(open_page: PageOpener) -> None:
    open_page.expected_errors.append("Content Security Policy")
    page = open_page("/")
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.pwned = 1";
            const style = document.createElement("style");
            style.textContent = "body { display: none }";
            document.body.append(script, style);
            const text = "<b id=b style='position:fixed' onclick='window.pwned = 2'>x</b>";
            document.body.insertAdjacentHTML("beforeend", text);
            document.getElementById("b").click();
        }"""
    )
    assert page.evaluate("() => window.pwned") is None
    assert page.evaluate("() => getComputedStyle(document.body).display") != "none"
    assert page.evaluate("() => getComputedStyle(document.getElementById('b')).position") == "static"
    outcome = page.evaluate("() => fetch('https://tracker.example/').then(() => 'sent', () => 'refused')")
    assert outcome == "refused"
    policy = page.evaluate("() => fetch('/').then((response) => response.headers.get('content-security-policy'))")
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def is_forged(gateway: ScriptedGateway) -> bool:
    items = gateway.get("/inbox/admin", newestFirst=True)["items"]
    return any(item["content"].startswith("forged") for item in items)
