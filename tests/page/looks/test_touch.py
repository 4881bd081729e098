"""On a touch screen, whatever is pressed is large enough for a finger."""

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway

SMALL = """() => [...document.querySelectorAll("button, a.button, a.tab, a.nav-link, summary, select, input.field")]
    .filter((element) => element.checkVisibility() && element.getBoundingClientRect().width > 0)
    .filter((element) => element.getBoundingClientRect().height < 43.5)
    .map((element) => element.outerHTML.slice(0, 120))"""
VIEWS = ("/", "/inbox", "/decisions", "/agents", "/plans", "/triggers", "/spaces", "/cost", "/health", "/settings")


def test_what_is_pressed_is_44_pixels_high(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.post("/agents", name=f"ana-{tag}")
    options = [{"id": "y", "label": "Yes"}]
    gateway.post("/decisions", question="Ship?", asker=f"ana-{tag}", of=["admin"], options=options, freeText=True)
    page = open_page("/", viewport=PHONE, hasTouch=True, isMobile=True)
    assert page.evaluate("() => matchMedia('(pointer: coarse)').matches")
    small = {}
    for view in VIEWS:
        page.go(view)
        page.wait_for("html[data-ready]")
        small[view] = page.evaluate(SMALL)
    assert small == {view: [] for view in VIEWS}
