"""One browser and one gateway for all tests of a process; each test has pages of its own, and names of its own."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gatepost.gateway.page_files import PAGE_FOLDER
from tests.page import chromium as browsers
from tests.page.chromium import Chromium, Page
from tests.page.hostile_content import STRANGER, STRANGER_SCRIPT, HostileContent, fill_with_hostile_content
from tests.page.page_clock import build_script
from tests.residents.model_server import Answer, CompletionRequest, Say, Script
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway

#: the cookies of who has signed in, by the URL and the name
Cookies = dict[tuple[str, str], str]

_numbers = itertools.count(1)


class Scripts(dict[str, Script]):
    """What residents do, by their names; who has no script does nothing."""

    def __missing__(self, name: str) -> Script:
        return do_nothing


def do_nothing(request: CompletionRequest) -> Answer:
    return Say("Nothing is to be done.")


class PageOpener:
    """Opens pages that are signed in, and looks at what happened in them in the end."""

    def __init__(self, chromium: Chromium, gateway: ScriptedGateway, cookies: Cookies, stack: ExitStack) -> None:
        self._chromium = chromium
        self._gateway = gateway
        self._cookies = cookies
        self._stack = stack
        self._pages: list[Page] = []
        #: words of the errors that the browser may report, such as that of a request that failed
        self.expected_errors: list[str] = []

    def __call__(self, path: str | None = None, person: str = "admin", url: str | None = None, **options: Any) -> Page:
        """A page of a person, at an address if there is one; `url` is another way to the gateway."""
        url = url or self._gateway.gateway.url
        if (url, person) not in self._cookies:
            self._cookies[url, person] = browsers.sign_in(url, self._gateway.gateway.admin_key, person)
        page = self.open_stranger(url, cookie=self._cookies[url, person], **options)
        if path is not None:
            page.open(path)
        return page

    def open_stranger(self, url: str | None = None, **options: Any) -> Page:
        """A page of somebody who is not signed in; nothing moves in it without a reason, because each frame costs."""
        options = {"reducedMotion": "reduce"} | options
        page = self._stack.enter_context(self._chromium.open_page(url or self._gateway.gateway.url, **options))
        page.add_script(build_script())
        self._pages.append(page)
        return page

    def check_logs(self) -> None:
        for page in self._pages:
            log = page.take_log()
            errors = [error for error in log.errors if not any(words in error for words in self.expected_errors)]
            assert not errors, errors
            assert not log.dialogs


@pytest.fixture(scope="session")
def node() -> Path:
    node = browsers.find_node()
    if node is None:
        pytest.skip("NOT CHECKED: the browser is not installed; `make test` installs it")
    if not (PAGE_FOLDER / "index.html").exists():
        pytest.skip("NOT CHECKED: the page is not built; `make test` builds it")
    return node


@pytest.fixture(scope="session")
def chromium(node: Path) -> Iterator[Chromium]:
    with Chromium.start(node) as chromium:
        yield chromium


@pytest.fixture(scope="session")
def scripts() -> Scripts:
    return Scripts()


@pytest.fixture(scope="session")
def gateway(node: Path, scripts: Scripts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedGateway]:
    with run_scripted_gateway(tmp_path_factory.mktemp("page") / "home", scripts) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def hostile_content(gateway: ScriptedGateway, scripts: Scripts) -> HostileContent:
    """Every view, filled by a stranger."""
    scripts[STRANGER] = STRANGER_SCRIPT
    return fill_with_hostile_content(gateway)


@pytest.fixture(scope="session")
def cookies() -> Cookies:
    return {}


@pytest.fixture
def open_page(chromium: Chromium, gateway: ScriptedGateway, cookies: Cookies) -> Iterator[PageOpener]:
    with ExitStack() as stack:
        opener = PageOpener(chromium, gateway, cookies, stack)
        yield opener
        opener.check_logs()


@pytest.fixture
def tag() -> str:
    """What makes the names of a test its own."""
    return f"t{next(_numbers)}"
