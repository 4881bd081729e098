"""`gatepost up` and `gatepost sign-in`: a person gets to the page, once with each link."""

import sys
import webbrowser
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from gatepost.directory.sign_in_commands import open_page
from tests.support.command_line import CommandLine
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.waits import LAST_RESORT


def call(method: str, url: str, body: str | None = None, *, cookie: str = "", **headers: str) -> tuple[int, str, str]:
    """Return the status, the body, and the cookie that is set, as a browser at the address of the gateway."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=LAST_RESORT)
    own_headers = {"origin": f"http://{parts.netloc}", "x-gatepost-page": "1", "content-type": "application/json"}
    connection.request(method, parts.path, body, own_headers | headers | ({"cookie": cookie} if cookie else {}))
    response = connection.getresponse()
    text = response.read().decode()
    connection.close()
    return response.status, text, (response.getheader("set-cookie") or "").partition(";")[0]


def use_link(link: str) -> tuple[int, str, str]:
    address, _, token = link.partition("/sign-in#")
    return call("POST", f"{address}/api/sign-in", f'{{"token": "{token}"}}')


def test_the_link_of_up_signs_in_once_and_for_longer_than_the_gateway_runs(cli: CommandLine) -> None:
    with run_gateway_process(cli.home) as gateway:
        stdout = gateway.process.stdout
        assert stdout is not None
        link = stdout.readline().strip()
        assert link.startswith(f"{gateway.url}/sign-in#lk_")
        status, _, cookie = use_link(link)
        assert status == 200
        assert use_link(link)[0] == 401
        status, text, _ = call("GET", f"{gateway.url}/api/caller", cookie=cookie)
        assert (status, '"administrator":true' in text) == (200, True)
        status, text, _ = call("GET", f"{gateway.url}/sign-in")
        assert (status, "gatepost sign-in" in text) == (200, True)
        assert call("GET", f"{gateway.url}/", host="evil.example")[0] == 421
        gateway.kill()
        gateway.start()
        assert call("GET", f"{gateway.url}/api/caller", cookie=cookie)[0] == 200
        assert use_link(link)[0] == 401


@pytest.mark.parametrize("cli", ["with a gateway"], indirect=True)
def test_a_new_link_is_printed_for_a_person_and_their_browser_can_be_signed_out(cli: CommandLine) -> None:
    result = cli.run_ok("sign-in", "--as", "husam")
    link = result.out.strip()
    assert "signs in 'husam', once, until" in result.err
    status, text, cookie = use_link(link)
    assert (status, '"name":"husam"' in text) == (200, True)
    [row] = [row for row in cli.run_ok("key", "list", "--json").json if row["kind"] == "page"]
    assert (row["entity"], row["revokedAt"]) == ("husam", None)
    assert "the page, as 'husam'" in cli.run_ok("key", "list").out
    address = link.partition("/sign-in")[0]
    assert call("GET", f"{address}/api/caller", cookie=cookie)[0] == 200
    cli.run_ok("key", "revoke", row["id"])
    assert call("GET", f"{address}/api/caller", cookie=cookie)[0] == 401
    assert cli.run_ok("sign-in", "--json").json["url"].startswith(f"{address}/sign-in#lk_")


@pytest.mark.parametrize("cli", ["with a gateway"], indirect=True)
def test_links_are_for_persons(cli: CommandLine) -> None:
    result = cli("sign-in", "--as", "analyst")
    assert (result.code, result.out) == (1, "")
    assert "'analyst' is an agent, and only persons sign in" in result.err
    assert cli("sign-in", "--as", "nobody").code in (1, 2)


def test_without_a_gateway_there_is_no_page(cli: CommandLine) -> None:
    result = cli("sign-in")
    assert (result.code, result.out) == (3, "")
    assert "no gateway runs here" in result.err
    assert "gatepost up" in result.err


def test_up_refuses_a_person_who_is_not_there(cli: CommandLine) -> None:
    result = cli.run_process("up", "--port", "0", "--as", "nobody")
    assert result.code != 0
    assert "there is no entity 'nobody'" in result.err
    assert result.out == ""


def test_a_browser_that_is_signed_in_is_no_key_for_others(cli: CommandLine) -> None:
    with run_gateway_process(cli.home) as gateway:
        stdout = gateway.process.stdout
        assert stdout is not None
        assert use_link(stdout.readline().strip())[0] == 200
        gateway.stop()
    result = cli.run_process("up", "--host", "0.0.0.0", "--port", "0")  # noqa: S104 (it is refused)
    assert (result.code, result.out) == (1, "")
    assert "no key was made for them" in result.err


@pytest.mark.parametrize(
    ("is_terminal", "environ", "is_opened"),
    [
        (True, {"DISPLAY": ":0"}, True),
        (True, {"WAYLAND_DISPLAY": "wayland-0"}, True),
        (True, {}, False),
        (False, {"DISPLAY": ":0"}, False),
        (True, {"DISPLAY": ":0", "SSH_CONNECTION": "10.0.0.1"}, False),
    ],
)
def test_the_page_is_opened_for_a_person_at_a_desktop(
    is_terminal: bool, environ: dict[str, str], is_opened: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(webbrowser, "open", opened.append)
    open_page("http://127.0.0.1:4283/sign-in#lk_x", wait=5.0)
    assert opened == ["http://127.0.0.1:4283/sign-in#lk_x"] * is_opened
