"""`gatepost up` and `gatepost sign-in`: a person gets to the page, once with each link."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest

from gatepost.directory.sign_in_commands import open_page
from tests.support.command_line import GATEPOST_COMMAND, CommandLine
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.processes.fork_server import ForkedProcess
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


def test_a_link_signs_in_once_and_for_longer_than_the_gateway_runs(cli: CommandLine) -> None:
    with run_gateway_process(cli.home) as gateway:
        link = cli.run_ok("sign-in").out.strip()
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


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_up_prints_a_link_only_to_a_terminal(cli: CommandLine, options: list[str]) -> None:
    out, err = start_and_stop(cli, options)
    assert "lk_" not in out + err
    assert ("`gatepost sign-in` prints a link that signs you in to the page\n" in err) == (not options)
    out, err = start_and_stop(cli, options, is_terminal=True)
    [token] = re.findall(r"/sign-in#lk_\w+", out)
    assert token not in err


@pytest.mark.parametrize("options", [{"options": ["--json"]}, {"GATEPOST_GATEWAY__LOG": "json"}], ids=str)
def test_every_line_of_up_is_json_if_its_log_is(cli: CommandLine, options: Any) -> None:
    out, err = start_and_stop(cli, **options, GATEPOST_PORT="5000")
    assert json.loads(out)["url"].startswith("http://127.0.0.1:")
    events = [json.loads(line) for line in err.splitlines()]
    near_miss = "GATEPOST_PORT is not a setting, and is ignored: did you mean GATEPOST_GATEWAY__PORT?"
    assert (events[0]["level"], events[0]["event"]) == ("warning", near_miss)


def start_and_stop(
    cli: CommandLine, options: Sequence[str] = (), *, is_terminal: bool = False, **environ: str
) -> tuple[str, str]:
    """Run `gatepost up` until it listens; return what it has printed, to a terminal or to a pipe."""
    reader, writer = os.openpty() if is_terminal else os.pipe()
    process = ForkedProcess(
        [*GATEPOST_COMMAND, "up", "--port", "0", "--no-open", *options],
        env=os.environ | cli.environ | environ,
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(writer)
    out = err = ""
    try:
        assert process.stderr is not None
        while "{" not in out and "Ctrl-C stops it" not in err:  # the last that each prints when it is ready
            ready, _, _ = select.select([reader, process.stderr.fileno()], [], [], LAST_RESORT)
            assert ready
            if process.stderr.fileno() in ready:
                chunk = os.read(process.stderr.fileno(), 65_536)
                err += chunk.decode()
                if not chunk:  # it has ended by itself
                    break
            else:
                out += os.read(reader, 65_536).decode()
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # a terminal whose last program is gone
            while data := os.read(reader, 65_536):
                out += data.decode()
        err += process.communicate(timeout=LAST_RESORT)[1]
    finally:
        os.close(reader)
        process.kill()
        process.communicate()
    return out, err


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
    out, err = start_and_stop(cli, ["--as", "nobody"], is_terminal=True)
    assert "there is no entity 'nobody'" in err
    assert out == ""


def test_up_makes_no_link_for_a_person_where_none_is_printed(cli: CommandLine) -> None:
    result = cli.run_process("up", "--port", "0", "--as", "husam")
    assert (result.code, result.error) == (2, "--as is for the link to the page, which is printed only to a terminal")
    assert "run `gatepost sign-in --as husam` when the gateway runs" in result.err


def test_a_browser_that_is_signed_in_is_no_key_for_others(cli: CommandLine) -> None:
    with run_gateway_process(cli.home) as gateway:
        assert use_link(cli.run_ok("sign-in").out.strip())[0] == 200
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
