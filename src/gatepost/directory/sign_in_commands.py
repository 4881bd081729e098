"""`gatepost sign-in`: a one-time link to the page."""

import os
import sys
import threading
import webbrowser
from contextlib import suppress
from typing import Final

import msgspec

from gatepost.cli import output
from gatepost.cli.command import build_request_verb
from gatepost.cli.gateway_or_store import connect, find_gateway
from gatepost.cli.parameters import JsonFlag, NoOpenFlag, option
from gatepost.directory.sign_in_api import CreateSignInLink
from gatepost.errors import Unavailable
from gatepost.settings import Configuration

#: seconds
_BROWSER_TIMEOUT: Final = 5.0


def sign_in(
    request: CreateSignInLink, configuration: Configuration, no_open: NoOpenFlag = False, json: JsonFlag = False
) -> None:
    """
    Print a link that signs a person in to the page. It works once, within ten minutes. At a terminal with a desktop it
    is also opened.

    The browser stays signed in until it was not used for 30 days. `gatepost key list` lists the browsers that are
    signed in, and `gatepost key revoke` signs one out.

    Examples:
      gatepost sign-in
      gatepost sign-in --as husam --no-open
    """
    url = find_gateway(configuration)
    if url is None:
        raise Unavailable("no gateway runs here", hint="`gatepost up` starts one, and prints a link")
    with connect(configuration) as connection:
        link = connection.send(request)
    address = url + link.path
    document = {**msgspec.to_builtins(link), "url": address}
    output.done(document, address, f"signs in {link.name!r}, once, until {link.expires_at}", json=json)
    if not no_open and not json:
        open_page(address, wait=_BROWSER_TIMEOUT)


def open_page(url: str, *, wait: float = 0.0) -> None:
    """
    Open a URL in a browser, if a person is at this terminal and has a desktop; `wait` is how many seconds a browser
    gets to start, which ends with this process.
    """
    if not sys.stdout.isatty() or "SSH_CONNECTION" in os.environ:
        return
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys():
        return  # what would be opened is a browser in this terminal

    def run() -> None:
        with suppress(webbrowser.Error, OSError):
            webbrowser.open(url)

    thread = threading.Thread(target=run, name="browser", daemon=True)
    thread.start()
    thread.join(timeout=wait)


commands = [
    build_request_verb(
        "sign-in",
        CreateSignInLink,
        {"name": option("--as", "NAME", "the person who signs in")},
        sign_in,
        "Print a one-time link to the page.",
    )
]
