"""
Every address of the page, filled by a stranger: nothing runs, nothing reaches out, nothing breaks the layout, on a
desktop and a phone; and axe finds no serious violation, in light and in dark.
"""

import re
from pathlib import Path

import pytest

from tests.page.chromium import DESKTOP, PHONE, Page
from tests.page.conftest import PageOpener
from tests.page.hostile_office import HostileOffice

VIEWS_FILE = Path(__file__).parents[2] / "web" / "src" / "views.ts"
#: addresses with the stranger's words, and what is opened there first
HOSTILE_ADDRESSES = [
    "/",
    "/inbox",
    "/inbox/admin/{item}",
    "/inbox?state=all&type=mail",
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
    "/runs",
    "/runs/{run}",
    "/plans",
    "/plans/{plan}",
    "/triggers",
    "/triggers/{trigger}",
    "/routes",
    "/unrouted",
    "/unrouted/{letter}",
    "/chat",
    "/chat/{session}",
    "/shared",
    "/shared/{entry}",
    "/spaces",
    "/spaces/den",
    "/cost",
    "/health",
    "/items",
]
#: those that show no words of strangers
PLAIN_ADDRESSES = [
    "/channels",
    "/cost/runs",
    "/inbox?state=dead",
    "/ledger",
    "/ledger/{topic}",
    "/ledger/{topic}/1",
    "/ledger/profiles",
    "/nothing",
]


@pytest.mark.parametrize("address", [*HOSTILE_ADDRESSES, *PLAIN_ADDRESSES])
def test_an_address_that_a_stranger_has_filled(address: str, office: HostileOffice, open_page: PageOpener) -> None:
    page = open_page(office.build_path(address), reducedMotion="reduce")
    page.wait_for_count("main .skeleton", 0)
    if address in HOSTILE_ADDRESSES:
        page.wait_until("() => document.querySelector('main').textContent.includes('window.pwned')")
    check_layout(page, DESKTOP)
    check_safety(page)
    assert page.find_violations() == []
    page.use_theme("dark")
    assert page.find_violations("color-contrast") == []
    check_layout(page, PHONE)


def check_layout(page: Page, size: dict[str, int]) -> None:
    """Check that nothing is wider than the window, and that the view itself scrolls only down."""
    page.resize(size)
    wide = page.evaluate(
        """() => [document.documentElement, document.querySelector("main"), ...document.querySelectorAll(".view-body")]
            .filter((element) => element.scrollWidth > element.clientWidth + 1)
            .map((element) => `${element.tagName} ${element.className}: ${element.scrollWidth}`)"""
    )
    assert wide == [], f"too wide at {size['width']}"
    assert page.evaluate("() => document.querySelector('main').getBoundingClientRect().height") > 200


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
    assert found == {"handlers": 0, "links": [], "foreign": 0, "turned": False, "marks": False}


def test_every_view_is_looked_at() -> None:
    names = set(re.findall(r'\{ name: "(\w*)"', VIEWS_FILE.read_text()))
    assert names <= {re.split(r"[/?]", address)[1] for address in (*HOSTILE_ADDRESSES, *PLAIN_ADDRESSES)}
    assert len(names) > 10
