"""
A real browser: Chromium from npm, driven by Playwright in a process of Node.js (`driver.mjs`).

    with Chromium.start() as chromium:
        page = chromium.open_page(gateway.url, cookie=cookie)
        page.open("/inbox")
        page.press("j", "e")
        page.wait_for(".toast:has-text('Done')")

An element is named by a selector of Playwright: CSS, `:has-text()`, `>>` for what is within. One that matches several
elements is an error, so a test sees what comes twice. Nothing here pauses: every wait is for a condition.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import httpx2

from tests.programs import cache

HERE: Final = Path(__file__).parent
MODULES: Final = HERE / "node_modules"
#: seconds; Playwright itself gives up earlier, and only what never comes takes so long
ANSWER_TIMEOUT: Final = 330.0
#: seconds in which a gateway answers; again, only what never comes takes so long
LAST_RESORT: Final = 300.0
DESKTOP: Final = {"width": 1280, "height": 800}
PHONE: Final = {"width": 390, "height": 844}

#: until the view is there and takes keys, which the page says itself
IS_READY: Final = """() => document.documentElement.hasAttribute("data-ready")
    && document.querySelector(".shell main > *") !== null"""


class PageFailure(AssertionError):
    """What was to be done in a page, or to be seen there, was not possible."""


class PageLog(NamedTuple):
    """What happened in a page."""

    errors: list[str]
    dialogs: list[str]
    requests: list[str]


class Chromium:
    """A browser, in which each page is a person's of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._read_answer()

    @classmethod
    def start(cls, node: Path) -> Self:
        process = subprocess.Popen(
            [node, HERE / "driver.mjs", unpack_chromium(node)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return cls(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(ANSWER_TIMEOUT)
        self._process.stdout.close()

    def call(self, target: int, method: str, *args: Any) -> Any:
        """Call a method of Playwright, or one of the driver's own (target 0)."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"target": target, "method": method, "args": args}) + "\n")
        self._process.stdin.flush()
        return self._read_answer()

    def _read_answer(self) -> Any:
        stdout = self._process.stdout
        assert stdout is not None
        if not select.select([stdout], [], [], ANSWER_TIMEOUT)[0]:
            raise TimeoutError("the browser does not answer")
        line = stdout.readline()
        if not line:
            raise PageFailure("the browser has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise PageFailure(answer["error"])
        return answer["result"]

    def open_page(self, url: str, cookie: str | None = None, **options: Any) -> "Page":
        """A new page at a gateway, in a browser context of its own; with a cookie it is signed in."""
        state = {} if cookie is None else {"storageState": {"cookies": [_build_cookie(url, cookie)], "origins": []}}
        number = self.call(0, "open", {"baseURL": url, "viewport": DESKTOP} | state | options)
        return Page(self, number, url)


class Page:
    """One page, and what a person does and sees there."""

    def __init__(self, chromium: Chromium, number: int, url: str) -> None:
        self._chromium = chromium
        self._number = number
        self.url = url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._chromium.call(self._number - 1, "close")

    def call(self, method: str, *args: Any) -> Any:
        return self._chromium.call(self._number, method, *args)

    def add_script(self, script: str) -> None:
        """Run a script in every address that is loaded from now on, before its own scripts."""
        self.call("addInitScript", {"content": script})

    def open(self, path: str) -> None:
        """Load an address, and wait until the view is there."""
        self.call("goto", path)
        self.wait_until(IS_READY)

    def go(self, path: str) -> None:
        """Go to an address as a link does, without loading the page again, and wait until the view is there."""
        self.evaluate("path => { history.pushState(null, '', path); dispatchEvent(new Event('popstate')); }", path)
        self.wait_until(IS_READY)

    def open_tab(self, path: str) -> "Page":
        """Load an address in another tab of the same browser."""
        tab = Page(self._chromium, self._chromium.call(0, "openTab", self._number), self.url)
        tab.call("goto", path)
        return tab

    def replace_cookie(self, cookie: str) -> None:
        """Sign somebody else in, without a word to the page."""
        self._chromium.call(self._number - 1, "addCookies", [_build_cookie(self.url, cookie)])

    @property
    def path(self) -> str:
        """The present address, without its host."""
        return str(self.call("url")).removeprefix(self.url)

    def wait_for_path(self, path: str) -> None:
        self.wait_until("path => location.pathname + location.search === path", path)

    def click(self, selector: str) -> None:
        self.call("click", selector)

    def fill(self, selector: str, text: str) -> None:
        self.call("fill", selector, text)

    def choose(self, selector: str, option: str) -> None:
        self.call("selectOption", selector, option)

    def press(self, *keys: str) -> None:
        """Press keys such as "j", "Control+k", "Enter", in a hurry: the page may be busy with the one before."""
        self._chromium.call(0, "press", self._number, keys)

    def type(self, text: str) -> None:
        self.press(*text)

    def wait_for(self, selector: str) -> None:
        """Wait until one element matches and is seen."""
        self.call("waitForSelector", selector)

    def wait_for_count(self, selector: str, count: int) -> None:
        """Wait until exactly so many elements match."""
        self._chromium.call(0, "waitForCount", self._number, selector, count)

    def wait_until(self, function: str, argument: Any = None) -> None:
        """Wait until a function of JavaScript returns true in the page."""
        self.call("waitForFunction", function, argument)

    def pass_time(self, milliseconds: int) -> None:
        """Have the page do now what it does after or every so many milliseconds (`page_clock`)."""
        self.evaluate("milliseconds => passTime(milliseconds)", milliseconds)

    def count(self, selector: str) -> int:
        return int(self.evaluate("selector => document.querySelectorAll(selector).length", selector))

    def read(self, selector: str) -> str:
        """The text of an element."""
        return str(self.call("textContent", selector))

    def evaluate(self, function: str, argument: Any = None) -> Any:
        """The result of a function of JavaScript in the page."""
        return self.call("evaluate", function, argument)

    def resize(self, size: dict[str, int]) -> None:
        """Change the size of the window, and wait until what is measured there, such as a chart, is drawn anew."""
        self.call("setViewportSize", size)
        self.wait_until("(width) => innerWidth === width", size["width"])
        self.wait_for_frames()

    def wait_for_frames(self) -> None:
        """Wait until what the page is about to draw is drawn."""
        self.evaluate("() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")

    def use_theme(self, theme: str) -> None:
        self.call("emulateMedia", {"colorScheme": theme})

    def delay_requests(self, part: str) -> None:
        """Keep the requests whose address has these letters, until they are released."""
        self._chromium.call(0, "delay", self._number, part)

    def release_requests(self, part: str) -> None:
        self._chromium.call(0, "release", self._number, part)

    def set_offline(self, is_offline: bool) -> None:
        self._chromium.call(self._number - 1, "setOffline", is_offline)

    def set_hidden(self, is_hidden: bool) -> None:
        """Do as if the person had gone to another tab, or come back; a browser of tests shows all tabs."""
        self.evaluate(
            """isHidden => {
              Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
              document.dispatchEvent(new Event("visibilitychange"));
            }""",
            is_hidden,
        )

    def find_violations(self, *rules: str) -> list[list[str]]:
        """The serious and critical violations that axe finds, of all rules or of these."""
        found = self._chromium.call(0, "findViolations", self._number, list(rules) or None)
        return [violation for violation in found if violation[0] in ("serious", "critical")]

    def take_log(self) -> PageLog:
        """What happened in the page since this was last asked."""
        return PageLog(**self._chromium.call(0, "takeLog", self._number))

    def read_busy_time(self) -> float:
        """The seconds that the main thread was busy since the page was opened."""
        return float(self._chromium.call(0, "readBusyTime", self._number))


def unpack_chromium(node: Path) -> Path:
    """Return the path of the browser; it is unpacked once, and kept beside its package."""
    folder = MODULES / ".cache" / "chromium"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=folder.parent))
        script = "import('@sparticuz/chromium').then((module) => module.default.executablePath())"
        subprocess.run(
            [node, "--eval", script],
            cwd=HERE,
            env=os.environ | {"TMPDIR": str(staging)},
            check=True,
        )
        try:
            staging.rename(folder)
        except OSError:  # another process was faster
            shutil.rmtree(staging)
    return folder / "chromium"


def find_node() -> Path | None:
    """Return Node.js if it is there, and what the tests need from npm as well."""
    return cache.find_node(cache.CLIENT_NODE_VERSION) if (MODULES / "playwright-core").is_dir() else None


def sign_in(url: str, admin_key: str, person: str = "admin") -> str:
    """Use a one-time link as the page does, and return the cookie."""
    with httpx2.Client(base_url=url, timeout=LAST_RESORT) as client:
        link = client.post("/api/sign-in/links", json={"name": person}, headers={"x-secret-key": admin_key})
        token = link.json()["path"].partition("#")[2]
        response = client.post("/api/sign-in", json={"token": token}, headers={"origin": url, "x-gatepost-page": "1"})
        assert response.status_code == 200, response.text
        return response.headers["set-cookie"].partition(";")[0]


def _build_cookie(url: str, cookie: str) -> dict[str, Any]:
    name, _, value = cookie.partition("=")
    host = httpx2.URL(url).host
    return {
        "name": name,
        "value": value,
        "domain": host,
        "path": "/",
        "httpOnly": True,
        "secure": False,
        "sameSite": "Strict",
        "expires": -1,
    }
