"""
Tab on every view: it reaches every control, in the order of the document; each has a name and a focus that is seen; and
it comes round, so nothing keeps it.
"""

from typing import Final

import pytest

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.hostile_content import HostileContent
from tests.page.marks import by_night
from tests.page.test_views import HOSTILE_ADDRESSES, PLAIN_ADDRESSES, open_hostile_page

pytestmark = by_night

MAX_STOPS: Final = 400
#: presses between two looks at where the focus has been
ROUND: Final = 25

#: record every element that gets the focus, until the first one has it again
RECORD: Final = """() => {
    const stops = (window.tabStops = []);
    const describe = (element) => element.outerHTML.slice(0, 160);
    const findName = (element) => {
        const ids = (element.getAttribute("aria-labelledby") ?? "").split(" ");
        const sources = [...ids.map((id) => document.getElementById(id)), ...(element.labels ?? []), element];
        const texts = sources.map((source) => source?.textContent ?? "");
        const { ariaLabel, title, placeholder } = element;
        return [ariaLabel, ...texts, title, placeholder].find((text) => (text ?? "").trim() !== "");
    };
    const listControls = () =>
        [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
            .filter((control) => !control.disabled && control.tabIndex >= 0 && control.closest("[inert]") === null)
            .filter((control) => control.checkVisibility({ visibilityProperty: true }))
            .filter((control) => control.getBoundingClientRect().width > 0);
    // An outline is seen on a side if no box around the element cuts it off there.
    const countSeenSides = (element, style) => {
        const reach = parseFloat(style.outlineOffset) + parseFloat(style.outlineWidth);
        const { top, right, bottom, left } = element.getBoundingClientRect();
        const sides = [top - reach, right + reach, bottom + reach, left - reach];
        const seen = [true, true, true, true];
        for (let box = element.parentElement; box !== null; box = box.parentElement) {
            const { overflowX, overflowY, contain } = getComputedStyle(box);
            if (overflowX === "visible" && overflowY === "visible" && !/strict|paint|content/.test(contain)) continue;
            const rect = box.getBoundingClientRect();
            const depths = [rect.top - sides[0], sides[1] - rect.right, sides[2] - rect.bottom, rect.left - sides[3]];
            depths.forEach((depth, side) => depth > 0.5 && (seen[side] = false));
        }
        return seen.filter(Boolean).length;
    };
    document.addEventListener("focusin", ({ target }) => {
        if (target.tabIndex < 0 || stops.controls) return;
        // What comes later, such as a row of a list that is scrolled back, is not of this round.
        if (target === stops[0]?.element) stops.controls = listControls();
        if (stops.controls) return;
        target.scrollIntoView({ block: "nearest" }); // as the browser does a moment later
        const style = getComputedStyle(target);
        const hasOutline = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
        stops.push({
            element: target,
            name: findName(target),
            isSeen: style.boxShadow !== "none" || (hasOutline && countSeenSides(target, style) >= 2),
            text: describe(target),
        });
    });
}"""
IS_ROUND: Final = "() => window.tabStops.controls !== undefined"
REPORT: Final = """() => {
    const stops = window.tabStops;
    const describe = (element) => element.outerHTML.slice(0, 160);
    const reached = new Set(stops.map((stop) => stop.element));
    const isBefore = (first, second) =>
        !first.isConnected || !second.isConnected || (first.compareDocumentPosition(second) & 4) !== 0;
    // The focus may begin within the view; then it passes the beginning of the page once.
    const isRestart = (stop) => stop.element.matches(".skip-link");
    const list = (isWrong) => stops.filter(isWrong).map((stop) => stop.text);
    return {
        unreached: stops.controls.filter((control) => !reached.has(control)).map(describe),
        disordered: list((stop, at) => at > 0 && !isRestart(stop) && !isBefore(stops[at - 1].element, stop.element)),
        unseen: list((stop) => !stop.isSeen),
        nameless: list((stop) => !stop.name),
        count: stops.length,
    };
}"""


@pytest.mark.parametrize("address", [*HOSTILE_ADDRESSES, *PLAIN_ADDRESSES, "/channels/sessions", "/channels/pairing"])
def test_tab_goes_through_a_view(address: str, hostile_content: HostileContent, open_page: PageOpener) -> None:
    page = open_hostile_page(hostile_content, open_page, address)
    page.wait_for(".sidebar .nav-link[href='/spaces/den']")
    page.wait_for(".sidebar .connection.is-live")
    page.wait_for_frames()
    go_round(page)
    report = page.evaluate(REPORT)
    assert report.pop("count") > 10
    for problem, controls in report.items():
        assert controls == [], problem
    page.evaluate("() => (window.lastStop = document.activeElement)")
    page.press("Shift+Tab")
    assert page.evaluate("() => document.activeElement !== window.lastStop"), "it goes back, too"


def go_round(page: Page) -> None:
    """Press Tab until the focus is where it was first."""
    page.evaluate(RECORD)
    for _ in range(0, MAX_STOPS, ROUND):
        page.press(*["Tab"] * ROUND)
        if page.evaluate(IS_ROUND):
            return
    raise AssertionError(f"Tab does not come round: {page.evaluate('() => document.activeElement.outerHTML')[:200]}")
