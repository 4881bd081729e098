"""
Every address of the page, filled by a stranger: nothing runs, nothing reaches out, nothing breaks the layout, on a
desktop and a phone; and axe finds no serious violation, in light and in dark.

By day one page goes through all addresses, on a desktop and in light.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.page.chromium import DESKTOP, PHONE, Page
from tests.page.conftest import PageOpener, Scripts
from tests.page.hostile_content import HOSTILE_NAME, HostileContent
from tests.page.marks import by_night
from tests.residents.model_server import PausePoint, Say
from tests.support.gateways.scripted_gateway import ScriptedGateway

VIEWS_FILE = Path(__file__).parents[2] / "web" / "src" / "views.ts"
#: addresses with the stranger's words, and what is opened there first
HOSTILE_ADDRESSES = [
    "/",
    "/inbox",
    "/inbox/admin/{item}",
    "/inbox?state=all&type=mail",
    "/mail",
    "/mail/{mail}",
    "/decisions",
    "/decisions?show=ended",
    "/decisions/{decision}",
    "/decisions/{ended_decision}",
    "/gates",
    "/gates/{gate}",
    "/gates/{ended_gate}?show=ended",
    "/agents",
    "/agents/stranger",
    "/agents/stranger/mind",
    "/agents/stranger/memories",
    "/agents/stranger/goals",
    "/agents/stranger/plans",
    "/agents/stranger/about",
    "/agents/{guest}",
    "/runs",
    "/runs/{run}",
    "/plans",
    "/plans/{plan}",
    "/triggers",
    "/triggers/{trigger}",
    "/routes",
    "/unrouted",
    "/unrouted/{letter}",
    "/channels/sessions",
    "/channels/pairing",
    "/chat",
    "/chat/{session}",
    "/shared",
    "/shared/{entry}",
    "/spaces",
    "/spaces/den",
    "/cost",
    "/health",
    "/items",
    "/settings/models",
]
#: those that show no words of strangers
PLAIN_ADDRESSES = [
    "/channels",
    "/settings",
    "/settings/integrations",
    "/settings/notifications",
    "/settings/values",
    "/cost/runs",
    "/inbox?state=dead",
    "/ledger",
    "/ledger/{topic}",
    "/ledger/{topic}/1",
    "/ledger/profiles",
    "/nothing",
]

#: whether what is Markdown in the stranger's texts is shown as such
IS_RENDERED = """() => ![...document.querySelectorAll("main div.text.plain")]
    .some((element) => element.textContent.startsWith("**"))"""
#: the cells of rows that lie over another one, with what they say
FIND_OVERLAPS = """() => [...document.querySelectorAll("main .row")].flatMap((row) => {
    // What is drawn behind a text, such as a bar, is no cell.
    const isBehind = (cell) => getComputedStyle(cell).position === "absolute";
    const cells = [...row.children].filter((cell) => cell.checkVisibility() && cell.scrollWidth > 0 && !isBehind(cell));
    const places = cells.map((cell) => {
        const { left, right, top, bottom } = cell.getBoundingClientRect();
        const isOpen = getComputedStyle(cell).overflowX === "visible" && getComputedStyle(cell).display !== "inline";
        return { left, right: isOpen ? Math.max(right, left + cell.scrollWidth) : right, top, bottom };
    });
    const isBeside = (a, b) => a.right < b.left + 1 || b.right < a.left + 1;
    const isOver = (a, b) => !isBeside(a, b) && a.bottom > b.top + 1 && b.bottom > a.top + 1;
    return cells.filter((_, index) => places.some((other, place) => place < index && isOver(other, places[index])))
        .map((cell) => `${row.className}: ${cell.className} ${cell.textContent.slice(0, 40)}`);
})"""


def test_every_view_shows_a_stranger_s_words_as_words(hostile_content: HostileContent, open_page: PageOpener) -> None:
    page = open_hostile_page(hostile_content, open_page, "/")
    names: set[str] = set()
    for address in (*HOSTILE_ADDRESSES, *PLAIN_ADDRESSES):
        page.go(hostile_content.build_path(address))
        wait_for_content(page, address)
        check_layout(page)
        check_safety(page)
        name = find_name(address)
        if name not in names:
            assert page.find_violations() == [], address
        names.add(name)


@by_night
@pytest.mark.parametrize("address", [*HOSTILE_ADDRESSES, *PLAIN_ADDRESSES])
def test_an_address_that_a_stranger_has_filled(
    address: str, hostile_content: HostileContent, open_page: PageOpener
) -> None:
    page = open_hostile_page(hostile_content, open_page, address)
    check_layout(page)
    check_safety(page)
    assert page.find_violations() == []
    page.use_theme("dark")
    assert page.find_violations("color-contrast") == []
    page.resize(PHONE)
    check_layout(page)


@by_night
def test_who_thinks_is_on_one_line_whatever_their_name(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    pause = PausePoint()
    scripts[tag] = lambda _: [Say("Well"), pause]
    gateway.create_resident(tag, displayName=HOSTILE_NAME)
    gateway.post("/inbox", to=tag, source="test", content="Think of something")
    page = open_page("/")
    page.wait_for(f"[aria-labelledby=thinking] a[href^='/runs/']:has-text('@{tag}')")
    for size in (DESKTOP, PHONE):
        page.resize(size)
        check_layout(page)
    pause.open()
    gateway.wait_for_runs(tag, 1)


def open_hostile_page(hostile_content: HostileContent, open_page: PageOpener, address: str, **options: Any) -> Page:
    """Open an address in a browser that is fast enough to show every text at once, and wait until it is all there."""
    page = open_page(**options)
    page.add_script("performance.now = () => 0")
    page.open(hostile_content.build_path(address))
    wait_for_content(page, address)
    return page


def wait_for_content(page: Page, address: str) -> None:
    page.wait_for_count("main .skeleton", 0)
    if address in HOSTILE_ADDRESSES:
        page.wait_until("() => document.querySelector('main').textContent.includes('window.pwned')")
    page.wait_until(IS_RENDERED)


def check_layout(page: Page) -> None:
    """Check that nothing is wider than the window, and that the view itself scrolls only down."""
    page.wait_for_frames()  # what counts is what is drawn
    wide = page.evaluate(
        """() => [document.documentElement, document.querySelector("main"), ...document.querySelectorAll(".view-body")]
            .filter((element) => element.scrollWidth > element.clientWidth + 1)
            .map((element) => `${element.tagName} ${element.className}: ${element.scrollWidth}`)"""
    )
    assert wide == [], page.path
    assert page.evaluate("() => document.querySelector('main').getBoundingClientRect().height") > 200
    assert page.evaluate(FIND_OVERLAPS) == [], page.path


def check_safety(page: Page) -> None:
    log = page.take_log()
    assert log.dialogs == []
    assert log.errors == [], "also what the policy has refused"
    assert [request for request in log.requests if page.url not in request] == []
    found = page.evaluate(
        """() => ({
            pwned: window.pwned,
            handlers: [...document.querySelectorAll("*")].filter((element) =>
                [...element.attributes].some(({ name }) => name.startsWith("on") || name === "srcdoc")).length,
            links: [...document.querySelectorAll("a")]
                .filter((link) => !/^(https?|mailto):/.test(new URL(link.getAttribute("href") ?? "", location.href)))
                .map((link) => link.outerHTML.slice(0, 200)),
            foreign: document.querySelectorAll("main :is(script, style, iframe, object, embed, img, form[action])")
                .length,
            turned: /[\\u202a-\\u202e\\u2066-\\u2069]/.test(document.body.textContent),
            marks: /\\p{M}{5}/u.test(document.body.textContent),
        })"""
    )
    assert found == {"handlers": 0, "links": [], "foreign": 0, "turned": False, "marks": False}, page.path


def test_every_view_is_looked_at() -> None:
    names = set(re.findall(r'\{ name: "(\w*)"', VIEWS_FILE.read_text()))
    assert names <= {find_name(address) for address in (*HOSTILE_ADDRESSES, *PLAIN_ADDRESSES)}
    assert len(names) > 10


def find_name(address: str) -> str:
    """Return the name of the view at an address."""
    return re.split(r"[/?]", address)[1]
